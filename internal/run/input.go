package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/profile"
)

// OpenFiles gives the profiles of files: recordings, whose call sites are named as
// far as that goes, or tables that were written of them. Recordings are a
// *Run, which knows what is damaged; what has no names is said on log.
func OpenFiles(paths []string, log io.Writer) (profile.Source, error) {
	format, err := formatOf(paths)
	if err != nil {
		return nil, err
	}
	files := formats.Files(paths)
	if format.Name == "recording" {
		run := OpenRecordings(paths, Whole, log)
		if len(run.Jobs) == 0 {
			return nil, errors.Join(run.Damaged...)
		}
		for _, err := range run.Symbolize(nil) {
			fmt.Fprintf(log, "mpitrace: %v\n", err)
		}
		return run, nil
	}
	if len(paths) > 1 {
		return inOrder(files)
	}
	_, err = files.Open(0)
	return files, err
}

// formatOf is the one that all files have.
func formatOf(paths []string) (first *formats.Format, err error) {
	for _, path := range paths {
		f, err := formats.Detect(path)
		if err != nil {
			return nil, err
		}
		switch {
		case first == nil:
			first = f
		case f != first:
			return nil, fmt.Errorf("%s is of format %s and %s of format %s: give files of one, since both may hold the same ranks",
				paths[0], first.Name, path, f.Name)
		}
	}
	if first != nil && first.Name == "prof" {
		return nil, fmt.Errorf("read %s: it holds traffic between ranks only: profile2mat makes matrices of it", paths[0])
	}
	return first, nil
}

// inOrder sorts files by the process that each begins with: `*.arrow` gives
// those of a run as 0, 1, 10, 2.
func inOrder(files formats.Files) (profile.Source, error) {
	type start struct {
		path string
		run  string
		job  int
		rank int
	}
	met := map[string]int{}
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
		if _, ok := met[s.run]; !ok && err == found {
			met[s.run] = len(met)
		}
		s.job = met[s.run]
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
