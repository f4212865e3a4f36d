package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// model returns a program all of whose ranks compute for 0.4 s of the run's second.
func model(name, build string, ranks int, arguments ...string) synth.Model {
	m := synth.Model{Name: name, Build: build, Arguments: arguments, Bytes: 8}
	for range ranks {
		m.Useful = append(m.Useful, 400*time.Millisecond)
	}
	return m
}

// historyOf returns the history of jobs of several programs.
func historyOf(t *testing.T, jobs ...[]synth.Model) *history.History {
	t.Helper()
	var runs []*history.PastRun
	for i, models := range jobs {
		r := runOf(t, fmt.Sprint(i), synth.Coupled(models...))
		r.Started = r.Started.Add(time.Duration(i) * time.Hour)
		runs = append(runs, r)
	}
	return computed(t, runs...)
}

// TestPrograms takes runs for repetitions only if each program, its build, its arguments and its
// number of ranks are equal.
func TestPrograms(t *testing.T) {
	base := []synth.Model{model("ocean", "aaaa", 3, "fine"), model("atmos", "bbbb", 1)}
	for _, c := range []struct {
		name                                string
		other                               []synth.Model
		configurations, scalings, evolution int
	}{
		{"the same", base, 1, 0, 0},
		{"in another order", []synth.Model{base[1], base[0]}, 1, 0, 0},
		{"other numbers of ranks", []synth.Model{model("ocean", "aaaa", 2, "fine"), model("atmos", "bbbb", 2)}, 2, 0, 0},
		{"other arguments of the second", []synth.Model{base[0], model("atmos", "bbbb", 1, "wet")}, 2, 0, 0},
		{"another second program", []synth.Model{base[0], model("ice", "bbbb", 1)}, 2, 0, 0},
		{"only the first program", []synth.Model{model("ocean", "aaaa", 4, "fine")}, 2, 0, 0},
		{"more ranks in proportion", []synth.Model{model("ocean", "aaaa", 6, "fine"), model("atmos", "bbbb", 2)}, 2, 1, 0},
		{"more ranks out of proportion", []synth.Model{model("ocean", "aaaa", 4, "fine"), model("atmos", "bbbb", 4)}, 2, 0, 0},
		{"a second program that was built again", []synth.Model{base[0], model("atmos", "cccc", 1)}, 2, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := historyOf(t, base, c.other)
			testenv.Equal(t, []int{c.configurations, c.scalings, c.evolution}, []int{len(h.Configurations), len(h.Scaling), len(h.Evolution)})
		})
	}
}

// TestArgumentsOfRanks tells runs apart in which other ranks of one program have an argument.
func TestArgumentsOfRanks(t *testing.T) {
	few := []synth.Model{model("app", "", 3, "x"), model("app", "", 1, "y")}
	h := historyOf(t, few, few, []synth.Model{model("app", "", 2, "x"), model("app", "", 2, "y")})
	testenv.Equal(t, 2, len(h.Configurations))
	testenv.Equal(t, history.PastPrograms{{Program: "app", BuildID: h.Runs[0].BuildID, Arguments: []string{"x"}, Ranks: 2},
		{Program: "app", BuildID: h.Runs[0].BuildID, Arguments: []string{"y"}, Ranks: 2}}, h.Runs[0].Programs)
	testenv.Equal(t, []string{"x", ":", "y"}, h.Runs[0].Arguments)
}

// TestProgramBuiltAgain names the program that changed, and judges what it sends more.
func TestProgramBuiltAgain(t *testing.T) {
	ocean, atmos := model("ocean", "aaaa", 3), model("atmos", "bbbb", 1)
	larger := model("atmos", "cccc", 1)
	larger.Bytes = 24
	h := historyOf(t, []synth.Model{ocean, atmos}, []synth.Model{ocean, larger})
	h.Judge(aggregate.Limits{aggregate.InBytes: 0})
	step := h.Evolution[0].Steps[0]
	testenv.Equal(t, []history.ProgramChange{{Program: "atmos", A: "bbbb", B: "cccc"}}, step.Programs)
	testenv.Equal(t, []string{"bbbb+aaaa", "cccc+aaaa"}, []string{step.A.BuildID, step.B.BuildID})
	// Each of 4 ranks sends 50 messages to 3 others.
	before, after := uint64(4*50*3*8), uint64(3*50*3*8+50*3*24)
	testenv.Equal(t, []aggregate.Excess{{Of: "total", Name: history.Bytes, Values: aggregate.Measure{A: before, B: after}},
		{Of: "Allreduce", Name: history.Bytes, Values: aggregate.Measure{A: before, B: after}}}, step.Exceeded)
	for _, c := range step.Changes {
		if c.Of == history.OfCallSite && c.Name != "step app.c:10 of atmos" {
			t.Errorf("changed: %+v", c)
		}
	}
}
