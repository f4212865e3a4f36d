package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPrograms records a job of two programs, the same with a second program that was built
// again, and one on other numbers of ranks. All views name both programs.
func TestPrograms(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		source, dir := filepath.Join(root, "tests", "programs", "couple.c"), t.TempDir()
		for name, flags := range map[string][]string{"ocean": {"-DMODEL=0"}, "atmos": {"-DMODEL=1"}, "again/atmos": {"-DMODEL=1", "-DFIELD=256"}} {
			testenv.Mkdir(t, filepath.Join(dir, filepath.Dir(name)))
			m.compileTo(t, filepath.Join(dir, name), append(flags, source)...)
		}
		coupled := func(run string, oceans, atmos int, second string, flags ...string) job {
			command := slices.Concat(m.launch(oceans, filepath.Join(dir, "ocean"), "-g", "fine"),
				[]string{":", "-n", fmt.Sprint(atmos), filepath.Join(dir, second), "run.nml"})
			j := recordInto(t, filepath.Join(dir, "runs", run), flags, command...)
			checkWhole(t, oceans+atmos, j)
			return j
		}
		first := coupled("first", 3, 1, "atmos", "--trace")
		again := coupled("again", 3, 1, "again/atmos")
		coupled("other", 2, 2, "atmos")

		const both = "ocean (3 ranks) and atmos (1 rank)"
		for _, view := range []struct {
			output string
			want   string
		}{
			{first.stderr, "ocean on 3 ranks and atmos on 1, "}, {again.stderr, "ocean on 3 ranks and atmos on 1, "},
			{succeed(t, nil, mpitrace, "report", "--full", again.dir).stdout, "step couple.c:15 of atmos"},
			{succeed(t, nil, mpitrace, "report", "--rank", "3", again.dir).stdout, "rank 3 of 4 of atmos"},
			{succeed(t, nil, mpitrace, "diff", first.dir, again.dir).stdout, "ocean on 3 ranks and atmos on 1, "},
			{succeed(t, nil, mpitrace, "status", again.dir).stdout, both},
			{succeed(t, nil, mpitrace, "reorder", again.dir).stdout, both},
			{succeed(t, nil, mpitrace, "list", filepath.Join(dir, "runs")).stdout, both},
			{succeed(t, nil, mpitrace, "analyze", first.dir).stdout, "trace of " + both + ": "},
			{succeed(t, nil, mpitrace, "analyze", first.dir).stdout, "\nwithin ocean "},
			{pageOf(t, again.dir), both},
			{pictureOf(t, first.dir), both},
		} {
			if !strings.Contains(view.output, view.want) {
				t.Errorf("not in this output: %s\n%.2000s", view.want, view.output)
			}
		}
		checkPrograms(t, again.dir)
		checkProgramsOfHistory(t, filepath.Join(dir, "runs"))
	})
}

// pageOf returns the page of a run, and pictureOf the timeline of its trace.
func pageOf(t *testing.T, run string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	succeed(t, nil, mpitrace, "report", "--html", file, run)
	return string(testenv.ReadFile(t, file))
}

func pictureOf(t *testing.T, run string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "timeline.svg")
	succeed(t, nil, mpitrace, "timeline", "-o", file, run)
	return string(testenv.ReadFile(t, file))
}

// checkPrograms compares the programs and their call sites in JSON with what couple.c does.
func checkPrograms(t *testing.T, run string) {
	t.Helper()
	var reported struct{ Jobs []aggregate.Summary }
	testenv.NoError(t, json.Unmarshal([]byte(succeed(t, nil, mpitrace, "report", "--json", run).stdout), &reported))
	s := reported.Jobs[0]
	var got []string
	for _, p := range s.Programs {
		got = append(got, fmt.Sprint(p.Name, " ", p.Ranks, " ", p.Command[1:], " ", p.POP.Ranks))
	}
	testenv.Equal(t, []string{"ocean ranks 0-2 [-g fine] 3", "atmos rank 3 [run.nml] 1"}, got)
	calls := map[string]uint64{}
	for _, c := range s.CallSites {
		if c.Call == "Allreduce" || c.Class == profile.P2P.String() {
			calls[c.Call+" of "+c.Program] += c.Calls
		}
	}
	testenv.Equal(t, map[string]uint64{"Allreduce of ocean": 3 * 10, "Allreduce of atmos": 10, "Recv of ocean": 2, "Send of atmos": 2}, calls)
}

// checkProgramsOfHistory requires that no run is taken for a repetition of another, that the
// program that was built again is named, and that what it sends more is found.
func checkProgramsOfHistory(t *testing.T, runs string) {
	t.Helper()
	out := execute(t, nil, mpitrace, "history", "--json", "--fail-if-worse", "bytes=0%", runs)
	var h history.History
	testenv.NoError(t, json.Unmarshal([]byte(out.stdout), &h))
	if out.code != 4 || len(h.Configurations) != 3 || len(h.Evolution) != 1 || len(h.Scaling) != 0 {
		t.Fatalf("status %d, %d configurations, %d evolutions, %d scalings\n%s", out.code, len(h.Configurations), len(h.Evolution), len(h.Scaling), out.stderr)
	}
	changed := h.Evolution[0].Steps[0].Programs
	if len(changed) != 1 || changed[0].Program != "atmos" || changed[0].A == changed[0].B || changed[0].A == "" || changed[0].B == "" {
		t.Errorf("changed programs: %+v", changed)
	}
	before, after := uint64(2*128*8), uint64(2*256*8)
	sent := aggregate.Excess{Of: "Send", Name: aggregate.InBytes, Values: aggregate.Measure{A: before, B: after}}
	if exceeded := h.Evolution[0].Steps[0].Exceeded; !slices.Contains(exceeded, sent) {
		t.Errorf("exceeded: %+v, want %+v", exceeded, sent)
	}
}
