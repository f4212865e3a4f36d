package aggregate_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const ms = time.Millisecond

// coupled returns the profiles of three ranks that compute 300, 200 and 100 ms of a second, and of
// one that computes 800 ms.
func coupled(second synth.Model) []*profile.Profile {
	second.Useful = []time.Duration{800 * ms}
	return profilesOf(synth.Coupled(synth.Model{Name: "ocean", Arguments: []string{"-g", "fine"}, Useful: []time.Duration{300 * ms, 200 * ms, 100 * ms}}, second))
}

func profilesOf(j *synth.Job) (out []*profile.Profile) {
	for rank := range j.Ranks {
		out = append(out, j.Profile(rank))
	}
	return out
}

// TestPrograms divides a job by program: names, ranks, arguments, times, balance and call sites.
func TestPrograms(t *testing.T) {
	s := aggregate.New(coupled(synth.Model{Name: "atmos", Build: "abcdef0123456789", Arguments: []string{"run.nml"}})).Summary()
	if len(s.Programs) != 2 {
		t.Fatalf("programs: %+v", s.Programs)
	}
	ocean, atmos := s.Programs[0], s.Programs[1]
	testenv.Equal(t, []string{"ocean", "ranks 0-2", "ocean -g fine"}, []string{ocean.Name, ocean.Ranks.String(), strings.Join(ocean.Command, " ")})
	testenv.Equal(t, []string{"atmos", "rank 3", "atmos run.nml", "abcdef0123456789"}, []string{atmos.Name, atmos.Ranks.String(), strings.Join(atmos.Command, " "), atmos.BuildID})
	testenv.Equal(t, []string{"ocean (3 ranks) and atmos (1 rank)", "ocean on 3 ranks and atmos on 1"}, []string{s.Programs.String(), s.Programs.OnRanks()})
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"balance of ocean", ocean.POP.LoadBalance, 200. / 300}, {"efficiency of ocean", ocean.POP.ParallelEfficiency, 0.2},
		{"in MPI of ocean", ocean.MPITimeS, 2.4}, {"share of ocean", ocean.MPIShare.Mean, 0.8},
		{"balance of atmos", atmos.POP.LoadBalance, 1}, {"efficiency of atmos", atmos.POP.ParallelEfficiency, 0.8},
		{"imbalance of MPI time in ocean", ocean.Balances[0].Imbalance, 900./800 - 1}, {"in atmos", atmos.Balances[0].Imbalance, 0},
		{"balance of the job", s.POP.LoadBalance, 350. / 800},
	} {
		if d := v.got - v.want; d < -1e-9 || d > 1e-9 {
			t.Errorf("%s: %v, want %v", v.name, v.got, v.want)
		}
	}
	testenv.Equal(t, []string{"Allreduce atmos 1", "Allreduce ocean 3", "Barrier atmos 1", "Barrier ocean 3"}, sitesOfPrograms(s))
}

// sitesOfPrograms returns the call sites outside Init and Finalize in their order, with the program
// and the number of ranks.
func sitesOfPrograms(s *aggregate.Summary) (out []string) {
	for i := range s.CallSites {
		if c := &s.CallSites[i]; !profile.SetsUp(c.Call) {
			out = append(out, strings.Join([]string{c.Call, c.Program, string(rune('0' + c.PerRank.Ranks))}, " "))
		}
	}
	slices.Sort(out)
	return out
}

// TestProgramsMerge finds the same programs in any order of processes and parts.
func TestProgramsMerge(t *testing.T) {
	want := aggregate.New(coupled(synth.Model{Name: "atmos", Build: "abcdef01"})).Summary()
	for seed := range uint64(5) {
		ps := coupled(synth.Model{Name: "atmos", Build: "abcdef01"})
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(ps), func(i, k int) { ps[i], ps[k] = ps[k], ps[i] })
		profile.Unify(ps)
		a, b := aggregate.NewJob(aggregate.Options{}), aggregate.NewJob(aggregate.Options{})
		for i, p := range ps {
			if i%2 == 0 {
				a.Add(p)
			} else {
				b.Add(p)
			}
		}
		a.Merge(b)
		got := a.Summary()
		testenv.Equal(t, want.Programs, got.Programs)
		testenv.Equal(t, sitesOfPrograms(want), sitesOfPrograms(got))
	}
}

// TestProgramNames tells programs apart that have the same file name, and finds the program of
// processes whose build is not known.
func TestProgramNames(t *testing.T) {
	names := func(ps []*profile.Profile) string { return aggregate.New(ps).Summary().Programs.String() }
	ps := coupled(synth.Model{Name: "ocean", Build: "abcdef0123456789"})
	testenv.Equal(t, "ocean 5f1e0a7d (3 ranks) and ocean abcdef01 (1 rank)", names(ps))

	ps = coupled(synth.Model{Name: "atmos"})
	ps[1].Modules = nil // as of a process that was killed early
	testenv.Equal(t, "ocean (3 ranks) and atmos (1 rank)", names(ps))
	testenv.Equal(t, 0, len(aggregate.New(ps).Summary().Programs[0].Commands))

	ps = coupled(synth.Model{Name: "ocean"})
	ps[3].Program, ps[3].Modules[0].Path = "/node7/ocean", "/node7/ocean" // a copy
	ps[3].Command = []string{"ocean", "-g", "coarse"}
	s := aggregate.New(ps).Summary()
	testenv.Equal(t, "ocean", s.Programs.String())
	testenv.Equal(t, []aggregate.CommandRanks{{Command: []string{"ocean", "-g", "fine"}, Ranks: 3}, {Command: []string{"ocean", "-g", "coarse"}, Ranks: 1}}, s.Programs[0].Commands)
	if s.Programs[0].POP != s.POP || s.CallSites[0].Program != "" || s.Programs[0].Balances != nil {
		t.Errorf("one program: %+v", s.Programs[0])
	}

	for _, p := range ps {
		p.Modules = nil
	}
	testenv.Equal(t, "/opt/synth/bin/ocean (3 ranks) and /node7/ocean (1 rank)", names(ps))

	var many []synth.Model
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		many = append(many, synth.Model{Name: name, Useful: []time.Duration{0}})
	}
	testenv.Equal(t, "a (1 rank), b (1 rank), c (1 rank) and 2 more", names(profilesOf(synth.Coupled(many...))))
}
