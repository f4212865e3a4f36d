package main

import (
	"slices"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"one value", []float64{7}, 7},
		{"odd number, unsorted", []float64{9, 1, 5}, 5},
		{"even number takes the mean of the middle two", []float64{4, 1, 100, 2}, 3},
		{"one outlier changes nothing", []float64{5, 5, 1e9, 5, 5}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := median(c.values); got != c.want {
				t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
			}
		})
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	values := []float64{3, 1, 2}
	median(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("median sorted its argument: %v", values)
	}
}

func TestParseLine(t *testing.T) {
	call, tool, value, err := parseLine("BenchmarkSend/tool=limit-1\t638160\t22.835 ns/call")
	if err != nil || call != "Send" || tool != "limit" || value != 22.835 {
		t.Errorf("got %q, %q, %v, %v", call, tool, value, err)
	}
}

func TestParseLineRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"an empty line":      "",
		"another unit":       "BenchmarkSend/tool=limit-1 10 22.8 ns/op",
		"no tool":            "BenchmarkSend-1 10 22.8 ns/call",
		"no GOMAXPROCS":      "BenchmarkSend/tool=limit 10 22.8 ns/call",
		"another prefix":     "Send/tool=limit-1 10 22.8 ns/call",
		"a torn line":        "BenchmarkSend/tool=limit-1 10",
		"words for a figure": "BenchmarkSend/tool=limit-1 10 fast ns/call",
		"a loop of no time":  "BenchmarkSend/tool=limit-1 10 0.000 ns/call",
		"no number":          "BenchmarkSend/tool=limit-1 10 NaN ns/call",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, _, err := parseLine(line); err == nil {
				t.Errorf("%q was accepted", line)
			}
		})
	}
}

func TestBenchmarkLinesLeavesOutTheRest(t *testing.T) {
	output := "answering: /lib/libmpi.so.40\nBenchmarkA/tool=none-1\t1\t2.0 ns/call\nnoise\nBenchmarkB/tool=none-1\t1\t3.0 ns/call\n"
	want := "BenchmarkA/tool=none-1\t1\t2.0 ns/call\nBenchmarkB/tool=none-1\t1\t3.0 ns/call\n"
	if got := string(benchmarkLines([]byte(output))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSetting(t *testing.T) {
	output := []byte("version: MPICH 4.0\nlibrary: /a b/libmpi.so\n")
	for key, want := range map[string]string{"version": "MPICH 4.0", "library": "/a b/libmpi.so", "vers": "", "answering": ""} {
		if got := setting(output, key); got != want {
			t.Errorf("setting(%q) = %q, want %q", key, got, want)
		}
	}
}

// threeRounds has Send at 10 ns (median) and 8 ns (minimum) alone, 20 and 16 ns under limit, and
// 35 and 32 ns under ours.
const threeRounds = `BenchmarkSend/tool=none-1	10	10 ns/call
BenchmarkSend/tool=limit-1	10	20 ns/call
BenchmarkSend/tool=ours-1	10	32 ns/call
BenchmarkSend/tool=none-1	10	8 ns/call
BenchmarkSend/tool=limit-1	10	16 ns/call
BenchmarkSend/tool=ours-1	10	100 ns/call
BenchmarkSend/tool=none-1	10	11 ns/call
BenchmarkSend/tool=limit-1	10	25 ns/call
BenchmarkSend/tool=ours-1	10	35 ns/call
`

func TestRows(t *testing.T) {
	found := newSamples("ns")
	if err := found.addLines("mpich", []byte(threeRounds)); err != nil {
		t.Fatal(err)
	}
	want := []row{
		{subject{"mpich", "Send", "none"}, costs{value: 10}, costs{value: 8}},
		{subject{"mpich", "Send", "limit"}, costs{20, 10, 1}, costs{16, 8, 1}},
		{subject{"mpich", "Send", "ours"}, costs{35, 25, 2.5}, costs{32, 24, 3}},
	}
	got := found.rows()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestRowsAreGroupedByMPIAndCall(t *testing.T) {
	found := newSamples("ns")
	for _, tool := range []string{"none", "limit"} {
		for _, mpi := range []string{"openmpi", "mpich"} {
			for _, call := range []string{"Send", "Allreduce"} {
				found.add(subject{mpi, call, tool}, 1)
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
	found := newSamples("ns")
	if err := found.addLines("mpich", []byte(threeRounds)); err != nil {
		t.Fatal(err)
	}
	const want = `| MPI   | call | tool  | median ns | added | × limit | minimum ns | added | × limit |
|-------|------|-------|----------:|------:|--------:|-----------:|------:|--------:|
| mpich | Send | none  |      10.0 |     – |       – |        8.0 |     – |       – |
| mpich | Send | limit |      20.0 | +10.0 |    1.00 |       16.0 |  +8.0 |    1.00 |
| mpich | Send | ours  |      35.0 | +25.0 |    2.50 |       32.0 | +24.0 |    3.00 |
`
	var got strings.Builder
	if err := found.writeTable(&got); err != nil || got.String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got.String(), want)
	}
}

func TestWriteTableLeavesOutMultiplesOfNothing(t *testing.T) {
	found := newSamples("instructions")
	for _, tool := range []string{"none", "limit", "ours"} {
		found.add(subject{"mpich", "Send", tool}, 10)
	}
	const want = `| MPI   | call | tool  | instructions | added | × limit |
|-------|------|-------|-------------:|------:|--------:|
| mpich | Send | none  |         10.0 |     – |       – |
| mpich | Send | limit |         10.0 |  +0.0 |       – |
| mpich | Send | ours  |         10.0 |  +0.0 |       – |
`
	var got strings.Builder
	if err := found.writeTable(&got); err != nil || got.String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got.String(), want)
	}
}

func TestCellsHaveNoNegativeZero(t *testing.T) {
	got := costs{value: 5, added: -0.01, times: -0.001}.cells("ours")
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
			found := newSamples("ns")
			for _, value := range c.none {
				found.add(subject{"mpich", "Send", baseline}, value)
			}
			found.add(subject{"mpich", "Send", "ours"}, 1000)
			if got := found.busy(); got != c.want {
				t.Errorf("busy() = %v, want %v", got, c.want)
			}
		})
	}
}
