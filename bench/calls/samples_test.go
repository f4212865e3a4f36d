package calls

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestSetting(t *testing.T) {
	output := []byte("version: MPICH 4.0\nlibrary: /a b/libmpi.so\n")
	for key, want := range map[string]string{"version": "MPICH 4.0", "library": "/a b/libmpi.so", "vers": "", "answering": ""} {
		if got := setting(output, key); got != want {
			t.Errorf("setting(%q) = %q, want %q", key, got, want)
		}
	}
}

// threeRounds has Send at 10 ns (median) and 8 ns (minimum) alone. Under limit
// it takes 10, 8 and 14 ns more, under ours 22, 92 and 24 ns more. ours
// executes 90 instructions, limit 60.
func threeRounds(t *testing.T, raw io.Writer) *samples {
	t.Helper()
	found := newSamples()
	for _, round := range [][]float64{{10, 20, 32}, {8, 16, 100}, {11, 25, 35}} {
		for i, tool := range []string{"none", "limit", "ours"} {
			testenv.NoError(t, found.addTime(subject{"mpich", "Send", tool}, 10, round[i], raw))
		}
	}
	for tool, added := range map[string]float64{"limit": 60, "ours": 90} {
		testenv.NoError(t, found.addInstructions(subject{"mpich", "Send", tool}, 4, added, raw))
	}
	return found
}

func TestLines(t *testing.T) {
	var raw strings.Builder
	found, of := newSamples(), subject{"mpich", "Send/from=f08", "limit"}
	testenv.NoError(t, errors.Join(found.addTime(of, 638160, 22.835, &raw), found.addInstructions(of, 40, 51, &raw)))
	const want = "BenchmarkSend/from=f08/tool=limit-1\t638160\t22.84 ns/call\n" +
		"BenchmarkSend/from=f08/tool=limit-1\t40\t51.00 added-instructions/call\n"
	if raw.String() != want {
		t.Errorf("got %q, want %q", raw.String(), want)
	}
}

func TestRows(t *testing.T) {
	nan := math.NaN()
	want := []row{
		{subject{"mpich", "Send", "none"}, costs{10, nan, nan}, costs{8, nan, nan}, costs{nan, nan, nan}},
		{subject{"mpich", "Send", "limit"}, costs{20, 10, 1}, costs{16, 8, 1}, costs{nan, 60, 1}},
		{subject{"mpich", "Send", "ours"}, costs{35, 24, 2.4}, costs{32, 24, 3}, costs{nan, 90, 1.5}},
	}
	// NaN is not equal to itself, but its text is.
	if got := fmt.Sprint(threeRounds(t, io.Discard).rows()); got != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRowsAreGroupedByMPIAndCall(t *testing.T) {
	found := newSamples()
	for _, tool := range []string{"none", "limit"} {
		for _, mpi := range []string{"openmpi", "mpich"} {
			for _, call := range []string{"Send", "Allreduce"} {
				found.addTime(subject{mpi, call, tool}, 1, 1, io.Discard)
			}
		}
	}
	var got []string
	for _, r := range found.rows() {
		got = append(got, r.mpi+" "+r.call+" "+r.tool)
	}
	want := "openmpi Send none,openmpi Send limit,openmpi Allreduce none,openmpi Allreduce limit," +
		"mpich Send none,mpich Send limit,mpich Allreduce none,mpich Allreduce limit"
	if strings.Join(got, ",") != want {
		t.Errorf("got %v", got)
	}
}

func TestWriteTable(t *testing.T) {
	found := threeRounds(t, io.Discard)
	const want = `| MPI   | call | tool  | median ns | added | × limit | minimum ns | added | × limit | added instructions | × limit |
| ----- | ---- | ----- | --------: | ----: | ------: | ---------: | ----: | ------: | -----------------: | ------: |
| mpich | Send | none  |      10.0 |     – |       – |        8.0 |     – |       – |                  – |       – |
| mpich | Send | limit |      20.0 | +10.0 |    1.00 |       16.0 |  +8.0 |    1.00 |              +60.0 |    1.00 |
| mpich | Send | ours  |      35.0 | +24.0 |    2.40 |       32.0 | +24.0 |    3.00 |              +90.0 |    1.50 |
`
	var got strings.Builder
	if err := found.writeTable(&got); err != nil || got.String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got.String(), want)
	}
}

// A tool that was not measured with a call has a dash there.
func TestWriteSummaries(t *testing.T) {
	found := threeRounds(t, io.Discard)
	testenv.NoError(t, found.addInstructions(subject{"mpich", "Bcast", "limit"}, 4, 50, io.Discard))
	const want = `
mpich, ns, minimum of the rounds:

| call  | none | limit |  ours | × limit |
| ----- | ---: | ----: | ----: | ------: |
| Send  |  8.0 |  +8.0 | +24.0 |    3.00 |
| Bcast |    – |     – |     – |       – |

mpich, instructions:

| call  | none | limit |  ours | × limit |
| ----- | ---: | ----: | ----: | ------: |
| Send  |    – | +60.0 | +90.0 |    1.50 |
| Bcast |    – | +50.0 |     – |       – |
`
	var got strings.Builder
	if err := found.writeSummaries(&got); err != nil || got.String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got.String(), want)
	}
}

// A peer that failed has no row. If limit adds nothing, there is no multiple of
// it.
func TestWriteTableLeavesOut(t *testing.T) {
	found := newSamples()
	for _, tool := range []string{"none", "limit", "ours", "peer"} {
		found.addTime(subject{"mpich", "Send", tool}, 1, 10, io.Discard)
	}
	found.forget(subject{"mpich", "Send", "peer"})
	const want = `| MPI   | call | tool  | median ns | added | × limit | minimum ns | added | × limit |
| ----- | ---- | ----- | --------: | ----: | ------: | ---------: | ----: | ------: |
| mpich | Send | none  |      10.0 |     – |       – |       10.0 |     – |       – |
| mpich | Send | limit |      10.0 |  +0.0 |       – |       10.0 |  +0.0 |       – |
| mpich | Send | ours  |      10.0 |  +0.0 |       – |       10.0 |  +0.0 |       – |
`
	var got strings.Builder
	if err := found.writeTable(&got); err != nil || got.String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got.String(), want)
	}
}

func TestCellsHaveNoNegativeZero(t *testing.T) {
	got := costs{value: 5, added: -0.01, times: -0.001}.cells()
	if want := []string{"5.0", "+0.0", "0.00"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBusy(t *testing.T) {
	for _, c := range []struct {
		name string
		none []float64
		want bool
	}{
		{"one slow round of three", []float64{10, 10.1, 20}, false},
		{"two slow rounds of three", []float64{10, 20, 20}, true},
		{"a single sample", []float64{10}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := newSamples()
			for _, value := range c.none {
				found.addTime(subject{"mpich", "Send", baseline}, 1, value, io.Discard)
			}
			found.addTime(subject{"mpich", "Send", "ours"}, 1, 1000, io.Discard)
			if got := found.busy(); got != c.want {
				t.Errorf("busy() = %v, want %v", got, c.want)
			}
		})
	}
}
