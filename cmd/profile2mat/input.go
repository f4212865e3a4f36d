package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// source is a job to make matrices of, and how its files begin.
type source struct {
	aggregate.Roster
	tally  *aggregate.Tally
	prefix string // path
}

func (s *source) add(p *profile.Profile) error {
	s.Add(p)
	s.tally.Add(p)
	return nil
}

// input reads what PATHs name; what is skipped is said on log.
type input struct{ log io.Writer }

func (in input) warn(err error) { fmt.Fprintf(in.log, "profile2mat: skipped: %v\n", err) }

// load returns the jobs that the paths hold: one, unless a run directory or an
// Arrow file holds several.
func (in input) load(paths []string) ([]source, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			continue
		}
		if len(paths) > 1 {
			return nil, fmt.Errorf("%s is a directory: give one run directory alone, since runs are not mixed", path)
		}
		return in.loadDir(path)
	}
	return in.loadFiles(paths)
}

func (in input) loadDir(path string) ([]source, error) {
	run, err := rundir.Dir(path).Open(rundir.Heads, in.log)
	if err != nil {
		return nil, fmt.Errorf("read run directory %s: %w", path, err)
	}
	for _, err := range run.Damaged {
		in.warn(err)
	}
	if len(run.Jobs) == 0 {
		return nil, fmt.Errorf("%s holds no recordings and no profile.arrow: no run of mpitrace, or one that recorded nothing", path)
	}
	return sources(filepath.Join(path, "matrix"), run)
}

func sources(dir string, run *rundir.Run) ([]source, error) {
	out := make([]source, len(run.Jobs))
	for i, j := range run.Jobs {
		out[i] = source{tally: aggregate.NewTally(nil), prefix: filepath.Join(dir, j.Stem)}
		if err := j.Each(out[i].add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// loadFiles reads files of one format and of one run.
func (in input) loadFiles(paths []string) ([]source, error) {
	var (
		first    *formats.Format
		profiles []*profile.Profile
		traffic  []*profile.Traffic
	)
	for _, path := range paths {
		format, err := formats.Detect(path)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = format
		}
		if format != first {
			return nil, fmt.Errorf("%s is of format %s and %s of format %s: give files of one, since both may hold the same ranks",
				paths[0], first.Name, path, format.Name)
		}
		content, err := format.Read(path)
		if content == nil {
			return nil, err
		}
		if err != nil {
			in.warn(err)
		}
		if profiles, err = appendAll(profiles, content.Profiles); err != nil {
			return nil, err
		}
		if content.Traffic != nil {
			traffic = append(traffic, content.Traffic)
		}
	}
	if len(traffic) > 0 {
		return ofTraffic(paths, traffic)
	}
	return ofProfiles(paths, profiles)
}

func appendAll(ps []*profile.Profile, src profile.Source) ([]*profile.Profile, error) {
	if src == nil {
		return ps, nil
	}
	err := src.Each(func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	return ps, err
}

// ofProfiles tells apart the jobs of one file, as those of a run directory;
// files together must be of one.
func ofProfiles(paths []string, profiles []*profile.Profile) ([]source, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("%s: no process in it", paths[0])
	}
	run, err := rundir.OpenSource(profile.List(profiles), nil)
	if err != nil {
		return nil, err
	}
	if len(paths) > 1 && len(run.Jobs) > 1 {
		return nil, fmt.Errorf("the files are of different runs (%q and %q): make their matrices one by one",
			run.Jobs[0].Run, run.Jobs[1].Run)
	}
	return sources(filepath.Dir(paths[0]), run)
}

func ofTraffic(paths []string, traffic []*profile.Traffic) ([]source, error) {
	prefix, err := profPrefix(paths)
	if err != nil {
		return nil, err
	}
	if err := sameRun(paths, traffic); err != nil {
		return nil, err
	}
	s := source{tally: aggregate.NewTally(nil), prefix: prefix}
	for _, t := range traffic {
		for i := range t.Flows {
			s.AddRank(max(t.Flows[i].From, t.Flows[i].To))
			s.tally.AddFlow(&t.Flows[i])
		}
		for _, c := range t.Comms {
			for _, rank := range c.Members {
				s.AddRank(rank)
			}
		}
		for _, rank := range senders(t) {
			s.AddSender(rank)
		}
	}
	return []source{s}, nil
}

// senders lists the processes whose .prof file, or part of one, t is.
func senders(t *profile.Traffic) []int {
	seen := map[int]bool{}
	for i := range t.Flows {
		seen[t.Flows[i].From] = true
	}
	for i := range t.Comms {
		if t.Comms[i].Rank >= 0 {
			seen[t.Comms[i].Rank] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// rankedProf matches <prefix>.<rank>.prof.
var rankedProf = regexp.MustCompile(`^(.*)\.[0-9]+\.prof$`)

// profPrefix is what the matrices of .prof files begin with: all of a single
// name but .prof, and what several names have in common without .<rank>.prof.
func profPrefix(paths []string) (string, error) {
	if len(paths) == 1 {
		return strings.TrimSuffix(paths[0], ".prof"), nil
	}
	prefix := ""
	for i, path := range paths {
		match := rankedProf.FindStringSubmatch(filepath.Base(path))
		if match == nil {
			return "", fmt.Errorf("%s is not named <prefix>.<rank>.prof, as several files of one run are", path)
		}
		if i > 0 && match[1] != prefix {
			return "", fmt.Errorf("%s and %s are of different runs: make their matrices one by one", paths[0], path)
		}
		prefix = match[1]
	}
	return filepath.Join(filepath.Dir(paths[0]), prefix), nil
}

// sameRun looks for signs that files are of different runs: a rank in two of
// them, or different members of MPI_COMM_WORLD.
func sameRun(paths []string, traffic []*profile.Traffic) error {
	owner := map[int]string{}
	var world []int
	var worldPath string
	for i, t := range traffic {
		for _, r := range senders(t) {
			if owner[r] != "" {
				return fmt.Errorf("rank %d is in both %s and %s: they are of different runs, or one has the other in it", r, owner[r], paths[i])
			}
			owner[r] = paths[i]
		}
		for _, c := range t.Comms {
			if c.Name != "MPI_COMM_WORLD" {
				continue
			}
			if world != nil && !slices.Equal(world, c.Members) {
				return fmt.Errorf("MPI_COMM_WORLD has %d ranks in %s and %d in %s: they are of different runs",
					len(world), worldPath, len(c.Members), paths[i])
			}
			world, worldPath = c.Members, paths[i]
		}
	}
	if len(owner) == 0 {
		return errors.New(strings.Join(paths, " ") + ": nothing was sent, and no rank is named")
	}
	return nil
}
