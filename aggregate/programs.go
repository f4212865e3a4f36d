package aggregate

import (
	"iter"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// JobProgram is an executable of a job, in one build, with the ranks that ran it. Its times
// are defined like those of a Summary, but are of these ranks only. POP compares them with
// the runtime of these ranks.
type JobProgram struct {
	Name    string   `json:"program"` // file name; with the first digits of the build-id, or as a path, if another program of the job has the same
	Path    string   `json:"path"`    // empty if not known
	BuildID string   `json:"build_id"`
	Command []string `json:"command"` // argument vector of the lowest rank
	// Commands are all argument vectors with their numbers of ranks, in the order of ranks;
	// empty if all ranks have Command.
	Commands []CommandRanks  `json:"commands,omitempty"`
	Ranks    profile.RankSet `json:"ranks"`

	WallTimeS        float64  `json:"wall_time_s"`
	ApplicationTimeS float64  `json:"application_time_s"`
	ThreadTimeS      float64  `json:"thread_time_s"`
	MPITimeS         float64  `json:"mpi_time_s"`
	MPIShare         MPIShare `json:"mpi_share"`
	POP              *POP     `json:"pop"` // nil if no rank's times are known
	// Balances and Directs are those of Summary over the ranks of the program; empty if the job
	// has only one program.
	Balances []Balance `json:"balance,omitempty"`
	Directs  []Balance `json:"direct_balance,omitempty"`
}

// CommandRanks is an argument vector with the number of ranks that have it.
type CommandRanks struct {
	Command []string `json:"command"`
	Ranks   int      `json:"ranks"`
}

// Programs are the programs of a job, in the order of their lowest ranks.
type Programs []JobProgram

// Several reports whether there are several programs.
func (p Programs) Several() bool { return len(p) > 1 }

// String names the programs: "ocean", or "ocean (3 ranks) and atmos (1 rank)" if there are
// several.
func (p Programs) String() string { return p.counts().String() }

// OnRanks says on how many ranks the programs ran: "ocean on 3 ranks and atmos on 1".
func (p Programs) OnRanks() string { return p.counts().OnRanks() }

func (p Programs) counts() (out text.ProgramList) {
	for i := range p {
		out = append(out, text.ProgramRanks{Program: p[i].Name, Ranks: p[i].Ranks.Len()})
	}
	return out
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

func (g *programGroup) program(ps []processFacts) JobProgram {
	p := JobProgram{Name: g.name, Path: g.first.program, BuildID: g.first.executable.build}
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
