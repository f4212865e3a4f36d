package parquetfile

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

var packed, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))

// write writes a file of one column, with a row group for each chunk.
func write(t *testing.T, node schema.Node, rows int, chunks ...*Chunk) *file.Reader {
	t.Helper()
	var out bytes.Buffer
	root := schema.MustGroup(schema.NewGroupNode("table", parquet.Repetitions.Required, schema.FieldList{node}, -1))
	w := NewWriter(&out, root, Options{CreatedBy: "test", Metadata: map[string]string{"key": "value"}, SortedBy: []int{0}, Packer: packed})
	for _, c := range chunks {
		testenv.NoError(t, w.WriteGroup(rows, []*Chunk{c}))
	}
	testenv.NoError(t, w.Close())
	if w.Size() != int64(out.Len()) {
		t.Errorf("size %d of %d bytes", w.Size(), out.Len())
	}
	in, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	testenv.NoError(t, err)
	return in
}

// read reads a column of a row group with the Arrow library: its values and its
// definition and repetition levels.
func read[V any](t *testing.T, in *file.Reader, group int) (values []V, definition, repetition []int16) {
	t.Helper()
	chunk, err := in.RowGroup(group).Column(0)
	testenv.NoError(t, err)
	typed := chunk.(interface {
		ReadBatch(n int64, values []V, defLevels, repLevels []int16) (total int64, valuesRead int, err error)
	})
	for chunk.HasNext() {
		const n = 1000
		some, d, r := make([]V, n), make([]int16, n), make([]int16, n)
		total, got, err := typed.ReadBatch(n, some, d, r)
		if err != nil || total == 0 {
			t.Fatalf("%d levels, %v", total, err)
		}
		values, definition, repetition = append(values, some[:got]...), append(definition, d[:total]...), append(repetition, r[:total]...)
	}
	return values, definition, repetition
}

func stats(t *testing.T, in *file.Reader) metadata.EncodedStatistics {
	t.Helper()
	chunk, err := in.RowGroup(0).MetaData().ColumnChunk(0)
	testenv.NoError(t, err)
	s, err := chunk.Statistics()
	if err != nil || s == nil {
		t.Fatalf("no statistics: %v", err)
	}
	encoded, err := s.Encode()
	testenv.NoError(t, err)
	return encoded
}

// checkIntegers writes numbers with a dictionary if possible, and without, and
// reads them again.
func checkIntegers[V int32 | int64](t *testing.T, name string, node schema.Node, values []V) {
	t.Helper()
	for _, alike := range []bool{true, false} {
		c := new(Chunk)
		c.Reset()
		SetIntegers(c, values, Signed, alike)
		in := write(t, node, len(values), c)
		if got, _, _ := read[V](t, in, 0); !slices.Equal(got, values) {
			t.Errorf("%s, alike %v: read other values than written", name, alike)
		}
		if s := stats(t, in); !bytes.Equal(s.Min, appendPlain(nil, []V{slices.Min(values)})) || !bytes.Equal(s.Max, appendPlain(nil, []V{slices.Max(values)})) {
			t.Errorf("%s, alike %v: statistics %+v", name, alike, s)
		}
	}
}

func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := range 65 {
		for _, n := range []int{1, 2, 7, 8, 9, 32, 33, 129, 4321} {
			long, short := make([]int64, n), make([]int32, n)
			for i := range n {
				long[i] = int64(r.Uint64() & (1<<width - 1))
				short[i] = int32(long[i])
				if i > 0 && r.IntN(3) == 0 { // runs
					long[i], short[i] = long[i-1], short[i-1]
				}
			}
			checkIntegers(t, "random", schema.NewInt64Node("c", parquet.Repetitions.Required, -1), long)
			checkIntegers(t, "random", schema.NewInt32Node("c", parquet.Repetitions.Required, -1), short)
		}
	}
	extremes := []int64{math.MinInt64, math.MaxInt64, 0, math.MaxInt64, -1, math.MinInt64, math.MinInt64}
	checkIntegers(t, "extremes", schema.NewInt64Node("c", parquet.Repetitions.Required, -1), extremes)
	checkIntegers(t, "extremes", schema.NewInt32Node("c", parquet.Repetitions.Required, -1), []int32{math.MinInt32, math.MaxInt32, 0, math.MinInt32, -1})
}

// TestManyDifferent has a number of different values that just fits into a
// dictionary, and one more.
func TestManyDifferent(t *testing.T) {
	for _, n := range []int{lookupLimit, lookupLimit + 1} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(i) * 1_000_003
		}
		checkIntegers(t, "different", schema.NewInt64Node("c", parquet.Repetitions.Required, -1), values)
	}
}

func TestNulls(t *testing.T) {
	node := schema.NewInt32Node("c", parquet.Repetitions.Optional, -1)
	for _, present := range [][]uint8{{1, 0, 1}, {0, 0, 0}, {1, 1, 1}, slices.Repeat([]uint8{0, 0, 1, 0, 1, 1, 0, 0, 0}, 50)} {
		var values []int32
		var levels []int16
		for i, p := range present {
			levels = append(levels, int16(p))
			if p == 1 {
				values = append(values, int32(i))
			}
		}
		c := new(Chunk)
		c.Reset()
		c.SetNulls(present)
		SetIntegers(c, values, Signed, true)
		in := write(t, node, len(present), c)
		got, definition, _ := read[int32](t, in, 0)
		if !slices.Equal(got, values) || !slices.Equal(definition, levels) {
			t.Errorf("present %v: values %v, levels %v", present, got, definition)
		}
		if s := stats(t, in); s.NullCount != int64(len(present)-len(values)) {
			t.Errorf("present %v: %d nulls", present, s.NullCount)
		}
	}
}

func TestLists(t *testing.T) {
	item := schema.NewInt32Node("element", parquet.Repetitions.Required, -1)
	node, err := schema.ListOfWithName("c", item, parquet.Repetitions.Required, -1)
	testenv.NoError(t, err)
	c := new(Chunk)
	c.Reset()
	c.SetLists([]int{2, 0, 1, 3})
	SetIntegers(c, []int32{5, 6, 7, 8, 9, 10}, Signed, false)
	values, definition, repetition := read[int32](t, write(t, node, 4, c), 0)
	if !slices.Equal(values, []int32{5, 6, 7, 8, 9, 10}) || !slices.Equal(definition, []int16{1, 1, 0, 1, 1, 1, 1}) || !slices.Equal(repetition, []int16{0, 1, 0, 0, 0, 1, 1}) {
		t.Errorf("values %v, definition levels %v, repetition levels %v", values, definition, repetition)
	}
}

func TestBools(t *testing.T) {
	flags := []uint8{1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1}
	c := new(Chunk)
	c.Reset()
	c.SetBools(flags)
	got, _, _ := read[bool](t, write(t, schema.NewBooleanNode("c", parquet.Repetitions.Required, -1), len(flags), c), 0)
	for i, f := range flags {
		if got[i] != (f == 1) {
			t.Errorf("row %d is %v", i, got[i])
		}
	}
}

// The order of unsigned numbers and of doubles is not that of their bits.
func TestOrders(t *testing.T) {
	c := new(Chunk)
	c.Reset()
	SetIntegers(c, []int32{-1, 1, 7}, Unsigned, true)
	unsigned := schema.MustPrimitive(schema.NewPrimitiveNodeLogical("c", parquet.Repetitions.Required, schema.NewIntLogicalType(32, false), parquet.Types.Int32, 0, -1))
	in := write(t, unsigned, 3, c)
	if s := stats(t, in); little.Uint32(s.Min) != 1 || little.Uint32(s.Max) != math.MaxUint32 {
		t.Errorf("unsigned: %+v", s)
	}
	// The older fields are for signed orders only.
	if s := in.MetaData().RowGroups[0].Columns[0].MetaData.Statistics; s.Min != nil || s.Max != nil {
		t.Errorf("unsigned numbers have the statistics of signed ones: %v", s)
	}
	double := schema.NewFloat64Node("c", parquet.Repetitions.Required, -1)
	bits := func(values ...float64) (out []int64) {
		for _, v := range values {
			out = append(out, int64(math.Float64bits(v)))
		}
		return out
	}
	for _, alike := range []bool{true, false} {
		c.Reset()
		SetIntegers(c, bits(-2.5, -1, 3), Doubles, alike)
		in := write(t, double, 3, c)
		if got, _, _ := read[float64](t, in, 0); !slices.Equal(got, []float64{-2.5, -1, 3}) {
			t.Errorf("doubles: %v", got)
		}
		if s := stats(t, in); math.Float64frombits(little.Uint64(s.Min)) != -2.5 || math.Float64frombits(little.Uint64(s.Max)) != 3 {
			t.Errorf("doubles: %+v", s)
		}
	}
}

func TestTexts(t *testing.T) {
	text := func(s string) string { return string(append(little.AppendUint32(nil, uint32(len(s))), s...)) }
	words := []string{text("b"), text(""), text("äh")}
	codes := []uint32{2, 0, 0, 1, 2}
	coded, plain := new(Chunk), new(Chunk)
	coded.Reset()
	coded.SetCodes(codes, words)
	coded.SetTextRange("", "äh")
	plain.Reset()
	plain.SetTexts(len(codes), []byte(words[2]+words[0]+words[0]+words[1]+words[2]))
	in := write(t, schema.MustPrimitive(schema.NewPrimitiveNodeLogical("c", parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)), len(codes), coded, plain)
	for group := range 2 {
		got, _, _ := read[parquet.ByteArray](t, in, group)
		for i, want := range []string{"äh", "b", "b", "", "äh"} {
			if string(got[i]) != want {
				t.Errorf("group %d: row %d is %q", group, i, got[i])
			}
		}
	}
	if s := stats(t, in); string(s.Min) != "" || string(s.Max) != "äh" {
		t.Errorf("statistics %+v", s)
	}
	if by := in.MetaData().RowGroups[1].SortingColumns; len(by) != 1 || by[0].ColumnIdx != 0 || by[0].Descending {
		t.Errorf("sorted by %v", by)
	}
	if v := in.MetaData().KeyValueMetadata().FindValue("key"); v == nil || *v != "value" {
		t.Errorf("metadata %v", v)
	}
}

func TestDiskFull(t *testing.T) {
	root := schema.MustGroup(schema.NewGroupNode("table", parquet.Repetitions.Required, schema.FieldList{schema.NewInt32Node("c", parquet.Repetitions.Required, -1)}, -1))
	for room := range 100 {
		w := NewWriter(&testenv.FullWriter{Room: room}, root, Options{Packer: packed})
		c := new(Chunk)
		c.Reset()
		SetIntegers(c, []int32{1, 2, 3}, Signed, false)
		if err := errors.Join(w.WriteGroup(3, []*Chunk{c}), w.Close()); !errors.Is(err, testenv.ErrFull) {
			t.Errorf("room for %d bytes: error %v", room, err)
		}
	}
}
