package prof

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// FuzzReader checks that there is no panic, that memory is in proportion to the
// file, and that accepted files read back equal, except for names that look
// like fields.
func FuzzReader(f *testing.F) {
	for _, seed := range damaged(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first *profile.Traffic
		var err error
		read := func() { first, err = Read(bytes.NewReader(data), "x.prof") }
		most := uint64(1<<20 + 200*len(data))
		used := testenv.Allocated(read)
		for tries := 0; used > most && tries < 3; tries++ { // memory that the fuzzer itself allocates counts, too
			used = testenv.Allocated(read)
		}
		if first == nil {
			t.Fatal(err)
		}
		if used > most { // a line of 30 bytes may need a histogram of 528 bytes, twice while it grows
			t.Errorf("reading %d bytes allocated %d bytes", len(data), used)
		}
		second, again := Read(strings.NewReader(write(t, first)), "x.prof")
		if again != nil {
			t.Fatalf("read what was written: %v", again)
		}
		for i := range first.Comms {
			first.Comms[i].Name = text.Field(first.Comms[i].Name)
		}
		if err == nil && !cmp.Equal(first, second) {
			t.Fatal(cmp.Diff(first, second))
		}
	})
}

// damaged returns files of Open MPI, whole, cut and with a flipped bit, and
// lines that no job writes.
func damaged(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for _, name := range []string{"testdata/openmpi-4.1.4.0.prof", "testdata/openmpi-4.1.4.3.prof"} {
		text := realFiles(t)[name]
		out = append(out, text)
		for i := range text {
			switch {
			case text[i] == '\n' && i%3 == 0, text[i] == '\t' && i%17 == 0:
				out = append(out, text[:i])
			case i%97 == 0:
				flipped := bytes.Clone(text)
				flipped[i] ^= 1 << (i % 8)
				out = append(out, flipped)
			}
		}
	}
	for _, line := range []string{
		"D\t\tprocs: 4,\nA2A\t4\t1 bytes\t2 msgs sent\r\nE 1 2 3 bytes 4 msgs sent 1,,",
		"E\t0\t1\t1" + strings.Repeat("0", 30) + " bytes\t1 msgs sent\t1",
		"E\t0\t2147483648\t1 bytes\t1 msgs sent\t1\nE\t0\t2147483647\t1 bytes\t1 msgs sent\t1",
		"E\t0\t1\t18446744073709551615 bytes\t18446744073709551615 msgs sent\t18446744073709551615,0,0,0,0,1",
		"E\t0\t1\t1 bytes\t1 msgs sent\t" + strings.Repeat("0,", 5000) + "1",
		strings.Repeat("9", 100<<10),
		"D\tx\tprocs: " + strings.Repeat("1,", 5000) + "\nD\tx\tprocs: 2147483648",
		"I\t0\t1\t1 bytes\t1 msgs sent\r\nS\t0\t1\t1 bytes\t1 msgs sent\nR\t0\t1\t1 bytes\t1 msgs sent\nC\t0\t1\t1 bytes\t1 msgs sent",
	} {
		out = append(out, []byte(line))
	}
	return out
}

// FuzzLine checks that the fast and the general parser agree on a line.
func FuzzLine(f *testing.F) {
	for _, text := range damaged(f) {
		lines := slices.Collect(bytes.Lines(text))
		f.Add(lines[len(lines)-1])
		f.Add(lines[len(lines)/2])
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) < 3 || line[1] != '\t' || !isFlow(line[0]) {
			return
		}
		var plain, general []profile.Flow
		keep := func(to *[]profile.Flow) Handler {
			return Handler{Flow: func(f *profile.Flow) { *to = append(*to, *f) }, Histograms: true}
		}
		one, two := parser{Handler: keep(&plain)}, parser{Handler: keep(&general)}
		if !one.plainFlow(line) {
			return
		}
		if err := two.anyFlow(line); err != nil {
			t.Fatalf("the fast parser accepts %q, the general one does not: %v", line, err)
		}
		if diff := cmp.Diff(general, plain); diff != "" {
			t.Fatal(diff)
		}
	})
}
