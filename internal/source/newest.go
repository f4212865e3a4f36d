package source

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
)

// Newest returns the run of this user in a directory that began last, or the directory itself if
// it is a run.
func Newest(dir string) (string, error) {
	runs, err := byStart(dir)
	if err != nil {
		return "", err
	}
	return string(runs[0].dir), nil
}

// NewestTwo returns the run of this user in a directory that began last, and the last one before
// it of the same program.
func NewestTwo(dir string) (before, newest string, err error) {
	runs, err := byStart(dir)
	if err != nil {
		return "", "", err
	}
	programs := programNames(runs[0].dir)
	for _, r := range runs[1:] {
		if programNames(r.dir) == programs {
			return string(r.dir), string(runs[0].dir), nil
		}
	}
	return "", "", rundir.InputErrorf("no run is named, and %s has only one run of %s that is yours, %s: name two runs", named(dir), programs, runs[0].dir)
}

type startedRun struct {
	dir     rundir.Dir
	startNs int64
}

// byStart returns the runs of this user in a directory, the newest first, or an error that says
// what was looked for.
func byStart(dir string) ([]startedRun, error) {
	switch d := rundir.Dir(dir); {
	case d.AreRecordings():
		return nil, d.WhyEmpty()
	case d.Used():
		return []startedRun{{d, 0}}, nil
	}
	found, err := rundir.RunsIn(dir)
	if err != nil {
		return nil, rundir.InputErrorf("no run is named, and the newest is not known: %w", err)
	}
	var runs []startedRun
	for _, d := range found {
		if d.Foreign() == nil {
			runs = append(runs, startedRun{d, startOf(d)})
		}
	}
	switch others := len(found) - len(runs); {
	case len(found) == 0:
		return nil, rundir.InputErrorf("no run is named, and %s has no run directory: name one, go to where mpitrace run was started, or record one: mpitrace run -- mpirun -n 4 ./app", named(dir))
	case len(runs) == 0:
		return nil, rundir.InputErrorf("no run is named, and %s has no run of yours, only %s of other users, such as %s: name one", named(dir), text.CountOf(others, "run"), found[0])
	}
	slices.SortStableFunc(runs, func(a, b startedRun) int { return cmp.Compare(b.startNs, a.startNs) })
	return runs, nil
}

// named returns how a message names a directory.
func named(dir string) string {
	if dir == "." {
		return "the current directory"
	}
	return dir
}

// startOf returns when a run began, in Unix ns. If run.json does not have it, because the ranks
// recorded themselves, it is when the last recording was made.
func startOf(d rundir.Dir) int64 {
	info, _ := d.ReadInfo() // empty on an error; then the recordings tell
	if !info.Start.IsZero() {
		return info.Start.UnixNano()
	}
	if len(info.Jobs) > 0 {
		return info.Jobs[0].StartNs
	}
	made, err := os.Stat(d.Recordings())
	if err != nil {
		return 0
	}
	return made.ModTime().UnixNano()
}

// programNames returns the names of the programs of a run, in the order of its jobs.
func programNames(d rundir.Dir) string {
	info, _ := d.ReadInfo() // empty on an error; then the recordings tell
	if len(info.Jobs) == 0 {
		if run, err := Open([]string{string(d)}, Options{RunOnly: true}); err == nil {
			for _, j := range run.Jobs {
				info.Jobs = append(info.Jobs, j.Info())
			}
		}
	}
	var names []string
	for _, j := range info.Jobs {
		names = append(names, jobNumber.ReplaceAllString(j.Program, ""))
	}
	return strings.Join(names, ", ")
}
