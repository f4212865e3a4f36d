package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// OpenFiles returns the profiles in files, which are either all recordings or
// all tables. Recordings are returned as a *Run, which has a list of damage.
// Their call sites are symbolized as far as possible, and files without symbols
// are reported on log.
func OpenFiles(paths []string, log io.Writer) (profile.Source, error) {
	format, err := commonFormat(paths)
	if err != nil {
		return nil, err
	}
	if format.Name == "prof" {
		return nil, rundir.InputErrorf("read %s: it holds traffic between ranks only: profile2mat makes matrices of it", paths[0])
	}
	files := formats.Files(paths)
	if format.Name == "recording" {
		recordings, err := expand(paths)
		if err != nil {
			return nil, err
		}
		run := OpenRecordings(recordings, Whole, log)
		if len(run.Jobs) == 0 {
			return nil, errors.Join(run.Damaged...)
		}
		warn(log, run.Symbolize(nil))
		return run, nil
	}
	if len(paths) > 1 {
		return inOrder(files)
	}
	_, err = files.Open(0)
	return files, err
}

// expand returns the paths of the recordings in files, which may be containers.
func expand(paths []string) (recordings []string, err error) {
	for _, path := range paths {
		expanded, err := recording.Expand(path)
		if err != nil {
			return nil, err
		}
		recordings = append(recordings, expanded...)
	}
	return recordings, nil
}

// OpenExported opens the input: a run, a data set or files. The merged file of a run is
// read only if there are no recordings.
func OpenExported(paths []string, log io.Writer) (profile.Source, error) {
	for _, path := range paths {
		info, err := os.Stat(recording.FileOf(path))
		switch {
		case err != nil:
			return nil, rundir.InputErrorf("%w", err)
		case info.IsDir() && len(paths) > 1:
			return nil, rundir.InputErrorf("%s is a directory: give it alone, since runs are not mixed", path)
		case !info.IsDir():
		case formats.IsDataset(path):
			return formats.OpenDataset(path)
		default:
			dir := rundir.Dir(path)
			if files, err := dir.RecordingFiles(); err == nil && len(files) == 0 && rundir.Exists(dir.Profile()) {
				return Open(dir, Whole, log)
			}
			return OpenJobs(dir, Whole, log)
		}
	}
	return OpenFiles(paths, log)
}

// commonFormat returns the format of all files. There must be at least one.
func commonFormat(paths []string) (*formats.Format, error) {
	var first *formats.Format
	for _, path := range paths {
		format, err := formats.Detect(path)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = format
		}
		if format != first {
			return nil, rundir.InputErrorf("%s is of format %s and %s of format %s: give files of one, since both may hold the same ranks",
				paths[0], first.Name, path, format.Name)
		}
	}
	return first, nil
}

// inOrder sorts files by the rank of the first process in each. A shell expands
// `*.arrow` to ranks 0, 1, 10, 2.
func inOrder(files formats.Files) (profile.Source, error) {
	type start struct {
		path string
		run  string
		job  int
		rank int
	}
	jobs := map[string]int{}
	var starts []start
	for _, path := range files {
		s := start{path: path}
		found := errors.New("found")
		err := formats.Files{path}.Each(func(p *profile.Profile) error {
			s.run, s.rank = p.Run, p.Rank
			return found
		})
		if err != nil && err != found {
			return nil, err
		}
		if _, ok := jobs[s.run]; !ok && err == found {
			jobs[s.run] = len(jobs)
		}
		s.job = jobs[s.run]
		starts = append(starts, s)
	}
	slices.SortStableFunc(starts, func(a, b start) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.rank, b.rank))
	})
	out := make(formats.Files, len(starts))
	for i, s := range starts {
		if i > 0 && s.run == starts[i-1].run && s.rank == starts[i-1].rank && s.rank >= 0 {
			return nil, fmt.Errorf("rank %d is in both %s and %s", s.rank, starts[i-1].path, s.path)
		}
		out[i] = s.path
	}
	return out, nil
}
