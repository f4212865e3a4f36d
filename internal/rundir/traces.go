package rundir

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
)

// TracedRecordings returns the recordings in the run directory that have events, in files
// or in containers.
func (d Dir) TracedRecordings() []string {
	files, _ := filepath.Glob(filepath.Join(Escape(d.Recordings()), "*.events")) // the pattern is well formed
	for i, file := range files {
		files[i] = strings.TrimSuffix(file, ".events") + RecordingSuffix
	}
	for _, container := range d.Containers() {
		_ = recording.WithContainer(container, func(c *recording.Container) error { // RecordingFiles reports the error
			for _, name := range c.Traced() {
				files = append(files, filepath.Join(container, name))
			}
			return nil
		})
	}
	return files
}

// Untraced reports whether there are events that were not converted yet. It
// compares numbers of events, because writing to a mapped file does not change
// its modification time.
func (d Dir) Untraced() bool {
	info, err := d.ReadInfo()
	if err != nil && Exists(d.Info()) {
		return false // a run with a damaged run.json is not merged
	}
	return slices.ContainsFunc(d.TracedRecordings(), func(file string) bool {
		before, written := uint64(0), false
		if err == nil {
			before, written = info.UnfinishedTraces[filepath.Base(file)]
		}
		now, _ := recording.CountEvents(file) // 0 if they cannot be read, which was reported before
		return !written || now != before
	})
}

// TraceFile returns the path of the trace of a rank in the first job.
func (d Dir) TraceFile(rank int) string { return d.JobTraceFile(0, rank) }

// JobTraceFile returns the path of the trace of a rank in the job with this index.
func (d Dir) JobTraceFile(job, rank int) string {
	name := fmt.Sprintf("trace.%d.arrow", rank)
	if job > 0 {
		name = fmt.Sprintf("trace.job%d.%d.arrow", job+1, rank)
	}
	return filepath.Join(string(d), name)
}

// TraceFiles returns the paths of all traces, ordered by job and rank.
func (d Dir) TraceFiles() []string {
	files, _ := filepath.Glob(filepath.Join(Escape(string(d)), "trace.*.arrow")) // the pattern is well formed
	files = slices.DeleteFunc(files, func(file string) bool {
		_, _, ok := d.OfTrace(file)
		return !ok
	})
	slices.SortFunc(files, func(a, b string) int {
		i, m, _ := d.OfTrace(a)
		j, n, _ := d.OfTrace(b)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(m, n))
	})
	return files
}

// OfTrace returns the job and rank of a trace file, and false if file is not
// the name of one.
func (d Dir) OfTrace(file string) (job, rank int, ok bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "trace."), ".arrow")
	if number, rest, later := strings.Cut(name, "."); later {
		job, _ = strconv.Atoi(strings.TrimPrefix(number, "job"))
		job, name = job-1, rest
	}
	rank, err := strconv.Atoi(name)
	return job, rank, err == nil && filepath.Base(file) == filepath.Base(d.JobTraceFile(job, rank))
}
