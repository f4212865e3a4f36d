package prof

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// scan returns the values that Scan passes on, line by line.
func scan(t testing.TB, text string, histograms bool) (flows []profile.Flow, comms []profile.CommTraffic, err error) {
	t.Helper()
	err = Scan(strings.NewReader(text), "x.prof", Handler{
		Histograms: histograms,
		Flow: func(f *profile.Flow) {
			kept := *f
			if f.Histogram != nil {
				kept.Histogram = new(profile.Histogram)
				*kept.Histogram = *f.Histogram
			}
			flows = append(flows, kept)
		},
		Comm: func(c *profile.CommTraffic) {
			kept := *c
			kept.Members = slices.Clone(c.Members)
			comms = append(comms, kept)
		},
	})
	return flows, comms, err
}

func TestScanTellsLineByLine(t *testing.T) {
	const text = "E\t1\t2\t30 bytes\t4 msgs sent\t0,4\n" +
		"E\t1\t2\t5 bytes\t1 msgs sent\n" +
		"D\tfirst\tprocs: 1,2,3\n" +
		"O2A\t1\t6 bytes\t2 msgs sent\n" +
		"C\t1\t3\t7 bytes\t8 msgs sent\n" + // does not end the block
		"A2A\t1\t9 bytes\t3 msgs sent\n" +
		"D\tsecond\tprocs: 1,2,3\n" +
		"D\tthird\tprocs: 4\n"
	wantComms := []profile.CommTraffic{
		{Name: "first", Rank: 1, Members: []int{1, 2, 3}, O2A: profile.FlowVolume{Bytes: 6, Count: 2}, A2A: profile.FlowVolume{Bytes: 9, Count: 3}},
		{Name: "second", Rank: -1, Members: []int{1, 2, 3}},
		{Name: "third", Rank: -1, Members: []int{4}},
	}
	for _, histograms := range []bool{false, true} {
		wantFlows := []profile.Flow{
			{Kind: profile.External, From: 1, To: 2, Bytes: 30, Messages: 4},
			{Kind: profile.External, From: 1, To: 2, Bytes: 5, Messages: 1},
			{Kind: profile.Collective, From: 1, To: 3, Bytes: 7, Messages: 8},
		}
		if histograms {
			wantFlows[0].Histogram = &profile.Histogram{1: 4}
		}
		flows, comms, err := scan(t, text, histograms)
		testenv.NoError(t, err)
		testenv.Equal(t, wantFlows, flows)
		testenv.Equal(t, wantComms, comms)
	}
	if err := Scan(strings.NewReader(text), "x.prof", Handler{}); err != nil {
		t.Error(err)
	}
}

// A histogram is checked even if it is not wanted.
func TestUnwantedHistogramsAreChecked(t *testing.T) {
	for _, histograms := range []bool{false, true} {
		flows, _, err := scan(t, "E\t0\t1\t24 bytes\t5 msgs sent\t0,0,0,0,0,x\n", histograms)
		if want := `x.prof:1: column 6 of the histogram: "x" is not a number of 64 bits`; err == nil || err.Error() != want || flows != nil {
			t.Errorf("got %v, %v, want %s", flows, err, want)
		}
	}
}

// TestPlainAndOddLinesAgree checks that the fast parser and the general one
// read the same from a line.
func TestPlainAndOddLinesAgree(t *testing.T) {
	numbers := []string{"0", "9", "12345678", "2147483647", "00000000000000000000007", "9999999999999999999",
		"10000000000000000000", "18446744073709551615"}
	for _, bytes := range numbers {
		for _, histogram := range []string{"", "0", "0,0,0,0", "0,0,0,0,0", "1,0,0,0,0,0,2", strings.Repeat("0,", 66) + bytes} {
			plain := fmt.Sprintf("E\t3\t7\t%s bytes\t%s msgs sent\t%s", bytes, bytes, histogram)
			odd := strings.NewReplacer("\t", " ", " ", "\t").Replace(plain)
			want, _, err := scan(t, odd+"\n", true)
			testenv.NoError(t, err)
			got, _, err := scan(t, plain, true)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v %s", plain, err, diff)
			}
		}
	}
}

// repeated is a reader of a text repeated n times.
type repeated struct {
	text  string
	times int
	rest  string
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if r.rest == "" {
			if r.times == 0 {
				break
			}
			r.rest, r.times = r.text, r.times-1
		}
		k := copy(p[n:], r.rest)
		n, r.rest = n+k, r.rest[k:]
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestScanKeepsNothing checks that a thousand files take no more memory than
// one.
func TestScanKeepsNothing(t *testing.T) {
	file := string(realFiles(t)["testdata/openmpi-4.1.4.0.prof"])
	var lines int
	h := Handler{Histograms: true, Flow: func(*profile.Flow) { lines++ }, Comm: func(*profile.CommTraffic) {}}
	used := testenv.AllocatedAlone(func() {
		testenv.NoError(t, Scan(&repeated{text: file, times: 1000}, "x.prof", h))
	})
	if want := 1000 * (strings.Count(file, "sent") - strings.Count(file, "\nO2A") - strings.Count(file, "\nA2")); lines != want {
		t.Errorf("%d flows, want %d", lines, want)
	}
	if used > 300<<10 {
		t.Errorf("allocated %d bytes for %d lines", used, lines)
	}
}

// TestReadSharesMembers checks that the members of MPI_COMM_WORLD, which are in
// the file of each process, are kept once.
func TestReadSharesMembers(t *testing.T) {
	var world strings.Builder
	for r := range 1000 {
		fmt.Fprintf(&world, "%d,", r)
	}
	var text strings.Builder
	for r := range 1000 {
		fmt.Fprintf(&text, "D\tMPI_COMM_WORLD\tprocs: %s\nA2A\t%d\t0 bytes\t0 msgs sent\nD\tMPI_COMM_SELF\tprocs: %d\n", &world, r, r)
	}
	var traffic *profile.Traffic
	if used := testenv.Allocated(func() { traffic = read(t, text.String()) }); used > 2<<20 {
		t.Errorf("allocated %d bytes", used)
	}
	last := traffic.Comms[1998:]
	if len(traffic.Comms) != 2000 || len(last[0].Members) != 1000 || last[0].Members[999] != 999 || !slices.Equal(last[1].Members, []int{999}) {
		t.Errorf("got %d blocks, the last ones are %v", len(traffic.Comms), last)
	}
}

// TestHostileLines checks that lines that no job writes are errors with their
// place, and take no memory.
func TestHostileLines(t *testing.T) {
	const (
		good = "C\t0\t1\t24 bytes\t5 msgs sent\n"
		head = "E\t0\t1\t24 bytes\t5 msgs sent\t"
	)
	huge := "1" + strings.Repeat("0", 30)
	for _, c := range []struct {
		name, want string
		line       *repeated
	}{
		{"10^30 bytes", `"` + huge + `" is not a number of 64 bits`, &repeated{rest: "E\t0\t1\t" + huge + " bytes\t1 msgs sent"}},
		{"10^30 messages of a size", `column 2 of the histogram: "` + huge + `" is not a number of 64 bits`, &repeated{rest: head + "0," + huge}},
		{"rank 2^31", `"2147483648" is not a rank`, &repeated{rest: "E\t2147483648\t1\t24 bytes\t1 msgs sent"}},
		{"member 2^31", `"2147483648" is not a rank`, &repeated{rest: "D\tx\tprocs: 0,2147483648"}},
		{"10^7 columns", "line is longer than 16 MiB", &repeated{rest: head, text: "0,", times: 1e7}},
		{"a million columns, the last empty", "column 1000001 of the histogram: \"\" is not a number of 64 bits", &repeated{rest: head, text: "0,", times: 1e6}},
		{"ten million members", "line is longer than 16 MiB", &repeated{rest: "D\tx\tprocs: ", text: "1,", times: 1e7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var flows int
			var err error
			used := testenv.Allocated(func() {
				err = Scan(io.MultiReader(strings.NewReader(good), c.line, strings.NewReader("\n"+good)), "dir/x.prof",
					Handler{Histograms: true, Flow: func(*profile.Flow) { flows++ }})
			})
			var problems *Problems
			if !errors.As(err, &problems) || err.Error() != "dir/x.prof:2: "+c.want {
				t.Errorf("got error %v, want %s", err, c.want)
			}
			if flows != 2 {
				t.Errorf("got %d lines around the damaged one, want 2", flows)
			}
			if used > 6*maxLine {
				t.Errorf("allocated %d bytes", used)
			}
		})
	}
}
