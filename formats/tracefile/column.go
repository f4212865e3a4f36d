package tracefile

import (
	"errors"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// column collects the values of a column for a batch, in the form in which the
// file stores them.
type column interface {
	field() arrow.Field
	learn(EventRow) error // called for each kind, in order, before its first event
	add(*profile.Events)  // appends the values of these events
	// take returns the values and the validity bitmap, which is nil if there
	// are no nulls, and empties the column. Both are valid until the next add.
	take() (valid, values []byte, nulls int)
	// sample returns an array of one value, with the column's dictionary if it
	// has one.
	sample() arrow.Array
}

// value is a type that a column can have. In columns with nulls, the value null
// stands for a null.
type value interface {
	int8 | int32 | uint32 | int64 | uint64
}

const null = -1

// values holds the values of a batch.
type values[V value] struct {
	of    *table.Column[EventRow]
	all   []V
	valid []byte
}

func (v *values[V]) field() arrow.Field { return v.of.Field() }

func (v *values[V]) take() (valid, raw []byte, nulls int) {
	if v.of.Null {
		nulls = v.mark()
	}
	raw = arrow.GetBytes(v.all)
	v.all = v.all[:0]
	if nulls == 0 {
		return nil, raw, 0
	}
	return v.valid, raw, nulls
}

// mark sets the validity bits of the values, and returns the number of nulls.
func (v *values[V]) mark() (nulls int) {
	v.valid = append(v.valid[:0], make([]byte, (len(v.all)+7)/8)...)
	absent := V(0)
	absent--
	for i, x := range v.all {
		if x == absent {
			nulls++
		} else {
			v.valid[i/8] |= 1 << (i % 8)
		}
	}
	return nulls
}

func (v *values[V]) sample() arrow.Array {
	return array.MakeFromData(sampleOf[V](v.field().Type))
}

func sampleOf[V value](typ arrow.DataType) *array.Data {
	raw := memory.NewBufferBytes(arrow.GetBytes(make([]V, 1)))
	return array.NewData(typ, 1, []*memory.Buffer{nil, raw}, nil, 0, 0)
}

// eventValues is a column with a separate value for each event.
type eventValues[V value] struct {
	values[V]
	get func(*profile.Events) []V
}

func (c *eventValues[V]) learn(EventRow) error  { return nil }
func (c *eventValues[V]) add(e *profile.Events) { c.all = append(c.all, c.get(e)...) }

// kindValues is a column with one value for all events of a kind.
type kindValues[V value] struct {
	values[V]
	kind []V
}

func (c *kindValues[V]) learn(e EventRow) error {
	v, ok := c.of.Number(e)
	if !ok {
		v = ^uint64(0) // null
	}
	c.kind = append(c.kind, V(v))
	return nil
}

func (c *kindValues[V]) add(e *profile.Events) {
	n := len(c.all)
	c.all = append(c.all, make([]V, e.Len())...)
	to, kind := c.all[n:], c.kind
	for i, k := range e.Kind[:len(to)] {
		to[i] = kind[k]
	}
}

// wordColumn is a column of few distinct texts, with one text for each kind.
type wordColumn[V int8 | int32] struct {
	kindValues[V]
	codes map[string]V
	dict  *array.StringBuilder
}

func newWords[V int8 | int32](c *table.Column[EventRow]) column {
	return &wordColumn[V]{kindValues: kindValues[V]{values: values[V]{of: c}},
		codes: map[string]V{}, dict: array.NewStringBuilder(memory.DefaultAllocator)}
}

// errWords is the error for a column with more distinct texts than its index
// type allows. This can only occur in a column of 8-bit indices, whose texts
// are constants of mpitrace.
var errWords = errors.New("too many different texts in one column")

func (c *wordColumn[V]) learn(e EventRow) error {
	word, ok := c.of.Text(e)
	if !ok {
		c.kind = append(c.kind, null)
		return nil
	}
	word = strings.ToValidUTF8(word, "\uFFFD") // paths may contain other bytes, for which readers would reject the table
	code, known := c.codes[word]
	if !known {
		code = V(len(c.codes))
		if int(code) != len(c.codes) {
			return errWords
		}
		c.codes[word] = code
		c.dict.Append(word)
	}
	c.kind = append(c.kind, code)
	return nil
}

// take replaces the indices of nulls by 0. Some readers look up the index of a
// null too, and it must be within the dictionary.
func (c *wordColumn[V]) take() (valid, raw []byte, nulls int) {
	all := c.all
	valid, raw, nulls = c.values.take()
	if nulls > 0 {
		for i, code := range all {
			all[i] = max(code, 0)
		}
	}
	return valid, raw, nulls
}

func (c *wordColumn[V]) sample() arrow.Array {
	dict := c.dict.NewArray()
	return array.NewDictionaryArray(c.field().Type, array.MakeFromData(sampleOf[V](arrow.GetDataType[V]())), dict)
}
