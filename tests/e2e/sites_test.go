package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// siteRanks is the number of ranks of the programs with many call sites.
const siteRanks = 4

// A sitePlan is one of fifty calls of a generated program. Each call is on its
// own line and is made a number of times with a number of ints.
type sitePlan struct {
	call        string
	times, ints int
	c           string // C code, with INTS and TAG as placeholders for numbers
	fortran     string
}

// sitePlans returns plans of five kinds of calls. All of a kind differ in their
// numbers.
func sitePlans() []sitePlan {
	kinds := []sitePlan{
		{call: "Sendrecv",
			c:       "MPI_Sendrecv(a, INTS, MPI_INT, right, TAG, b, INTS, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)",
			fortran: "MPI_Sendrecv(a, INTS, MPI_INTEGER, right, TAG, b, INTS, MPI_INTEGER, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE"},
		{call: "Allreduce",
			c:       "MPI_Allreduce(a, b, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD)",
			fortran: "MPI_Allreduce(a, b, INTS, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD"},
		{call: "Bcast",
			c:       "MPI_Bcast(a, INTS, MPI_INT, TAG % 4, MPI_COMM_WORLD)",
			fortran: "MPI_Bcast(a, INTS, MPI_INTEGER, mod(TAG, 4), MPI_COMM_WORLD"},
		{call: "Alltoall",
			c:       "MPI_Alltoall(a, INTS, MPI_INT, b, INTS, MPI_INT, MPI_COMM_WORLD)",
			fortran: "MPI_Alltoall(a, INTS, MPI_INTEGER, b, INTS, MPI_INTEGER, MPI_COMM_WORLD"},
		{call: "Barrier", c: "MPI_Barrier(MPI_COMM_WORLD)", fortran: "MPI_Barrier(MPI_COMM_WORLD"},
	}
	var out []sitePlan
	for i := range 50 {
		p := kinds[i%len(kinds)]
		p.times, p.ints = 1+i/len(kinds), 1+3*i
		out = append(out, p)
	}
	return out
}

// sent returns what all ranks together send at the site, as docs/counting.md
// defines it.
func (p sitePlan) sent() (messages, bytes int) {
	const others = siteRanks - 1
	messages = p.times * siteRanks // Sendrecv: one message each
	switch p.call {
	case "Allreduce", "Alltoall", "Barrier":
		messages *= others
	case "Bcast": // the root only
		messages = p.times * others
	}
	if p.call == "Barrier" {
		return messages, 0
	}
	return messages, 4 * p.ints * messages
}

// A siteProgram is a source file with the line of each plan.
type siteProgram struct {
	text  strings.Builder
	line  int
	lines []int
}

func (s *siteProgram) add(format string, args ...any) {
	fmt.Fprintf(&s.text, format+"\n", args...)
	s.line++
}

// fill replaces the placeholders of a call.
func fill(call string, ints, tag int) string {
	return strings.NewReplacer("INTS", strconv.Itoa(ints), "TAG", strconv.Itoa(tag)).Replace(call)
}

// cSites writes the program in C, with the calls in several functions.
func cSites(plans []sitePlan) *siteProgram {
	s := &siteProgram{}
	s.add("#include \"check.h\"")
	s.add("static int a[1024], b[1024], left, right;")
	for i, p := range plans {
		if i%10 == 0 {
			s.add("__attribute__((noinline)) static void part_%d(void)", i/10)
			s.add("{")
		}
		s.add("    for (int i = 0; i < %d; i++)", p.times)
		s.add("        %s;", fill(p.c, p.ints, i))
		s.lines = append(s.lines, s.line)
		if i%10 == 9 {
			// Without this, the call at the end of the function would become a
			// jump, and would return to another function.
			s.add("    __asm__ volatile(\"\");")
			s.add("}")
		}
	}
	s.add("int main(int argc, char **argv)")
	s.add("{")
	s.add("    begin(argc, argv, %d);", siteRanks)
	s.add("    left = (world_rank + %d) %% %d, right = (world_rank + 1) %% %d;", siteRanks-1, siteRanks, siteRanks)
	for i := range len(plans) / 10 {
		s.add("    part_%d();", i)
	}
	s.add("    return end();")
	s.add("}")
	return s
}

// siteFunction returns the name of the function of plan i in cSites.
func siteFunction(i int) string { return fmt.Sprintf("part_%d", i/10) }

// callSites returns the call sites of a run, as `mpitrace report --json` prints
// them.
func callSites(t *testing.T, dir string) []aggregate.CallSite {
	t.Helper()
	var report struct {
		Jobs []struct {
			CallSites []aggregate.CallSite `json:"callsites"`
		} `json:"jobs"`
	}
	out := succeed(t, nil, mpitrace, "report", "--json", dir)
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Jobs) != 1 {
		t.Fatalf("%d jobs", len(report.Jobs))
	}
	return report.Jobs[0].CallSites
}

// checkSites requires that each plan's call site is listed once, with its
// function and with its calls, messages and bytes summed over all ranks.
func checkSites(t *testing.T, source string, lines []int, plans []sitePlan, function func(i int) string, got []aggregate.CallSite) {
	t.Helper()
	byLine := map[int][]aggregate.CallSite{}
	calls := map[string]bool{}
	for _, p := range plans {
		calls[p.call] = true
	}
	n := 0
	for _, c := range got {
		if calls[c.Call] {
			byLine[c.Line] = append(byLine[c.Line], c)
			n++
		}
	}
	if n != len(plans) {
		t.Errorf("%d call sites of these calls, want %d\n%+v", n, len(plans), got)
	}
	for i, p := range plans {
		found := byLine[lines[i]]
		if len(found) != 1 {
			t.Errorf("line %d (%s): %d call sites, want 1", lines[i], p.call, len(found))
			continue
		}
		c := found[0]
		messages, bytes := p.sent()
		type facts struct {
			File, Function, Call string
			Calls, Ranks         int
			Messages, Bytes      int
		}
		diff(t, fmt.Sprintf("line %d", lines[i]),
			facts{source, function(i), p.call, p.times * siteRanks, siteRanks, messages, bytes},
			facts{filepath.Base(c.File), c.Function, c.Call, int(c.Calls), c.PerRank.Ranks, int(c.Sent.Messages), int(c.Sent.Bytes)})
		if mean := float64(c.TimeNs) / siteRanks; c.PerRank.MinNs > c.PerRank.MaxNs || c.PerRank.MeanNs < mean-1 || c.PerRank.MeanNs > mean+1 {
			t.Errorf("line %d: %d ns in total, per rank %+v", lines[i], c.TimeNs, c.PerRank)
		}
	}
}

func TestCallSites(t *testing.T) {
	plans := sitePlans()
	s := cSites(plans)
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		source := filepath.Join(t.TempDir(), "sites50.c")
		if err := os.WriteFile(source, []byte(s.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(t.TempDir(), "sites50")
		m.build(t, m.cc, source, program, "-O2", "-I"+filepath.Join(root, "tests", "programs"))
		j := m.run(t, siteRanks, program)
		checkSites(t, "sites50.c", s.lines, plans, siteFunction, callSites(t, j.dir))
		// Names must be available after the program is gone: from the recordings
		// alone, and when these are gone too.
		if err := os.Remove(program); err != nil {
			t.Fatal(err)
		}
		for _, merged := range []string{"profile.arrow", "ranks.arrow", "comms.arrow", "merged.json"} {
			if err := os.Remove(filepath.Join(j.dir, merged)); err != nil {
				t.Fatal(err)
			}
		}
		exported := filepath.Join(t.TempDir(), "x.csv")
		succeed(t, nil, mpitrace, "export", j.dir, "--format", "csv", "-o", exported)
		if rows, err := os.ReadFile(exported); err != nil || !strings.Contains(string(rows), siteFunction(0)+" sites50.c:"+strconv.Itoa(s.lines[0])) {
			t.Errorf("export has no %s sites50.c:%d (%v)", siteFunction(0), s.lines[0], err)
		}
		checkSites(t, "sites50.c", s.lines, plans, siteFunction, callSites(t, j.dir))
		if err := os.RemoveAll(filepath.Join(j.dir, "recordings")); err != nil {
			t.Fatal(err)
		}
		checkSites(t, "sites50.c", s.lines, plans, siteFunction, callSites(t, j.dir))
	})
}

// build compiles a source with one of the MPI's compilers.
func (m implementation) build(t *testing.T, compiler, source, program string, flags ...string) {
	t.Helper()
	args := append(append([]string{compiler, "-g"}, flags...), source, "-o", program)
	succeed(t, nil, args...)
}

// TestReportedSites checks that the text report lists the requested number of
// call sites, the largest first, in lines of limited length.
func TestReportedSites(t *testing.T) {
	testenv.At(t, testenv.Quick)
	m := implementations()[0]
	testenv.Need(t, "gcc", m.cc, m.launcher[0])
	p := plate{rows: 31, cols: 25, steps: 20, down: 2, across: 2}
	j := p.run(t, m)
	for _, test := range []struct {
		flags []string
		want  []string // texts in the first line
		lines int
	}{
		// 20 steps of 2 x 2 ranks: the residual's Allreduce sends most
		// messages, but the borders send most bytes. Some borders have 13 and
		// 12 doubles, others 16 and 15: 20 x 31 doubles. The receives have as
		// many bytes as the sends.
		{[]string{"--sort", "calls", "--top", "3"}, []string{"halo.c:", " 80 "}, 3},
		{[]string{"--sort", "bytes", "--top", "1"}, []string{"swap_borders halo.c:", " 4.84 KiB"}, 1},
		{[]string{"--top", "0"}, nil, 0},
	} {
		out := succeed(t, nil, append([]string{mpitrace, "report", "--full", j.dir}, test.flags...)...)
		_, table, found := strings.Cut(out.stdout, "\ncall sites by ")
		if found != (test.lines > 0) {
			t.Errorf("%v: a table of call sites: %t", test.flags, found)
			continue
		}
		table, _, _ = strings.Cut(table, "\nand ")
		lines := strings.Split(table, "\n")
		if len(lines) != test.lines+1 && found {
			t.Errorf("%v: %d lines, want %d\n%s", test.flags, len(lines)-1, test.lines, table)
			continue
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > 120 {
				t.Errorf("%v: %d columns: %s", test.flags, n, line)
			}
		}
		for _, want := range test.want {
			if !strings.Contains(lines[1], want) {
				t.Errorf("%v: the first line has no %q: %s", test.flags, want, lines[1])
			}
		}
	}
	for _, flags := range [][]string{{"--sort", "name"}, {"--top", "few"}, {"--top", "-1"}} {
		if out := execute(t, nil, append([]string{mpitrace, "report", j.dir}, flags...)...); out.code != 2 {
			t.Errorf("%v: exit status %d, want 2", flags, out.code)
		}
	}
}
