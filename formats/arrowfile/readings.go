package arrowfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// reading is a row of pvars.arrow.
type reading struct {
	slice, object, text string
	handle, index       int32
	at                  int64
	moment              profile.Moment
	pvar                profile.Pvar
	raw                 uint64
}

func decodeReadings(c *columns) func(int) (reading, error) {
	slice, object, text := c.word("slice"), c.word("object"), c.text("text")
	name, class, binding, moment := c.word("name"), c.word("class"), c.word("binding"), c.word("moment")
	handle, index, at, double := c.number("handle"), c.number("index"), c.times("at"), c.doubles("value")
	unsigned, signed := c.integers("value_u64", 0, math.MaxUint64), c.integers("value_i64", math.MinInt64, math.MaxInt64)
	about := c.Schema().Metadata()
	return func(i int) (reading, error) {
		r := reading{slice: slice(i), object: object(i), handle: handle(i), index: index(i), at: at(i)}
		r.pvar.Name = name(i)
		r.pvar.Description, _ = about.GetValue(table.KeyPvar + r.pvar.Name)
		var ok [3]bool
		r.pvar.Class, ok[0] = profile.ParsePvarClass(class(i))
		r.pvar.Bound, ok[1] = profile.ParsePvarBinding(binding(i))
		if r.moment, ok[2] = profile.ParseMoment(moment(i)); ok != [3]bool{true, true, true} {
			return r, fmt.Errorf("class %q, binding %q or moment %q is not known", class(i), binding(i), moment(i))
		}
		var is bool
		if r.raw, is = unsigned(i); is {
			r.pvar.Type = profile.PvarUnsigned
		} else if r.raw, is = signed(i); is {
			r.pvar.Type = profile.PvarSigned
		} else if r.text, is = text(i); is {
			r.pvar.Type = profile.PvarText
		} else {
			v, _ := double(i)
			r.pvar.Type, r.raw = profile.PvarDouble, math.Float64bits(v)
		}
		return r, nil
	}
}

// maxHandles limits the handles of a process, since each takes memory here. It
// is far more than a process binds.
const maxHandles = 1 << 20

// addReadings adds the readings of performance variables.
func (p *process) addReadings() error {
	if !consecutive(p.readings) {
		slices.SortStableFunc(p.readings, func(a, b reading) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.handle, b.handle), cmp.Compare(a.index, b.index))
		})
	}
	for i := range p.readings {
		if err := p.addReading(&p.readings[i]); err != nil {
			return fmt.Errorf("pvars.arrow: rank %d: %w", p.out.Rank, err)
		}
	}
	return nil
}

// consecutive reports whether the elements of each reading follow each other, as they were
// written.
func consecutive(rows []reading) bool {
	for i := range rows {
		if rows[i].index > 0 && (i == 0 || rows[i-1].handle != rows[i].handle || rows[i-1].index != rows[i].index-1) {
			return false
		}
	}
	return true
}

func (p *process) addReading(r *reading) error {
	if r.handle < 0 || r.handle >= maxHandles {
		return fmt.Errorf("handle %d", r.handle)
	}
	out := p.out
	for len(out.PvarHandles) <= int(r.handle) {
		out.PvarHandles = append(out.PvarHandles, profile.PvarHandle{Comm: -1})
	}
	h := &out.PvarHandles[r.handle]
	if n := len(out.Readings); r.index > 0 {
		if n == 0 || out.Readings[n-1].Handle != int(r.handle) || len(out.Readings[n-1].Values) != int(r.index) {
			return fmt.Errorf("element %d of a reading without those before it", r.index)
		}
		out.Readings[n-1].Values = append(out.Readings[n-1].Values, r.raw)
		h.Count = max(h.Count, int(r.index)+1)
		return nil
	}
	if h.Count == 0 {
		h.Count = max(1, len(r.text))
		if r.object != "" {
			h.Comm = p.comm(r.object)
		}
		if h.Pvar = slices.Index(out.Pvars, r.pvar); h.Pvar < 0 {
			h.Pvar = len(out.Pvars)
			out.Pvars = append(out.Pvars, r.pvar)
		}
	}
	out.Readings = append(out.Readings, profile.Reading{Handle: int(r.handle), Slice: p.slice(r.slice), At: r.at, Moment: r.moment, Values: r.values()})
	return nil
}

// values returns the values of a text, or the first value of an array.
func (r *reading) values() []uint64 {
	if r.pvar.Type != profile.PvarText {
		return []uint64{r.raw}
	}
	out := make([]uint64, len(r.text))
	for i := range len(r.text) {
		out[i] = uint64(r.text[i])
	}
	return out
}

// withReadings is a source that adds readings to the processes of another source.
type withReadings struct {
	profile.Source
	path string
}

// WithReadings returns a source that adds readings of performance variables to the processes of
// src. It reads them from pvars.arrow beside the file at path, from which src is read.
func WithReadings(src profile.Source, path string) profile.Source {
	if pvars := tablesOf(path).file("pvars"); pvars != "" {
		return &withReadings{src, pvars}
	}
	return src
}

// Each implements profile.Source.
func (w *withReadings) Each(f func(*profile.Profile) error) error {
	runs := new(runOrder)
	if err := w.Source.Each(func(p *profile.Profile) error { runs.of(p.Run); return nil }); err != nil {
		return err
	}
	all, err := openBeside(w.path, runs, table.PvarColumns, decodeReadings, nil)
	if err != nil {
		return err
	}
	readings, stop := pull(all)
	defer stop()
	return w.Source.Each(func(p *profile.Profile) error {
		of := process{out: p, readings: readings.at(key{p.Run, int32(p.Rank)}), labels: map[string]int32{}, slices: map[string]uint32{}}
		for i := range p.Comms {
			of.labels[p.Comms[i].Label()] = int32(i)
		}
		for _, s := range p.Slices {
			of.slices[s.Name] = s.Index
		}
		err := readings.failed()
		if err == nil {
			err = of.addReadings()
		}
		if err != nil {
			return tableError(w.path, err)
		}
		return f(p)
	})
}
