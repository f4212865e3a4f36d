package table

import (
	"fmt"
	"io"
	"iter"

	"github.com/mpitrace/mpitrace/profile"
)

// WritePvars writes one row for each value that was read of a performance
// variable. Processes are in the order of the source, readings in order of
// time. A text is one value. It iterates over the source twice.
func WritePvars(w io.Writer, src profile.Source) error { return writeTables(src, newPvarTable(w)) }

// pvarTable writes pvars.arrow.
type pvarTable struct {
	rowTable[pvarValue]
	began map[string]int64 // earliest start of a process, by job; Unix ns
}

// pvarValue is one element of a reading; a text is one element.
type pvarValue struct {
	*profile.Reading
	pvar   *profile.Pvar
	of     *profile.Profile
	object string
	slice  string
	start  int64 // of the job, Unix ns
	index  int
}

func newPvarTable(w io.Writer) *pvarTable {
	t := &pvarTable{began: map[string]int64{}}
	t.rowTable = rowTable[pvarValue]{arrowTable: newArrowTable(w, tablePvars, PvarColumns), rows: t.values}
	return t
}

// note adds the descriptions of the variables to the schema's metadata, since
// they are the same in all rows.
func (t *pvarTable) note(p *profile.Profile) error {
	if known, ok := t.began[p.Run]; p.Start != 0 && (!ok || p.Start < known) {
		t.began[p.Run] = p.Start
	}
	for _, v := range p.Pvars {
		about := t.arrow.metadata
		if known, ok := about[keyPvar+v.Name]; !ok || v.Description < known {
			about[keyPvar+v.Name] = valid(v.Description)
		}
	}
	return t.rowTable.note(p)
}

// values returns the values that a process read.
func (t *pvarTable) values(p *profile.Profile) iter.Seq[pvarValue] {
	return func(yield func(pvarValue) bool) {
		if len(p.Readings) == 0 {
			return
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
				n = 1
			}
			for v.index = range n {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// number returns the value if the variable is of type t.
func (v pvarValue) number(t profile.PvarType) (uint64, bool) {
	if v.pvar.Type != t {
		return 0, false
	}
	return v.Values[v.index], true
}

func (v pvarValue) double() (float64, bool) {
	if v.pvar.Type == profile.PvarText {
		return 0, false
	}
	return v.pvar.Type.Number(v.Values[v.index]), true
}

// PvarColumns are the columns of pvars.arrow, in order.
var PvarColumns = []Column[pvarValue]{
	Words("run", "the MPI job, as its launcher names it", func(v pvarValue) string { return v.of.Run }),
	Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the process that read; -1 where it ended before that was known",
		func(v pvarValue) int32 { return int32(v.of.Rank) }),
	Times("at", "when the variable was read", func(v pvarValue) int64 { return v.At }),
	OptionalNumbers("time_ns", "ns", "the same, from entering MPI_Init in the first process of the job (the least start in ranks.arrow); null where that is not known",
		func(v pvarValue) (uint64, bool) { return span(v.start, v.At) }),
	Words("slice", "part of the run in which it was read; the one that ends where moment is slice", func(v pvarValue) string { return v.slice }),
	Words("moment", "why it was read: init (MPI_Init returns), slice (one ends), interval (--pvar-interval has passed), bind (its object has come), free (its object goes), finalize",
		func(v pvarValue) string { return v.Moment.String() }),
	Words("name", "the performance variable, as the MPI names it", func(v pvarValue) string { return v.pvar.Name }),
	Words("class", "what its values are: state, level, size, percentage, high-watermark, low-watermark, counter, aggregate, timer, generic, as MPI_T defines them",
		func(v pvarValue) string { return v.pvar.Class.String() }),
	Words("binding", "the kind of object that the variable is of: none, communicator, window", func(v pvarValue) string { return v.pvar.Bound.String() }),
	OptionalWords("object", "the communicator, or that of the window's group, as column comm of comms.arrow has it; null where the variable is of none, or it is not known",
		func(v pvarValue) (string, bool) { return v.object, v.object != "" }),
	Numbers("handle", "index", "which variable and object of the process, in the order of binding: counters begin anew with each, also of one communicator that was made again",
		func(v pvarValue) int32 { return int32(v.Handle) }),
	Numbers("index", "index", "which element of the variable, from 0; 0 of a text", func(v pvarValue) int32 { return int32(v.index) }),
	OptionalDoubles("value", "as the variable has it", "the value as a double, exact to 2^53; null of a text", pvarValue.double),
	OptionalNumbers("value_u64", "as the variable has it", "the exact value of an unsigned variable; null of others",
		func(v pvarValue) (uint64, bool) { return v.number(profile.PvarUnsigned) }),
	OptionalNumbers("value_i64", "as the variable has it", "the exact value of a signed variable; null of others",
		func(v pvarValue) (int64, bool) {
			n, ok := v.number(profile.PvarSigned)
			return int64(n), ok
		}),
	OptionalWords("text", "the value of a variable that is a text, else null",
		func(v pvarValue) (string, bool) {
			if v.pvar.Type != profile.PvarText {
				return "", false
			}
			return v.Reading.Text(), true
		}),
}
