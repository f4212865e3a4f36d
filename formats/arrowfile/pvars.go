package arrowfile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/profile"
)

// WritePvars writes one row for each value that was read of a performance
// variable: processes in the order of the source, readings in that of time. A
// text is one value. It goes over the source twice.
func WritePvars(w io.Writer, src profile.Source) error { return writeTables(src, newPvarTable(w)) }

// pvarTable is pvars.arrow.
type pvarTable struct {
	*writer[*pvarValue]
	began map[string]int64  // of each job: the first process's, in Unix ns
	about map[string]string // what variables are, by keyPvar and their names
}

// pvarValue is an element of a reading, or a text.
type pvarValue struct {
	*profile.Reading
	pvar                *profile.Pvar
	of                  *profile.Profile
	slice, object, text string
	start               int64 // of the job
	index               int
}

func newPvarTable(w io.Writer) *pvarTable {
	return &pvarTable{writer: newWriter(w, tablePvars, pvarColumns()), began: map[string]int64{}, about: map[string]string{}}
}

func (t *pvarTable) note(p *profile.Profile) {
	t.with.Note(p)
	if known, ok := t.began[p.Run]; p.Start != 0 && (!ok || p.Start < known) {
		t.began[p.Run] = p.Start
	}
	for _, v := range p.Pvars {
		if known, ok := t.about[keyPvar+v.Name]; !ok || v.Description < known {
			t.about[keyPvar+v.Name] = strings.ToValidUTF8(v.Description, "\uFFFD")
		}
	}
	_ = t.each(p, func(v *pvarValue) error { t.writer.note(v); return nil })
}

// start puts what the MPI says of its variables into the schema's metadata: it is
// the same in all rows.
func (t *pvarTable) start() error {
	old := t.schema.Metadata()
	keys := slices.Sorted(maps.Keys(t.about))
	descriptions := make([]string, len(keys))
	for i, key := range keys {
		descriptions[i] = t.about[key]
	}
	md := arrow.NewMetadata(slices.Concat(old.Keys(), keys), slices.Concat(old.Values(), descriptions))
	t.schema = arrow.NewSchema(t.schema.Fields(), &md)
	return t.writer.start()
}

func (t *pvarTable) add(p *profile.Profile) error { return t.each(p, t.writer.add) }

func (t *pvarTable) close() error { return t.writer.close(new(facts.Header)) }

// each gives the values of a process, each only until the next.
func (t *pvarTable) each(p *profile.Profile, f func(*pvarValue) error) error {
	if len(p.Readings) == 0 {
		return nil
	}
	names, objects := map[uint32]string{}, make([]string, len(p.PvarHandles))
	for _, s := range p.Slices {
		names[s.Index] = s.Name
	}
	for i, h := range p.PvarHandles {
		if h.Comm >= 0 && int(h.Comm) < len(p.Comms) {
			objects[i] = p.Comms[h.Comm].Label()
		}
	}
	v := pvarValue{of: p, start: t.began[p.Run]}
	for i := range p.Readings {
		r := &p.Readings[i]
		v.Reading, v.pvar, v.object = r, &p.Pvars[p.PvarHandles[r.Handle].Pvar], objects[r.Handle]
		if name, ok := names[r.Slice]; ok {
			v.slice = name
		} else {
			v.slice = fmt.Sprintf("slice %d", r.Slice)
		}
		n := len(r.Values)
		if v.pvar.Type == profile.PvarText {
			v.text, n = r.Text(), 1
		}
		for v.index = range n {
			if err := f(&v); err != nil {
				return err
			}
		}
	}
	return nil
}

// number is the value of a variable of this type.
func (v *pvarValue) number(t profile.PvarType) (uint64, bool) {
	if v.pvar.Type != t {
		return 0, false
	}
	return v.Values[v.index], true
}

func (v *pvarValue) double() (float64, bool) {
	if v.pvar.Type == profile.PvarText {
		return 0, false
	}
	return v.pvar.Type.Number(v.Values[v.index]), true
}

// pvarColumns are the columns of pvars.arrow, in order.
func pvarColumns() []column[*pvarValue] {
	type row = *pvarValue
	return []column[row]{
		textColumn("run", "the MPI job, as its launcher names it", func(v row) string { return v.of.Run }),
		int32Column("rank", "world rank", "rank in MPI_COMM_WORLD of the process that read; -1 where it ended before that was known",
			func(v row) int32 { return int32(v.of.Rank) }),
		timeColumn("at", "when the variable was read", func(v row) int64 { return v.At }),
		optionalUint64("time_ns", "ns", "the same, from entering MPI_Init in the first process of the job (the least start in ranks.arrow); null where that is not known",
			func(v row) (uint64, bool) { return span(v.start, v.At) }),
		textColumn("slice", "part of the run in which it was read; the one that ends where moment is slice", func(v row) string { return v.slice }),
		textColumn("moment", "why it was read: init (MPI_Init returns), slice (one ends), interval (--pvar-interval has passed), bind (its object has come), free (its object goes), finalize",
			func(v row) string { return v.Moment.String() }),
		textColumn("name", "the performance variable, as the MPI names it", func(v row) string { return v.pvar.Name }),
		textColumn("class", "what its values are: state, level, size, percentage, high-watermark, low-watermark, counter, aggregate, timer, generic, as MPI_T defines them",
			func(v row) string { return v.pvar.Class.String() }),
		textColumn("binding", "the kind of object that the variable is of: none, communicator, window", func(v row) string { return v.pvar.Bound.String() }),
		optionalText("object", "the communicator, or that of the window's group, as column comm of comms.arrow has it; null where the variable is of none, or it is not known", true,
			func(v row) (string, bool) { return v.object, v.object != "" }),
		int32Column("handle", "index", "which variable and object of the process, in the order of binding: counters begin anew with each, also of one communicator that was made again",
			func(v row) int32 { return int32(v.Handle) }),
		int32Column("index", "index", "which element of the variable, from 0; 0 of a text", func(v row) int32 { return int32(v.index) }),
		values(array.NewFloat64Builder(memory.DefaultAllocator),
			about("value", arrow.PrimitiveTypes.Float64, true, "as the variable has it", "the value as a double, exact to 2^53; null of a text"), row.double),
		values(array.NewUint64Builder(memory.DefaultAllocator),
			about("value_u64", arrow.PrimitiveTypes.Uint64, true, "as the variable has it", "the exact value of an unsigned variable; null of others"),
			func(v row) (uint64, bool) { return v.number(profile.PvarUnsigned) }),
		values(array.NewInt64Builder(memory.DefaultAllocator),
			about("value_i64", arrow.PrimitiveTypes.Int64, true, "as the variable has it", "the exact value of a signed variable; null of others"),
			func(v row) (int64, bool) {
				n, ok := v.number(profile.PvarSigned)
				return int64(n), ok
			}),
		optionalText("text", "the value of a variable that is a text, else null", true,
			func(v row) (string, bool) { return v.text, v.pvar.Type == profile.PvarText }),
	}
}
