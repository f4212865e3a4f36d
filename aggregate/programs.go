package aggregate

import (
	"cmp"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Program is an executable of a job, in one build, with the ranks that ran it. Its times
// are defined like those of a Summary, but are of these ranks only. POP compares them with
// the runtime of these ranks.
type Program struct {
	Name    string   `json:"program"` // file name; with the first digits of the build-id, or as a path, if another program of the job has the same
	Path    string   `json:"path"`    // empty if not known
	BuildID string   `json:"build_id"`
	Command []string `json:"command"` // argument vector of the lowest rank
	// Commands are all argument vectors with their numbers of ranks, in the order of ranks;
	// empty if all ranks have Command.
	Commands []CommandRanks  `json:"commands,omitempty"`
	Ranks    profile.RankSet `json:"ranks"`

	WallTimeS        float64   `json:"wall_time_s"`
	ApplicationTimeS float64   `json:"application_time_s"`
	ThreadTimeS      float64   `json:"thread_time_s"`
	MPITimeS         float64   `json:"mpi_time_s"`
	MPIShare         MPIShare  `json:"mpi_share"`
	POP              *POP      `json:"pop"`               // nil if no rank's times are known
	Balances         []Balance `json:"balance,omitempty"` // as Summary.Balances; empty if the job has one program
}

// CommandRanks is an argument vector with the number of ranks that have it.
type CommandRanks struct {
	Command []string `json:"command"`
	Ranks   int      `json:"ranks"`
}

// Programs are the programs of a job, in the order of their lowest ranks.
type Programs []Program

// Several reports whether there are several programs.
func (p Programs) Several() bool { return len(p) > 1 }

// String names the programs: "ocean", or "ocean (3 ranks) and atmos (1 rank)" if there are
// several.
func (p Programs) String() string { return profile.ProgramsText(p.counts()) }

// Names names the programs without their numbers of ranks: "ocean and atmos".
func (p Programs) Names() string { return profile.ProgramNames(p.counts()) }

// OnRanks says on how many ranks the programs ran: "ocean on 3 ranks and atmos on 1".
func (p Programs) OnRanks() string { return profile.ProgramsOnRanks(p.counts()) }

// Of returns the program of a rank; nil if it is not known.
func (p Programs) Of(rank int) *Program {
	i := slices.IndexFunc(p, func(q Program) bool { return q.Ranks.Contains(rank) })
	if i < 0 {
		return nil
	}
	return &p[i]
}

func (p Programs) counts() (out []profile.ProgramRanks) {
	for i := range p {
		out = append(out, profile.ProgramRanks{Program: p[i].Name, Ranks: p[i].Ranks.Len()})
	}
	return out
}

// programKey identifies the program of a process.
type programKey struct {
	name  string // file name; the path of a script, or of an executable whose build is not known
	build string
}

func programKeyOf(p *profile.Profile) programKey {
	k := programKey{p.Name(), p.BuildID()}
	if k.build != "" && k.name == p.Program { // a file may have different paths on different nodes
		k.name = filepath.Base(k.name)
	}
	return k
}

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

// groupPrograms divides processes, which are in the order of ranks, by program. A process
// whose build is not known, for example because it was killed early, is of the program that
// has the same path. One whose executable is not known is of the only program there is.
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

// placeUnknown makes the processes whose executable is not known part of the only program, if
// there is one.
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

// programs returns the programs of the job.
func (j *Job) programs() Programs {
	ps := j.ordered()
	return groupPrograms(ps).programs(ps)
}

// programs returns the programs, with their times.
func (s *programSums) programs(ps []processFacts) Programs {
	out := make(Programs, len(s.groups))
	for i, g := range s.groups {
		out[i] = g.program(ps)
	}
	return out
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

func (g *programGroup) program(ps []processFacts) Program {
	p := Program{Name: g.name, Path: g.first.program, BuildID: g.first.executable.build}
	ranks := make([]int, 0, len(g.list))
	counts, commands := map[string]int{}, []string{}
	for _, i := range g.list {
		t := &ps[i]
		if t.Rank >= 0 {
			ranks = append(ranks, t.Rank)
		}
		p.WallTimeS = max(p.WallTimeS, t.WallTimeS)
		p.ApplicationTimeS += t.ApplicationTimeS
		p.ThreadTimeS += t.ThreadTimeS
		p.MPITimeS += t.MPITimeS
		if counts[t.command] == 0 {
			commands = append(commands, t.command)
		}
		counts[t.command]++
	}
	for _, c := range commands {
		words := []string{}
		if c != "" {
			words = strings.Split(c, "\x00")
		}
		p.Commands = append(p.Commands, CommandRanks{words, counts[c]})
	}
	p.Command = p.Commands[0].Command
	if len(p.Commands) == 1 {
		p.Commands = nil
	}
	p.Ranks = profile.RankSetOf(ranks...)
	p.MPIShare, p.POP = shareOfEach(g.times(ps)), popOfEach(g.times(ps))
	return p
}

// times returns the times of the processes.
func (g *programGroup) times(ps []processFacts) iter.Seq[*RankTimes] {
	return func(yield func(*RankTimes) bool) {
		for _, i := range g.list {
			if !yield(ps[i].RankTimes) {
				return
			}
		}
	}
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
