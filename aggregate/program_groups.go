package aggregate

import (
	"cmp"
	"path/filepath"
)

// programGroup is the processes of a program.
type programGroup struct {
	name  string
	first *processFacts
	list  []int32 // indices of its processes
}

// programSums finds the programs of a job.
type programSums struct {
	groups []*programGroup
	of     map[programKey]*programGroup
}

// groupPrograms divides processes, which are in the order of ranks, by program. If the build of a
// process is not known, for example because the process was killed early, it belongs to the program
// with the same path. If not even its path is known, and the job has one program, it belongs to that
// program.
func groupPrograms(ps []processFacts) *programSums {
	s := &programSums{of: map[programKey]*programGroup{}}
	byPath := map[string]*programGroup{}
	for i := range ps {
		if k := ps[i].executable; s.of[k] == nil {
			s.of[k] = &programGroup{}
			if path := ps[i].program; k.build != "" {
				if _, known := byPath[path]; known {
					byPath[path] = nil // of several builds
				} else {
					byPath[path] = s.of[k]
				}
			}
		}
	}
	for k := range s.of {
		if same := byPath[k.name]; k.build == "" && same != nil {
			s.of[k] = same
		}
	}
	s.placeUnknown()
	var key programKey
	var g *programGroup
	for i := range ps {
		if k := ps[i].executable; g == nil || k != key {
			key, g = k, s.of[k]
		}
		if g.first == nil {
			g.first = &ps[i]
			s.groups = append(s.groups, g)
		}
		if before := g.first.executable; before.build == "" && key.build != "" || before.name == "" && key.name != "" {
			g.first = &ps[i]
		}
		g.list = append(g.list, int32(i))
	}
	s.setNames()
	return s
}

// placeUnknown adds the processes whose path is not known to the program of the job, if the job has
// one program only.
func (s *programSums) placeUnknown() {
	var only *programGroup
	for k, g := range s.of {
		switch {
		case k.name == "":
		case only == nil || only == g:
			only = g
		default:
			return
		}
	}
	if _, unknown := s.of[programKey{}]; unknown && only != nil {
		s.of[programKey{}] = only
	}
}

// setNames gives each program a name that no other has.
func (s *programSums) setNames() {
	byFile := map[string][]*programGroup{}
	for _, g := range s.groups {
		g.name = filepath.Base(cmp.Or(g.first.program, "mpi"))
		byFile[g.name] = append(byFile[g.name], g)
	}
	for _, same := range byFile {
		if len(same) == 1 {
			continue
		}
		builds := map[string]bool{}
		for _, g := range same {
			builds[g.shortBuild()] = true
		}
		for _, g := range same {
			if len(builds) == len(same) && !builds[""] {
				g.name += " " + g.shortBuild()
			} else {
				g.name = cmp.Or(g.first.program, g.name)
			}
		}
	}
}

// shortBuild returns the first digits of the build-id; empty if it is not known.
func (g *programGroup) shortBuild() string {
	const digits = 8
	build := g.first.executable.build
	return build[:min(len(build), digits)]
}

// nameOf returns the name of the program with a key; empty if the job has only one.
func (s *programSums) nameOf(k programKey) string {
	if g := s.of[k]; g != nil && len(s.groups) > 1 {
		return g.name
	}
	return ""
}

// unifySites merges the call sites of processes that groupPrograms found to be of one program
// though their keys differ.
func unifySites[T any, P mergeable[T]](s *sumsBy[siteKey, T, P], programs *programSums) {
	if len(programs.of) == len(programs.groups) {
		return
	}
	known := s.known
	s.known = nil
	for key, sum := range known {
		key.program = programs.of[key.program].first.executable
		s.add(key, sum)
	}
}
