package arrowfile

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/mpitrace/mpitrace/formats/table"
)

// columns are the columns of a record batch. err is the first error: a column that is
// missing or has a type or a value that it cannot have.
type columns struct {
	arrow.Record
	absent map[string]string // Column.Absent, by name
	texts  map[string]*texts
	err    error
}

// texts are the texts of a column, in memory that outlives the batches.
type texts struct {
	of         arrow.ArrayData // dictionary
	dictionary []string
	known      map[string]string
}

func absentOf[C any](cols []table.Column[C]) map[string]string {
	out := map[string]string{}
	for _, c := range cols {
		out[c.Name] = c.Absent
	}
	return out
}

func (c *columns) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// has reports whether there is a column.
func (c *columns) has(name string) bool { return c.Schema().HasField(name) }

// column returns a column; nil if it is missing.
func (c *columns) column(name string) arrow.Array {
	absent, defined := c.absent[name]
	if !defined {
		panic("no table has a column " + name) // a mistake in this package
	}
	found := c.Schema().FieldIndices(name)
	switch {
	case len(found) == 1:
		return c.Column(found[0])
	case len(found) > 1:
		c.fail("%d columns are named %s", len(found), name)
	case absent == table.Required:
		c.fail("there is no column %s, which is needed", name)
	}
	return nil
}

// text returns the texts of a column by row; none if it is missing.
func (c *columns) text(name string) func(i int) (string, bool) {
	none := func(int) (string, bool) { return "", false }
	column := c.column(name)
	if column == nil {
		return none
	}
	all := c.texts[name]
	if all == nil {
		all = &texts{known: map[string]string{}}
		c.texts[name] = all
	}
	if codes, ok := column.(*array.Dictionary); ok {
		if _, null := codes.Dictionary().(*array.Null); null {
			return none
		}
		values, ok := codes.Dictionary().(interface {
			arrow.Array
			Value(int) string
		})
		if !ok {
			c.fail("column %s has type %s and not that of texts", name, column.DataType())
			return none
		}
		if all.of != values.Data() {
			all.of, all.dictionary = values.Data(), make([]string, values.Len())
			for i := range all.dictionary {
				all.dictionary[i] = all.keep(values.Value(i))
			}
		}
		return func(i int) (string, bool) {
			if codes.IsNull(i) {
				return "", false
			}
			return all.dictionary[codes.GetValueIndex(i)], true
		}
	}
	values, ok := column.(interface{ Value(int) string })
	if _, null := column.(*array.Null); null || !ok {
		if !null {
			c.fail("column %s has type %s and not that of texts", name, column.DataType())
		}
		return none
	}
	return func(i int) (string, bool) {
		if column.IsNull(i) {
			return "", false
		}
		return all.keep(values.Value(i)), true
	}
}

// keep returns a text that does not use the memory of a batch.
func (t *texts) keep(text string) string {
	known, ok := t.known[text]
	if !ok {
		known = strings.Clone(strings.ToValidUTF8(text, "\uFFFD"))
		t.known[known] = known
	}
	return known
}

// integers returns the integers of a column by row; none if it is missing. A value outside the
// limits is an error.
func (c *columns) integers(name string, least int64, most uint64) func(i int) (uint64, bool) {
	column := c.column(name)
	if column == nil {
		return func(int) (uint64, bool) { return 0, false }
	}
	return c.integersOf(name, column, least, most)
}

func (c *columns) integersOf(name string, column arrow.Array, least int64, most uint64) func(i int) (uint64, bool) {
	get := integerValues(column)
	if get == nil {
		c.fail("column %s has type %s and not that of numbers", name, column.DataType())
		return func(int) (uint64, bool) { return 0, false }
	}
	return func(i int) (uint64, bool) {
		if column.IsNull(i) {
			return 0, false
		}
		v, state := get(i)
		switch {
		case state == missing:
			return 0, false
		case state == fraction, state == negative && int64(v) < least, state == positive && v > most:
			c.fail("row %d: column %s cannot be %s", i, name, column.ValueStr(i))
			return 0, false
		}
		return v, true
	}
}

// state says whether a value is missing, a number, or invalid.
type state int

const (
	positive state = iota // or 0
	negative
	fraction // or too large
	missing  // NaN
)

// integerValues returns the values of a column of numbers by row; nil for other types.
func integerValues(column arrow.Array) func(i int) (uint64, state) {
	switch a := column.(type) {
	case *array.Int8:
		return signed(a.Value)
	case *array.Int16:
		return signed(a.Value)
	case *array.Int32:
		return signed(a.Value)
	case *array.Int64:
		return signed(a.Value)
	case *array.Uint8:
		return unsigned(a.Value)
	case *array.Uint16:
		return unsigned(a.Value)
	case *array.Uint32:
		return unsigned(a.Value)
	case *array.Uint64:
		return unsigned(a.Value)
	case *array.Float32:
		return func(i int) (uint64, state) { return whole(float64(a.Value(i))) }
	case *array.Float64:
		return func(i int) (uint64, state) { return whole(a.Value(i)) }
	case *array.Boolean:
		return func(i int) (uint64, state) {
			if a.Value(i) {
				return 1, positive
			}
			return 0, positive
		}
	case *array.Timestamp:
		unit := int64(a.DataType().(*arrow.TimestampType).Unit.Multiplier())
		return func(i int) (uint64, state) {
			v := int64(a.Value(i))
			if v > math.MaxInt64/unit || v < math.MinInt64/unit {
				return 0, fraction
			}
			return signed(func(int) int64 { return v * unit })(i)
		}
	case *array.Null:
		return func(int) (uint64, state) { return 0, missing }
	}
	return nil
}

func signed[V int8 | int16 | int32 | int64](value func(int) V) func(i int) (uint64, state) {
	return func(i int) (uint64, state) {
		v := value(i)
		if v < 0 {
			return uint64(int64(v)), negative
		}
		return uint64(v), positive
	}
}

func unsigned[V uint8 | uint16 | uint32 | uint64](value func(int) V) func(i int) (uint64, state) {
	return func(i int) (uint64, state) { return uint64(value(i)), positive }
}

// whole returns a double that is an integer. pandas makes doubles of integers with nulls.
func whole(v float64) (uint64, state) {
	switch {
	case v != v:
		return 0, missing
	case v != math.Trunc(v) || v < -1<<63 || v >= 1<<64:
		return 0, fraction
	case v < 0:
		return uint64(int64(v)), negative
	}
	return uint64(v), positive
}

// doubles returns the doubles of a column by row; none if it is missing.
func (c *columns) doubles(name string) func(i int) (float64, bool) {
	column := c.column(name)
	if column == nil {
		return func(int) (float64, bool) { return 0, false }
	}
	if a, ok := column.(*array.Float64); ok {
		return func(i int) (float64, bool) { return a.Value(i), a.IsValid(i) && a.Value(i) == a.Value(i) }
	}
	get := c.integersOf(name, column, math.MinInt64, math.MaxUint64)
	return func(i int) (float64, bool) {
		v, ok := get(i)
		return float64(v), ok
	}
}

// number returns a column of int32 by row; 0 for null.
func (c *columns) number(name string) func(i int) int32 {
	get := c.integers(name, math.MinInt32, math.MaxInt32)
	return func(i int) int32 {
		v, _ := get(i)
		return int32(v)
	}
}

// count returns a column of unsigned integers by row; 0 for null.
func (c *columns) count(name string) func(i int) uint64 {
	get := c.integers(name, 0, math.MaxUint64)
	return func(i int) uint64 {
		v, _ := get(i)
		return v
	}
}

// word is text without nulls.
func (c *columns) word(name string) func(i int) string {
	get := c.text(name)
	return func(i int) string {
		v, _ := get(i)
		return v
	}
}

// lists returns the lists of ranks of a column by row.
func (c *columns) lists(name string) func(i int) []int32 {
	column := c.column(name)
	if column == nil {
		return func(int) []int32 { return nil }
	}
	list, ok := column.(array.ListLike)
	if !ok {
		c.fail("column %s has type %s and not that of lists", name, column.DataType())
		return func(int) []int32 { return nil }
	}
	get := c.integersOf(name, list.ListValues(), math.MinInt32, math.MaxInt32)
	return func(i int) []int32 {
		if list.IsNull(i) {
			return nil
		}
		start, end := list.ValueOffsets(i)
		if start < 0 || end < start || end > int64(list.ListValues().Len()) {
			c.fail("damaged: row %d: column %s has a list from %d to %d", i, name, start, end)
			return nil
		}
		out := make([]int32, end-start)
		for k := range out {
			v, _ := get(int(start) + k)
			out[k] = int32(v)
		}
		return out
	}
}
