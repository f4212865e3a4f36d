package programs

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestPrograms(t *testing.T) {
	o := options{pairs: 1, ranks: 4, launcher: "mpirun --oversubscribe", given: []string{"cg=cg.A.x", "hpcg=xhpcg --nx=32 --rt=0"}}
	testenv.NoError(t, o.check())
	all, err := o.programs()
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if line := strings.Join(all[1].line(), " "); line != "mpirun --oversubscribe -n 4 xhpcg --nx=32 --rt=0" {
		t.Error(line)
	}
	line := strings.Join(all[0].lineVia([]string{"valgrind"}, []string{"A=1"}), " ")
	if line != "mpirun --oversubscribe -n 1 env A=1 valgrind cg.A.x : -n 3 nice -n 19 env A=1 cg.A.x" {
		t.Error(line)
	}
	o.only = "hp"
	if all, _ = o.programs(); len(all) != 1 || all[0].name != "hpcg" {
		t.Error(all)
	}
	for _, given := range []string{"cg", "cg=", "=cg.A.x"} {
		if _, err := parseProgram(given, nil, 4); err == nil {
			t.Errorf("%q is accepted", given)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, p := range installed {
		if p.missing() != p.launcher[0] {
			t.Errorf("%s: %q is missing", p.name, p.missing())
		}
	}
}

func TestWallTellsWhatFailed(t *testing.T) {
	if _, err := wall(t.Context(), "", "sh", "-c", "echo because >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "because") {
		t.Error(err)
	}
}

func TestWriteTimes(t *testing.T) {
	var b strings.Builder
	p := pairs{program: program{name: "p", ranks: 2}, alone: []float64{10, 5, 20}, with: []float64{11, 6, 20}}
	testenv.NoError(t, writeTimes(&b, []pairs{p}))
	// The ratios are 1.1, 1.2 and 1.
	fields := strings.Join(strings.Fields(b.String()[strings.LastIndex(b.String(), "| p"):]), " ")
	if want := "| p | 2 | 3 | 10.00 | +1.00 | 1.100 | – |"; fields != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}

// The interval of n values is between the k-th smallest and the k-th largest.
// The table of k is in textbooks, for example in Conover's.
func TestMedianInterval(t *testing.T) {
	for n, k := range map[int]int{6: 1, 8: 1, 9: 2, 12: 3, 15: 4, 20: 6, 30: 10} {
		var values []float64
		for i := range n {
			values = append(values, float64(n-i))
		}
		low, high, ok := medianInterval(values)
		if !ok || low != float64(k) || high != float64(n+1-k) {
			t.Errorf("%d values: %v to %v; want %d to %d", n, low, high, k, n+1-k)
		}
		if values[0] != float64(n) {
			t.Error("the values were sorted in place")
		}
	}
	for n := range 6 {
		if _, _, ok := medianInterval(slices.Repeat([]float64{1}, n)); ok {
			t.Errorf("%d values have an interval", n)
		}
	}
}
