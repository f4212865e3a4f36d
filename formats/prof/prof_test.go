package prof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The files in testdata were written by Open MPI 4.1.4, for
// cmd/profile2mat/testdata/mix.c on four ranks.

func realFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/openmpi-*.prof")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files of Open MPI in testdata: %v", err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func read(t *testing.T, text string) *profile.Traffic {
	t.Helper()
	traffic, err := Read(strings.NewReader(text), "x.prof")
	testenv.NoError(t, err)
	return traffic
}

func write(t testing.TB, traffic *profile.Traffic) string {
	t.Helper()
	var b bytes.Buffer
	testenv.NoError(t, Write(&b, traffic))
	return b.String()
}

func TestOpenMPIFilesRoundTrip(t *testing.T) {
	for name, text := range realFiles(t) {
		if diff := cmp.Diff(string(text), write(t, read(t, string(text)))); diff != "" {
			t.Errorf("%s (-Open MPI +ours):\n%s", name, diff)
		}
	}
}

func TestOpenMPIFile(t *testing.T) {
	traffic := read(t, string(realFiles(t)[filepath.Join("testdata", "openmpi-4.1.4.0.prof")]))
	// In mix.c rank 0 sends 3, 8 and 13 bytes to rank 1 and 7 bytes to itself.
	flows := map[string]profile.Flow{}
	for _, f := range traffic.Flows {
		flows[fmt.Sprintf("%c%d", f.Kind, f.To)] = f
	}
	for key, want := range map[string][2]uint64{"E0": {7, 1}, "E1": {24, 3}, "S1": {13, 1}, "R2": {17, 1}} {
		if f := flows[key]; f.From != 0 || f.Bytes != want[0] || f.Messages != want[1] {
			t.Errorf("%s: got %d bytes in %d messages, want %v", key, f.Bytes, f.Messages, want)
		}
	}
	want := profile.CommTraffic{Name: "odd and even", Rank: 0, Members: []int{2, 0}, A2A: profile.FlowVolume{Bytes: 8, Count: 1}}
	testenv.Equal(t, want, traffic.Comms[0])
}

func TestWriter(t *testing.T) {
	h := profile.Histogram{0: 1, 3: 2, 65: 4}
	traffic := &profile.Traffic{
		Flows: []profile.Flow{ // out of order on purpose
			{Kind: profile.Collective, From: 2, To: 0, Bytes: 5, Messages: 6},
			{Kind: profile.RemoteRead, From: 2, To: 1, Bytes: 3, Messages: 4},
			{Kind: profile.RemoteWrite, From: 2, To: 1, Bytes: 1, Messages: 2},
			{Kind: profile.Internal, From: 2, To: 3, Bytes: 0, Messages: 9},
			{Kind: profile.External, From: 2, To: 3, Bytes: 1<<64 - 1, Messages: 7, Histogram: &h},
		},
		Comms: []profile.CommTraffic{
			{Name: "two\nlines", Rank: 2, Members: []int{3, profile.PeerElsewhere, 2}, O2A: profile.FlowVolume{Bytes: 8, Count: 1},
				A2O: profile.FlowVolume{Bytes: 9, Count: 2}, A2A: profile.FlowVolume{Bytes: 10, Count: 3}},
		},
	}
	want := "# POINT TO POINT\n" +
		"E\t2\t3\t18446744073709551615 bytes\t7 msgs sent\t1,0,0,2," + strings.Repeat("0,", 61) + "4\n" +
		"I\t2\t3\t0 bytes\t9 msgs sent\n" +
		"# OSC\n" +
		"S\t2\t1\t1 bytes\t2 msgs sent\n" +
		"R\t2\t1\t3 bytes\t4 msgs sent\n" +
		"# COLLECTIVES\n" +
		"C\t2\t0\t5 bytes\t6 msgs sent\n" +
		"D\ttwo?lines\tprocs: 3,2\n" +
		"O2A\t2\t8 bytes\t1 msgs sent\n" +
		"A2O\t2\t9 bytes\t2 msgs sent\n" +
		"A2A\t2\t10 bytes\t3 msgs sent\n"
	testenv.Equal(t, want, write(t, traffic))
}

func TestReaderAccepts(t *testing.T) {
	e := func(h *profile.Histogram) *profile.Traffic {
		return &profile.Traffic{Flows: []profile.Flow{{Kind: profile.External, From: 1, To: 2, Bytes: 30, Messages: 4, Histogram: h}}}
	}
	long := "1," + strings.Repeat("0,", 65) + "2,3" // 68 columns
	for _, c := range []struct {
		name, text string
		want       *profile.Traffic
	}{
		{"an empty file", "", &profile.Traffic{}},
		{"headers alone", "# POINT TO POINT\n# OSC\n# COLLECTIVES\n", &profile.Traffic{}},
		{"no sections and no histogram", "E\t1\t2\t30 bytes\t4 msgs sent\n", e(nil)},
		{"a tab for no histogram", "E\t1\t2\t30 bytes\t4 msgs sent\t\n", e(nil)},
		{"spaces for tabs", "E 1 2 30 bytes 4 msgs sent 4\n", e(&profile.Histogram{4})},
		{"no line end at the end", "E\t1\t2\t30 bytes\t4 msgs sent", e(nil)},
		{"Windows line ends", "# POINT TO POINT\r\n\r\nE\t1\t2\t30 bytes\t4 msgs sent\t0,0,4\r\n", e(&profile.Histogram{2: 4})},
		{"a short histogram", "E\t1\t2\t30 bytes\t4 msgs sent\t0,0,0,4\n", e(&profile.Histogram{3: 4})},
		{"a long histogram", "E\t1\t2\t30 bytes\t4 msgs sent\t" + long + "\n", e(&profile.Histogram{0: 1, 65: 5})},
		{"a pair twice", "E\t1\t2\t10 bytes\t1 msgs sent\t1\nE\t1\t2\t20 bytes\t3 msgs sent\t2,1\n", e(&profile.Histogram{3, 1})},
		{"a block alone", "D\t\tprocs: 4,\nA2A\t4\t1 bytes\t2 msgs sent\n", &profile.Traffic{Comms: []profile.CommTraffic{
			{Rank: 4, Members: []int{4}, A2A: profile.FlowVolume{Bytes: 1, Count: 2}}}}},
		{"members with commas and zeros too many", "D\tx\tprocs: 7,,00000000012,2147483647,\n", &profile.Traffic{Comms: []profile.CommTraffic{
			{Name: "x", Rank: -1, Members: []int{7, 12, 2147483647}}}}},
		{"a name that looks like members", "D\tx\tprocs: 1,2\tprocs: 3\n", &profile.Traffic{Comms: []profile.CommTraffic{
			{Name: "x\tprocs: 1,2", Rank: -1, Members: []int{3}}}}},
		{"a block of nobody", "D\ta \tb\tprocs: \n", &profile.Traffic{Comms: []profile.CommTraffic{
			{Name: "a \tb", Rank: -1, Members: []int{}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, read(t, c.text)); diff != "" && len(c.want.Flows)+len(c.want.Comms) > 0 {
				t.Error(diff)
			}
		})
	}
}

func TestConcatenatedFilesAddUp(t *testing.T) {
	var all strings.Builder
	flows, comms := 0, 0
	for _, text := range realFiles(t) {
		all.Write(text)
		one := read(t, string(text))
		flows += len(one.Flows)
		comms += len(one.Comms)
	}
	got := read(t, all.String())
	if len(got.Flows) != flows || len(got.Comms) != comms {
		t.Errorf("got %d flows and %d blocks, want %d and %d", len(got.Flows), len(got.Comms), flows, comms)
	}
}

func TestReaderReportsAndSkips(t *testing.T) {
	const good = "C\t0\t1\t24 bytes\t5 msgs sent\n"
	for line, reason := range map[string]string{
		"X\t0\t1\t24 bytes\t5 msgs sent":          `"X" starts no line of a .prof file`,
		"\x00\x00\x00":                            `"\x00\x00\x00" starts no line of a .prof file`,
		"E":                                       "line ends after 1 of 8 fields",
		"E\t0\t1\t24 bytes\t5 msgs":               "line ends after 7 of 8 fields",
		"E\t-1\t1\t24 bytes\t5 msgs sent":         `"-1" is not a rank`,
		"E\t0\t4294967296\t24 bytes\t5 msgs sent": `"4294967296" is not a rank`,
		"E\t0\t1\t18446744073709551616 bytes\t5 msgs sent":                           `"18446744073709551616" is not a number of 64 bits`,
		"E\t0\t1\t24 byte\t5 msgs sent":                                              "\"byte\" in place of `bytes`",
		"E\t0\t1\t24 bytes\t5 msgs sent\t1,x":                                        `column 2 of the histogram: "x" is not a number of 64 bits`,
		"E\t0\t1\t24 bytes\t5 msgs sent\t1,2 3":                                      `"3" after the end of the line`,
		"C\t0\t1\t24 bytes\t5 msgs sent\t1,2":                                        `"1,2" after the end of a line of kind C`,
		"D\tworld procs: 0":                                                          "a D line without a tab and `procs:`",
		"D\tworld\tprocs: 0,one":                                                     `"one" is not a rank`,
		"O2A\t0\t24 bytes\t5 msgs sent":                                              "an O2A line that follows no D line",
		strings.Repeat("E", 1000) + "\t0":                                            `"` + strings.Repeat("E", 40) + `"... starts no line of a .prof file`,
		"E\t0\t1\t24 bytes\t5 msgs sentC\t0\t1":                                      `"1" after the end of the line`,
		"D\tw\tprocs: 0\nA2A\t0\t1 bytes\t1 msgs sent\t0":                            `"0" after the end of an A2A line`,
		"D\tw\tprocs: 0\nA2A\t0\t1 bytes\t1 msgs received":                           "\"received\" in place of `sent`",
		"D\tw\tprocs: 0\nO2A\t0\t0 bytes\t0 msgs sent\nA2O\t1\t0 bytes\t0 msgs sent": "an A2O line of rank 1 in a block of rank 0",
		"D\tw\tprocs: 0\nO2A\t0\t0 bytes\t0 msgs sent\nO2A\t0\t0 bytes\t0 msgs sent": "a second O2A line in one block",
	} {
		traffic, err := Read(strings.NewReader(good+line+"\n"+good), "dir/x.prof")
		var problems *Problems
		if !errors.As(err, &problems) {
			t.Errorf("%q: got error %v", line, err)
			continue
		}
		want := fmt.Sprintf("dir/x.prof:%d: %s", 2+strings.Count(line, "\n"), reason)
		if err.Error() != want {
			t.Errorf("%q:\ngot  %s\nwant %s", line, err, want)
		}
		if len(traffic.Flows) != 1 || traffic.Flows[0].Messages != 10 {
			t.Errorf("%q: lines around the damaged one are missing: %v", line, traffic.Flows)
		}
	}
}

func TestManyProblemsAreCounted(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Repeat("?\n", 1000)), "x.prof")
	var problems *Problems
	if !errors.As(err, &problems) || problems.Count != 1000 || len(problems.Listed) != maxProblems {
		t.Fatalf("got %v", err)
	}
	if want := "x.prof: and 980 more malformed lines"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %q, want it to end with %q", err, want)
	}
	var first *SyntaxError
	if !errors.As(err, &first) || first.Line != 1 {
		t.Errorf("got first problem %v", first)
	}
}

// endless is a reader of n times one byte.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	k := min(e.n, len(p))
	for i := range k {
		p[i] = 'E'
	}
	e.n -= k
	return k, nil
}

func TestEndlessLineTakesBoundedMemory(t *testing.T) {
	r := io.MultiReader(&endless{n: 512 << 20}, strings.NewReader("\nC\t0\t1\t24 bytes\t5 msgs sent\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	traffic, err := Read(r, "x.prof")
	runtime.ReadMemStats(&after)
	if err == nil || err.Error() != "x.prof:1: line is longer than 16 MiB" {
		t.Errorf("got error %v", err)
	}
	if len(traffic.Flows) != 1 {
		t.Errorf("the line after the damaged one is missing: %v", traffic.Flows)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*maxLine {
		t.Errorf("the damaged line allocated %d bytes", used)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestStreamErrors(t *testing.T) {
	traffic, err := Read(io.MultiReader(strings.NewReader("# OSC\n"), failing{}), "x.prof")
	if traffic != nil || err == nil || err.Error() != "read x.prof: disk on fire" {
		t.Errorf("read: got %v, %v", traffic, err)
	}
	full := &limitedWriter{left: 10}
	if err := Write(full, &profile.Traffic{}); err == nil {
		t.Error("write: the error of the writer is not returned")
	}
}

type limitedWriter struct{ left int }

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func TestIs(t *testing.T) {
	for head, want := range map[string]bool{
		"# POINT TO POINT\nE": true, "E\t0\t1": true, "A2A\t0": true, "\r\nD\tname": true,
		"": false, "E": false, "X\t1": false, "ARROW1": false, "\t": false, "#include <mpi.h>": false,
	} {
		if Is([]byte(head)) != want {
			t.Errorf("Is(%q) = %v", head, !want)
		}
	}
}
