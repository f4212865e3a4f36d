package matrixfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet/file"
	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// formula is the expected matrix of a synthetic job, computed by arithmetic.
type formula struct {
	at    func(from, to int) synth.Volume
	total synth.Volume
}

func formulas(j *synth.Job) map[matrix.TrafficClass]formula {
	all := j.TotalP2P()
	all.Bytes += j.TotalColl().Bytes
	all.Messages += j.TotalColl().Messages
	return map[matrix.TrafficClass]formula{
		matrix.External: {j.P2P, j.TotalP2P()}, matrix.Collective: {j.Coll, j.TotalColl()}, matrix.All: {j.All, all}}
}

// table evaluates a formula once for several uses.
func (f formula) table(n int) formula {
	cells := make([]synth.Volume, n*n)
	for i := range cells {
		cells[i] = f.at(i/n, i%n)
	}
	return formula{func(from, to int) synth.Volume { return cells[from*n+to] }, f.total}
}

// sheetsOf builds the matrices of a job as profile2mat does.
func sheetsOf(t testing.TB, j *synth.Job) map[matrix.TrafficClass]*Sheet {
	builder := matrix.NewBuilder(nil)
	testenv.NoError(t, j.Each(func(p *profile.Profile) error { builder.Add(p); return nil }))
	ms, out := builder.Matrices(), map[matrix.TrafficClass]*Sheet{}
	for c := range formulas(j) {
		out[c] = &Sheet{Matrix: &ms[c], N: j.Ranks, Line: "rank", Program: j.Name, Class: c}
	}
	return out
}

// check compares the entries of a file with a formula. If each entry is
// correct, none occurs twice, and the sums are correct, then none is missing.
type check struct {
	formula
	q        Quantity
	both     bool // one file has bytes and messages
	from, to int  // of the previous entry
	entries  int
	sum      synth.Volume
}

// entry checks the quantities of a pair that a file has.
func (c *check) entry(from, to int, bytes, messages uint64, avg float64) error {
	if from < c.from || from == c.from && to <= c.to {
		return fmt.Errorf("%d, %d comes after %d, %d", from, to, c.from, c.to)
	}
	c.from, c.to = from, to
	want := c.at(from, to)
	is := true
	switch {
	case c.both:
		is = bytes == want.Bytes && messages == want.Messages && want != (synth.Volume{})
	case c.q == Size:
		is = bytes == want.Bytes && bytes > 0
	case c.q == Msg:
		is = messages == want.Messages && messages > 0
	default:
		is = avg == float64(want.Bytes)/float64(want.Messages) && avg > 0
	}
	if !is {
		return fmt.Errorf("%d, %d has %d bytes, %d messages, %g bytes a message; the formula says %v", from, to, bytes, messages, avg, want)
	}
	c.entries++
	c.sum.Bytes += bytes
	c.sum.Messages += messages
	return nil
}

func (c *check) complete() error {
	want := c.total
	switch {
	case c.both:
	case c.q == Size:
		want.Messages = 0
	case c.q == Msg:
		want.Bytes = 0
	default:
		return nil // averages: it is enough to check the number of entries in the header
	}
	if c.sum != want {
		return fmt.Errorf("sums are %v, the formula says %v", c.sum, want)
	}
	return nil
}

// readers read the sparse formats without the code that wrote them.
var readers = map[string]func(r io.Reader, n int, c *check) error{
	"csv": readCSV, "mtx": readMtx, "json": readJSON, "arrow": readArrow, "parquet": readParquet,
}

// numbers reads numbers that are each followed by one character.
type numbers struct {
	*bufio.Reader
	err error
}

func (r *numbers) next(end byte) uint64 {
	text, err := r.ReadSlice(end)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return 0
	}
	n := uint64(0)
	for _, b := range text[:len(text)-1] {
		switch {
		case b >= '0' && b <= '9':
			n = 10*n + uint64(b-'0')
		case b != ' ': // before the number
			r.err = fmt.Errorf("%q is no number", text)
		}
	}
	return n
}

func (r *numbers) done() bool {
	_, err := r.Peek(1)
	return r.err != nil || err == io.EOF
}

func readCSV(r io.Reader, _ int, c *check) error {
	in := &numbers{Reader: bufio.NewReaderSize(r, 1<<20)}
	if head, err := in.ReadString('\n'); head != "sender,receiver,messages,bytes\n" {
		return fmt.Errorf("begins with %q, %v", head, err)
	}
	for !in.done() {
		from, to, messages, bytes := in.next(','), in.next(','), in.next(','), in.next('\n')
		if err := c.entry(int(from), int(to), bytes, messages, 0); err != nil {
			return err
		}
	}
	return in.err
}

func readMtx(r io.Reader, n int, c *check) error {
	in := &numbers{Reader: bufio.NewReaderSize(r, 1<<20)}
	head, err := in.ReadString('\n')
	for err == nil && strings.HasPrefix(head, "%") {
		head, err = in.ReadString('\n')
	}
	var rows, columns, entries int
	if _, err := fmt.Sscanf(head, "%d %d %d\n", &rows, &columns, &entries); err != nil || rows != n || columns != n {
		return fmt.Errorf("head is %q, %v", head, err)
	}
	for !in.done() {
		from, to := int(in.next(' '))-1, int(in.next(' '))-1
		if c.q == Avg {
			text, _ := in.ReadString('\n')
			avg, err := strconv.ParseFloat(strings.TrimSuffix(text, "\n"), 64)
			if err = errors.Join(err, c.entry(from, to, 0, 0, avg)); err != nil {
				return err
			}
			continue
		}
		v := [2]uint64{}
		v[c.q] = in.next('\n')
		if err := c.entry(from, to, v[Size], v[Msg], 0); err != nil {
			return err
		}
	}
	if c.entries != entries {
		return fmt.Errorf("%d entries, the head says %d", c.entries, entries)
	}
	return in.err
}

// readJSON assumes one entry per line: TestJSON and Python read files as JSON.
func readJSON(r io.Reader, n int, c *check) error {
	in := &numbers{Reader: bufio.NewReaderSize(r, 1<<20)}
	head, err := "", error(nil)
	for err == nil && !strings.HasSuffix(head, "[\n") {
		var line string
		line, err = in.ReadString('\n')
		head += line
	}
	for _, want := range []string{fmt.Sprintf("\"n\": %d,", n), fmt.Sprintf("\"messages\": %d,", c.total.Messages), fmt.Sprintf("\"bytes\": %d,", c.total.Bytes)} {
		if !strings.Contains(head, want) {
			return fmt.Errorf("no %s in %q", want, head)
		}
	}
	if strings.HasSuffix(head, "[]}\n") {
		return nil
	}
	for in.err == nil {
		in.next('[')
		from, to, messages, bytes := in.next(','), in.next(','), in.next(','), in.next(']')
		if err := c.entry(int(from), int(to), bytes, messages, 0); err != nil {
			return err
		}
		if end, err := in.ReadString('\n'); end != ",\n" {
			if end != "]}\n" {
				return fmt.Errorf("ends with %q, %v", end, err)
			}
			break
		}
	}
	return in.err
}

func readArrow(r io.Reader, _ int, c *check) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	in, err := ipc.NewFileReader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for i := range in.NumRecords() {
		rec, err := in.Record(i)
		if err != nil {
			return err
		}
		from, to := rec.Column(0).(*array.Int32), rec.Column(1).(*array.Int32)
		messages, bytes := rec.Column(2).(*array.Uint64), rec.Column(3).(*array.Uint64)
		for k := range int(rec.NumRows()) {
			if err := c.entry(int(from.Value(k)), int(to.Value(k)), bytes.Value(k), messages.Value(k), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func readParquet(r io.Reader, _ int, c *check) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	in, err := file.NewParquetReader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for g := range in.NumRowGroups() {
		group := in.RowGroup(g)
		rows := group.NumRows()
		lines, volumes := [2][]int32{make([]int32, rows), make([]int32, rows)}, [2][]int64{make([]int64, rows), make([]int64, rows)}
		for k := range 4 {
			column, err := group.Column(k)
			if err != nil {
				return err
			}
			if k < 2 {
				_, _, err = column.(*file.Int32ColumnChunkReader).ReadBatch(rows, lines[k], nil, nil)
			} else {
				_, _, err = column.(*file.Int64ColumnChunkReader).ReadBatch(rows, volumes[k-2], nil, nil)
			}
			if err != nil {
				return err
			}
		}
		for k := range int(rows) {
			if err := c.entry(int(lines[0][k]), int(lines[1][k]), uint64(volumes[1][k]), uint64(volumes[0][k]), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare writes a file and checks it while it is written.
func compare(t *testing.T, format string, s *Sheet, f formula, q Quantity) {
	t.Helper()
	r, w := io.Pipe()
	var g errgroup.Group
	g.Go(func() error {
		err := find(format).Write(w, s, q)
		w.CloseWithError(err)
		return err
	})
	c := &check{formula: f, q: q, both: find(format).Quantities == nil, from: -1}
	err := readers[format](r, s.N, c)
	if err == nil {
		err = c.complete()
	}
	r.CloseWithError(errors.New("nobody reads on"))
	if err := errors.Join(err, g.Wait()); err != nil {
		t.Errorf("%s, %s of %s: %v", format, q, s.Class, err)
	}
}

// compareDense compares all cells of a dense file with the formula.
func compareDense(t *testing.T, format string, s *Sheet, f formula, q Quantity) {
	t.Helper()
	text := written(t, format, s, q)
	next := cellsOfMat(t, text, s.N)
	if format == "npy" {
		next = cellsOfNpy(t, text, s.N, q)
	}
	for from := range s.N {
		for to := range s.N {
			v := f.at(from, to)
			want := float64(v.Bytes)
			switch {
			case q == Msg:
				want = float64(v.Messages)
			case q == Avg && v.Messages == 0:
				want = 0
			case q == Avg && format == "mat":
				want = math.RoundToEven(float64(v.Bytes) / float64(v.Messages))
			case q == Avg:
				want = float64(v.Bytes) / float64(v.Messages)
			}
			if got := next(); got != want {
				t.Fatalf("%s, %s of %s: %d, %d is %g, the formula says %g", format, q, s.Class, from, to, got, want)
			}
		}
	}
}

func cellsOfMat(t *testing.T, text string, n int) func() float64 {
	in := &numbers{Reader: bufio.NewReader(strings.NewReader(text))}
	column := 0
	return func() float64 {
		v := in.next(' ')
		if column++; column == n {
			column = 0
			if b, err := in.ReadByte(); b != '\n' {
				t.Fatalf("a line ends with %q, %v", b, err)
			}
		}
		if in.err != nil {
			t.Fatal(in.err)
		}
		return float64(v)
	}
}

func cellsOfNpy(t *testing.T, text string, n int, q Quantity) func() float64 {
	at := strings.IndexByte(text, '\n') + 1
	if at%64 != 0 || len(text) != at+8*n*n || !strings.Contains(text[:at], fmt.Sprintf("'fortran_order': False, 'shape': (%d, %d)", n, n)) {
		t.Fatalf("%d bytes, head is %q", len(text), text[:at])
	}
	return func() float64 {
		bits := binary.LittleEndian.Uint64([]byte(text[at : at+8]))
		at += 8
		if q == Avg {
			return math.Float64frombits(bits)
		}
		return float64(bits)
	}
}

// TestFormulas compares four shapes of jobs at four sizes with their formula,
// in every format that has numbers. Bytes stay below 2^53.
func TestFormulas(t *testing.T) {
	t.Parallel()
	for _, shape := range synth.Shapes {
		for _, ranks := range []int{4, 64, 200, 1000} {
			t.Run(fmt.Sprintf("%s of %d", shape, ranks), func(t *testing.T) {
				t.Parallel()
				if ranks == 1000 {
					testenv.At(t, testenv.All)
				} else {
					testenv.At(t, testenv.Quick)
				}
				j, err := synth.Named(shape, ranks)
				testenv.NoError(t, err)
				sheets := sheetsOf(t, j)
				for class, f := range formulas(j) {
					f = f.table(ranks)
					for _, format := range Table {
						qs := format.Quantities
						if qs == nil {
							qs = []Quantity{Size}
						}
						for _, q := range qs {
							switch format.Kind {
							case Sparse:
								compare(t, format.Name, sheets[class], f, q)
							case Dense:
								compareDense(t, format.Name, sheets[class], f, q)
							}
						}
					}
				}
			})
		}
	}
}

// TestFormulasOf10000 checks the sparse formats at 10,000 ranks. Jobs with 10^8
// pairs are compared in the two text formats only, without storing the file.
// Alltoallv, with 10^8 different numbers, would take 2 GB; only smaller jobs
// test it.
func TestFormulasOf10000(t *testing.T) {
	t.Parallel()
	const ranks = 10_000
	for _, shape := range synth.Shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			j, err := synth.Named(shape, ranks)
			testenv.NoError(t, err)
			if shape == "alltoall" {
				testenv.At(t, testenv.All) // 10^8 cells
				j.Collectives = j.Collectives[:1]
			} else {
				testenv.At(t, testenv.Quick)
			}
			sheets, want := sheetsOf(t, j), formulas(j)
			if shape == "alltoall" {
				compare(t, "csv", sheets[matrix.All], want[matrix.All], Size)
				compare(t, "mtx", sheets[matrix.All], want[matrix.All], Size)
				return
			}
			for format := range readers {
				compare(t, format, sheets[matrix.External], want[matrix.External], Size)
				if shape == "random" {
					compare(t, format, sheets[matrix.All], want[matrix.All], Size)
				}
			}
		})
	}
}
