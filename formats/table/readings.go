package table

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// withReadings is a source that adds to its processes their readings from path.
type withReadings struct {
	profile.Source
	path string
}

// WithReadings returns a source that adds to the processes of src their
// readings of performance variables. The file at path must be one that
// was written for the same processes in the same order. If it is damaged,
// WithReadings returns src itself and an error.
func WithReadings(src profile.Source, path string) (profile.Source, error) {
	if err := check(path, tablePvars); err != nil {
		return src, err
	}
	return &withReadings{src, path}, nil
}

// Each implements profile.Source. It keeps one batch of rows and the readings
// of one process in memory.
func (w *withReadings) Each(f func(*profile.Profile) error) error {
	in, err := openReadings(w.path)
	if err != nil {
		return fmt.Errorf("read arrow file %s: %w", w.path, err)
	}
	defer in.file.Close()
	err = w.Source.Each(func(p *profile.Profile) error {
		if err := in.addTo(p); err != nil {
			return fmt.Errorf("read arrow file %s: %w", w.path, err)
		}
		return f(p)
	})
	if err == nil && in.more {
		return fmt.Errorf("read arrow file %s: readings of rank %d of %s, in an order that the other files do not have", w.path, in.row.rank, in.row.run)
	}
	return err
}

// readings reads pvars.arrow row by row.
type readings struct {
	file    *os.File
	in      *ipc.FileReader
	about   *arrow.Metadata
	decoder decoder
	batches int
	next    func(*readingRow) // reads the next row of the batch
	rows    int               // rows left in the batch
	row     readingRow        // the first row not yet used
	more    bool              // whether row is valid
}

// readingRow is a row of pvars.arrow.
type readingRow struct {
	run, slice, object, text string
	rank, handle, index      int32
	at                       int64
	moment                   profile.Moment
	pvar                     profile.Pvar
	raw                      uint64
	known                    bool // class, binding and moment are valid
}

func openReadings(path string) (_ *readings, err error) {
	defer recovered(&err)
	file, err := atomicfile.Open(path, atomicfile.AnySize)
	if err != nil {
		return nil, err
	}
	in, err := ipc.NewFileReader(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	md := in.Schema().Metadata()
	r := &readings{file: file, in: in, about: &md}
	if err := r.advance(); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// advance reads the next row.
func (r *readings) advance() (err error) {
	defer recovered(&err)
	for r.rows == 0 {
		if r.batches == r.in.NumRecords() {
			r.more = false
			return nil
		}
		batch, err := r.in.RecordAt(r.batches)
		if err != nil {
			return err
		}
		if r.next, err = r.columns(batch); err != nil {
			return fmt.Errorf("record batch %d: %w", r.batches, err)
		}
		r.batches++
		r.rows = int(batch.NumRows())
	}
	r.next(&r.row)
	r.rows--
	if r.more = true; !r.row.known {
		return errors.New("a class, binding or moment that is not known")
	}
	return nil
}

// columns returns a function that reads the rows of a batch, one per call.
func (r *readings) columns(batch arrow.Record) (func(*readingRow), error) {
	b := columnsOf{batch: batch, decoder: &r.decoder}
	run, slice, object, text := b.text("run"), b.text("slice"), b.text("object"), b.text("text")
	name, class, binding, moment := b.text("name"), b.text("class"), b.text("binding"), b.text("moment")
	rank, handle, index := numbersOf[int32](&b, "rank"), numbersOf[int32](&b, "handle"), numbersOf[int32](&b, "index")
	at, double := numbersOf[arrow.Timestamp](&b, "at"), numbersOf[float64](&b, "value")
	unsigned, signed := numbersOf[uint64](&b, "value_u64"), numbersOf[int64](&b, "value_i64")
	if b.err != nil {
		return nil, b.err
	}
	isUnsigned, isSigned, isText := b.named("value_u64"), b.named("value_i64"), b.named("text")
	i := -1
	return func(row *readingRow) {
		i++
		*row = readingRow{run: run(i), slice: slice(i), object: object(i), text: text(i), rank: rank(i), handle: handle(i),
			index: index(i), at: int64(at(i))}
		row.pvar.Name = name(i)
		row.pvar.Description, _ = r.about.GetValue(KeyPvar + row.pvar.Name)
		var ok [3]bool
		row.pvar.Class, ok[0] = profile.ParsePvarClass(class(i))
		row.pvar.Bound, ok[1] = profile.ParsePvarBinding(binding(i))
		row.moment, ok[2] = profile.ParseMoment(moment(i))
		row.known = ok == [3]bool{true, true, true}
		switch {
		case isUnsigned.IsValid(i):
			row.pvar.Type, row.raw = profile.PvarUnsigned, unsigned(i)
		case isSigned.IsValid(i):
			row.pvar.Type, row.raw = profile.PvarSigned, uint64(signed(i))
		case isText.IsValid(i):
			row.pvar.Type = profile.PvarText
		default:
			row.pvar.Type, row.raw = profile.PvarDouble, math.Float64bits(double(i))
		}
	}, nil
}

// addTo adds to a process its readings, if the next readings belong to it.
func (r *readings) addTo(p *profile.Profile) error {
	names := map[string]uint32{}
	for r.more && r.row.run == p.Run && int(r.row.rank) == p.Rank {
		if len(names) == 0 {
			for _, s := range slices.Backward(p.Slices) {
				names[s.Name] = s.Index
			}
		}
		if err := r.row.addTo(p, names); err != nil {
			return err
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
	return nil
}

// maxHandles limits the handles of a process, since each takes memory here. It
// is far more than a process binds.
const maxHandles = 1 << 24

func (row *readingRow) addTo(p *profile.Profile, names map[string]uint32) error {
	if row.handle < 0 || row.handle >= maxHandles {
		return fmt.Errorf("handle %d", row.handle)
	}
	for len(p.PvarHandles) <= int(row.handle) {
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Comm: -1})
	}
	h := &p.PvarHandles[row.handle]
	if n := len(p.Readings); row.index > 0 {
		if n == 0 || p.Readings[n-1].Handle != int(row.handle) || len(p.Readings[n-1].Values) != int(row.index) {
			return fmt.Errorf("element %d of a reading without those before it", row.index)
		}
		p.Readings[n-1].Values = append(p.Readings[n-1].Values, row.raw)
		h.Count = max(h.Count, int(row.index)+1)
		return nil
	}
	if h.Count == 0 {
		row.bind(p, h)
	}
	index, ok := names[row.slice]
	if !ok {
		_, _ = fmt.Sscanf(row.slice, "slice %d", &index) // pvars.arrow names a slice without a name by its index
	}
	p.Readings = append(p.Readings, profile.Reading{Handle: int(row.handle), Slice: index, At: row.at, Moment: row.moment, Values: row.values()})
	return nil
}

// bind sets the variable and the object of a handle from its first row.
func (row *readingRow) bind(p *profile.Profile, h *profile.PvarHandle) {
	h.Count = max(1, len(row.text))
	h.Comm = int32(slices.IndexFunc(p.Comms, func(c profile.Comm) bool { return row.object != "" && c.Label() == row.object }))
	if h.Pvar = slices.Index(p.Pvars, row.pvar); h.Pvar < 0 {
		h.Pvar = len(p.Pvars)
		p.Pvars = append(p.Pvars, row.pvar)
	}
}

// values returns the values of a text, or the first value of an array.
func (row *readingRow) values() []uint64 {
	if row.pvar.Type != profile.PvarText {
		return []uint64{row.raw}
	}
	out := make([]uint64, len(row.text))
	for i := range len(row.text) {
		out[i] = uint64(row.text[i])
	}
	return out
}
