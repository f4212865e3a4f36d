package table

import (
	"iter"
	"maps"

	"github.com/mpitrace/mpitrace/profile"
)

// pvarTable writes pvars.arrow.
type pvarTable struct {
	out      Encoder[pvarValue]
	starts   map[string]int64  // when the first process of each job began, Unix ns
	about    map[string]string // metadata: the descriptions of the variables
	settings Settings
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

// Add writes what a process read. Descriptions of variables are metadata, since
// they are the same in all rows.
func (t *pvarTable) Add(p *profile.Profile) error {
	t.settings.Note(p)
	for _, v := range p.Pvars {
		if known, ok := t.about[KeyPvar+v.Name]; !ok || v.Description < known {
			t.about[KeyPvar+v.Name] = valid(v.Description)
		}
	}
	return t.out.Add(t.values(p))
}

// Close ends the table.
func (t *pvarTable) Close() error {
	maps.Copy(t.about, t.settings.Metadata())
	return t.out.Close(t.about)
}

// values returns the values that a process read.
func (t *pvarTable) values(p *profile.Profile) iter.Seq[pvarValue] {
	return func(yield func(pvarValue) bool) {
		if len(p.Readings) == 0 {
			return
		}
		named, objects := newProcess(p), make([]string, len(p.PvarHandles))
		for i, h := range p.PvarHandles {
			if h.Comm >= 0 && int(h.Comm) < len(p.Comms) {
				objects[i] = named.comms[h.Comm]
			}
		}
		v := pvarValue{of: p, start: t.starts[p.Run]}
		for i := range p.Readings {
			r := &p.Readings[i]
			v.Reading, v.pvar, v.object = r, &p.Pvars[p.PvarHandles[r.Handle].Pvar], objects[r.Handle]
			v.slice = named.sliceName(r.Slice)
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
	Run(func(v pvarValue) string { return v.of.Run }),
	Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the process that read the variable; -1 if the process ended before its rank was known",
		func(v pvarValue) int32 { return int32(v.of.Rank) }),
	Times("at", "time of the reading", func(v pvarValue) int64 { return v.At }),
	OptionalNumbers("time_ns", "ns", "time of the reading after the start of MPI_Init in the first process of the job (the smallest start in ranks.arrow); null if not known",
		func(v pvarValue) (uint64, bool) { return span(v.start, v.At) }),
	Words("slice", "part of the run in which the variable was read; if moment is slice, the part that ended", func(v pvarValue) string { return v.slice }),
	Words("moment", "reason for the reading: init (MPI_Init returned), slice (a slice ended), interval (--pvar-interval passed), bind (its object was created), free (its object is freed), finalize",
		func(v pvarValue) string { return v.Moment.String() }),
	Words("name", "name of the performance variable in the MPI library", func(v pvarValue) string { return v.pvar.Name }),
	Words("class", "class of the variable, as MPI_T defines it: state, level, size, percentage, high-watermark, low-watermark, counter, aggregate, timer, generic",
		func(v pvarValue) string { return v.pvar.Class.String() }),
	Words("binding", "kind of object that the variable is bound to: none, communicator, window", func(v pvarValue) string { return v.pvar.Bound.String() }),
	OptionalWords("object", "label of the communicator, or of that of the window's group, as in comms.arrow; null if the variable is not bound or the object is not known",
		func(v pvarValue) (string, bool) { return v.object, v.object != "" }),
	Numbers("handle", "index", "number of the variable and its object within the process, in the order of binding; counters start again with each handle",
		func(v pvarValue) int32 { return int32(v.Handle) }),
	Numbers("index", "index", "index of the element, from 0; 0 for a text", func(v pvarValue) int32 { return int32(v.index) }),
	OptionalDoubles("value", "unit of the variable", "value as a double, exact up to 2^53; null for a text", pvarValue.double),
	OptionalNumbers("value_u64", "unit of the variable", "exact value of an unsigned variable; null for others",
		func(v pvarValue) (uint64, bool) { return v.number(profile.PvarUnsigned) }),
	OptionalNumbers("value_i64", "unit of the variable", "exact value of a signed variable; null for others",
		func(v pvarValue) (int64, bool) {
			n, ok := v.number(profile.PvarSigned)
			return int64(n), ok
		}),
	OptionalWords("text", "value of a variable that is a text; null for others",
		func(v pvarValue) (string, bool) {
			if v.pvar.Type != profile.PvarText {
				return "", false
			}
			return v.Reading.Text(), true
		}),
}
