package table

import (
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/mpitrace/mpitrace/profile"
)

// decoder converts record batches to rows.
type decoder struct{ dictionaries map[string]words }

// words holds the texts of a dictionary, which the batches of a file share.
type words struct {
	of    arrow.ArrayData
	texts []string
}

// rows appends the rows of a batch. It sets only the fields that have a column;
// the header holds the others.
func (d *decoder) rows(batch arrow.Record, rows []profile.Row) ([]profile.Row, error) {
	b := columnsOf{batch: batch, decoder: d}
	thread := numbersOf[int32](&b, "thread")
	call, class, direction := b.text("call"), b.text("class"), b.text("direction")
	sizeClass := numbersOf[uint8](&b, "size_class")
	calls, messages, bytes := numbersOf[uint64](&b, "calls"), numbersOf[uint64](&b, "messages"), numbersOf[uint64](&b, "bytes")
	timeNs, minNs, maxNs := numbersOf[uint64](&b, "time_ns"), numbersOf[uint64](&b, "min_ns"), numbersOf[uint64](&b, "max_ns")
	timeErrorNs := func(int) uint64 { return 0 }
	if b.has("time_error_ns") {
		timeErrorNs = numbersOf[uint64](&b, "time_error_ns")
	}
	if b.err != nil {
		return nil, b.err
	}
	for i := range int(batch.NumRows()) {
		c, d, err := parseKey(class(i), direction(i))
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		if sizeClass(i) >= profile.NumSizeClasses {
			return nil, fmt.Errorf("row %d: there is no size class %d", i, sizeClass(i))
		}
		rows = append(rows, profile.Row{Thread: thread(i), Call: call(i), Class: c, Direction: d,
			SizeClass: sizeClass(i), Calls: calls(i), Messages: messages(i), Bytes: bytes(i),
			TimeNs: timeNs(i), TimeErrorNs: timeErrorNs(i), MinNs: minNs(i), MaxNs: maxNs(i)})
	}
	return rows, nil
}

// columnsOf finds columns by name. err is the error for the first column that
// is missing or has another type.
type columnsOf struct {
	batch   arrow.Record
	decoder *decoder
	err     error
}

func (b *columnsOf) named(name string) arrow.Array {
	found := b.batch.Schema().FieldIndices(name)
	if len(found) != 1 {
		b.fail(fmt.Errorf("%d columns %s", len(found), name))
		return nil
	}
	return b.batch.Column(found[0])
}

// has reports whether the batch has a column, which older files may lack.
func (b *columnsOf) has(name string) bool { return b.batch.Schema().HasField(name) }

func (b *columnsOf) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// numbersOf returns the values of a column of numbers, by row; null is 0.
func numbersOf[V any](b *columnsOf, name string) func(i int) V {
	values, ok := b.named(name).(interface {
		arrow.Array
		Value(int) V
	})
	if !ok {
		b.fail(fmt.Errorf("column %s has an unexpected type", name))
		return nil
	}
	return func(i int) V {
		if values.IsNull(i) {
			return *new(V)
		}
		return values.Value(i)
	}
}

// text returns the values of a column of strings, by row; null is empty.
func (b *columnsOf) text(name string) func(i int) string {
	codes, ok := b.named(name).(*array.Dictionary)
	if !ok {
		b.fail(fmt.Errorf("column %s is not a dictionary", name))
		return nil
	}
	texts, err := b.decoder.words(name, codes.Dictionary())
	if err != nil {
		b.fail(err)
		return nil
	}
	return func(i int) string {
		if codes.IsNull(i) {
			return ""
		}
		return texts[codes.GetValueIndex(i)]
	}
}

func (d *decoder) words(column string, dictionary arrow.Array) ([]string, error) {
	if known := d.dictionaries[column]; known.of == dictionary.Data() {
		return known.texts, nil
	}
	values, ok := dictionary.(*array.String)
	if !ok {
		return nil, fmt.Errorf("column %s is not of strings", column)
	}
	texts := make([]string, values.Len())
	for i := range texts {
		texts[i] = strings.Clone(values.Value(i)) // the batch owns the memory
	}
	if d.dictionaries == nil {
		d.dictionaries = map[string]words{}
	}
	d.dictionaries[column] = words{dictionary.Data(), texts}
	return texts, nil
}
