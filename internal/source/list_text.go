package source

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// WriteList prints a table of runs. It prints nothing if there are no runs.
func WriteList(w io.Writer, runs []Entry, ascii bool) {
	if len(runs) == 0 {
		return
	}
	t := text.NewTextTable("run", "program", "ranks", "MPI", "started", "time", "ended", "size")
	for _, r := range runs {
		started, wall := "?", "?"
		if r.StartNs != 0 {
			started = time.Unix(0, r.StartNs).Format(time.DateTime)
		}
		if r.WallNs > 0 {
			wall = text.Duration(float64(r.WallNs), ascii)
		}
		t.Add(text.Line(filepath.Clean(r.Dir)),
			ofJobs(r.Jobs, func(j rundir.JobInfo) string {
				return jobNumber.ReplaceAllString(cmp.Or(j.Programs.String(), j.Program), "")
			}),
			sizesOfJobs(r.Jobs), ofJobs(r.Jobs, func(j rundir.JobInfo) string { return profile.LibraryName(j.Library) }),
			started, wall, howEnded(&r), text.Bytes(uint64(r.Bytes)))
	}
	t.Write(w)
}

// jobNumber matches the number of the job in the name of a program, if the run
// had several jobs.
var jobNumber = regexp.MustCompile(`-job[0-9]+$`)

// ofJobs returns the distinct values of a property of the jobs, separated by
// commas.
func ofJobs(jobs []rundir.JobInfo, of func(rundir.JobInfo) string) string {
	var all []string
	for _, j := range jobs {
		if words := cmp.Or(text.Line(of(j)), "?"); !slices.Contains(all, words) {
			all = append(all, words)
		}
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// sizesOfJobs returns the number of ranks: "64", or "2+4" for jobs of 2 and 4
// ranks, or "5 jobs" for more than 3 jobs.
func sizesOfJobs(jobs []rundir.JobInfo) string {
	if len(jobs) > 3 {
		return fmt.Sprintf("%d jobs", len(jobs))
	}
	var sizes []string
	for _, j := range jobs {
		sizes = append(sizes, strconv.Itoa(j.Size))
	}
	return cmp.Or(strings.Join(sizes, "+"), "-")
}

func howEnded(r *Entry) string {
	switch {
	case r.ExitStatus == nil && r.Finalized:
		return "finalized"
	case r.ExitStatus == nil:
		return "unfinished"
	case *r.ExitStatus == 0:
		return "ok"
	case *r.ExitStatus > 128 && unix.SignalName(unix.Signal(*r.ExitStatus-128)) != "":
		return fmt.Sprintf("%d (%s)", *r.ExitStatus, unix.SignalName(unix.Signal(*r.ExitStatus-128)))
	}
	return fmt.Sprintf("exit %d", *r.ExitStatus)
}
