package arrowfile

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/mpitrace/mpitrace/profile"
)

// Read reads the profiles back from a file that WriteProfile wrote, each with
// its rows in their order, its communicators and counts. Of the modules only
// those are there that hold a call site.
func Read(path string) ([]*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read arrow file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read arrow file: %w", err)
	}
	ps, err := read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("read arrow file %s: %w", path, err)
	}
	return ps, nil
}

// ReadSymbols reads the names of call sites alone.
func ReadSymbols(path string) (profile.Symbols, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read arrow file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read arrow file: %w", err)
	}
	var symbols profile.Symbols
	err = reading(f, info.Size(), func(_ *ipc.FileReader, head *header) error {
		symbols = head.symbols()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read arrow file %s: %w", path, err)
	}
	return symbols, nil
}

// read is Read of size bytes.
func read(r io.ReaderAt, size int64) (ps []*profile.Profile, err error) {
	err = reading(r, size, func(in *ipc.FileReader, head *header) (err error) {
		rows := rowReader{head: head}
		for i := range in.NumRecords() {
			batch, err := in.RecordAt(i)
			if err != nil {
				return fmt.Errorf("damaged: record batch %d: %w", i, err)
			}
			err = rows.add(batch)
			batch.Release()
			if err != nil {
				return fmt.Errorf("record batch %d: %w", i, err)
			}
		}
		ps, err = rows.profiles()
		return err
	})
	return ps, err
}

// reading opens a file of size bytes for f. The Arrow library panics where what
// it reads is wrong; such a panic becomes an error here.
func reading(r io.ReaderAt, size int64, f func(*ipc.FileReader, *header) error) (err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("damaged: %v", trouble)
		}
	}()
	if err := checkSeal(r, size); err != nil {
		return err
	}
	in, err := ipc.NewFileReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	defer in.Close()
	head, err := headerIn(in.Schema())
	if err != nil {
		return err
	}
	return f(in, head)
}

// headerIn finds the header in the metadata, or says what else the file is.
func headerIn(schema *arrow.Schema) (*header, error) {
	md := schema.Metadata()
	get := func(key string) string { value, _ := md.GetValue(key); return value }
	switch version, table := get(keyFormat), get(keyTable); {
	case version != formatVersion:
		return nil, fmt.Errorf("written in format version %q, this reads version %q", version, formatVersion)
	case table != tableProfile:
		return nil, fmt.Errorf("it is the table of %s, not of what was communicated", table)
	}
	return parseHeader(get(keyProfiles))
}

// rowReader collects the rows of all batches, which are those of the header's
// processes one after the other.
type rowReader struct {
	head *header
	rows []profile.Row
}

// profiles are all profiles, once all batches were added.
func (rr *rowReader) profiles() ([]*profile.Profile, error) {
	total := 0
	for i := range rr.head.Processes {
		total += rr.head.Processes[i].Rows
	}
	if total != len(rr.rows) {
		return nil, fmt.Errorf("it has %d rows, its header speaks of %d", len(rr.rows), total)
	}
	ps := make([]*profile.Profile, len(rr.head.Processes))
	symbols := rr.head.symbols()
	rest := rr.rows
	for i := range ps {
		info := &rr.head.Processes[i]
		var err error
		if ps[i], err = rr.profile(info, rest[:info.Rows:info.Rows]); err != nil {
			return nil, fmt.Errorf("rank %d: %w", info.Rank, err)
		}
		ps[i].Symbols = symbols
		rest = rest[info.Rows:]
	}
	return ps, nil
}

func (rr *rowReader) profile(info *processInfo, rows []profile.Row) (*profile.Profile, error) {
	p, err := rr.head.profile(info)
	if err != nil {
		return nil, err
	}
	if err := unpackKeys(info.Keys, rows); err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		p.Rows = rows
	}
	return p, nil
}

// add appends the rows of a batch.
func (rr *rowReader) add(batch arrow.Record) error {
	b := columnsOf{batch: batch}
	thread := number[int32](&b, "thread")
	call, class, direction := b.text("call"), b.text("class"), b.text("direction")
	sizeClass := number[uint8](&b, "size_class")
	calls, messages, bytes := number[uint64](&b, "calls"), number[uint64](&b, "messages"), number[uint64](&b, "bytes")
	timeNs, minNs, maxNs := number[uint64](&b, "time_ns"), number[uint64](&b, "min_ns"), number[uint64](&b, "max_ns")
	if b.err != nil {
		return b.err
	}
	for i := range int(batch.NumRows()) {
		c, ok := profile.ParseClass(class(i))
		d, ok2 := profile.ParseDirection(direction(i))
		if !ok || !ok2 {
			return fmt.Errorf("row %d: class %q or direction %q is not known", len(rr.rows), class(i), direction(i))
		}
		if sizeClass(i) >= profile.NumSizeClasses {
			return fmt.Errorf("row %d: there is no size class %d", len(rr.rows), sizeClass(i))
		}
		rr.rows = append(rr.rows, profile.Row{Thread: thread(i), Call: call(i), Class: c, Direction: d,
			SizeClass: sizeClass(i), Calls: calls(i), Messages: messages(i), Bytes: bytes(i),
			TimeNs: timeNs(i), MinNs: minNs(i), MaxNs: maxNs(i)})
	}
	return nil
}

// columnsOf finds columns by name; err is the first that is missing or of
// another type.
type columnsOf struct {
	batch arrow.Record
	err   error
}

func (b *columnsOf) named(name string) arrow.Array {
	found := b.batch.Schema().FieldIndices(name)
	if len(found) != 1 {
		b.fail(fmt.Errorf("%d columns %s", len(found), name))
		return nil
	}
	return b.batch.Column(found[0])
}

func (b *columnsOf) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// number is a column of numbers; null is 0.
func number[V any](b *columnsOf, name string) func(i int) V {
	values, ok := b.named(name).(interface {
		arrow.Array
		Value(int) V
	})
	if !ok {
		b.fail(fmt.Errorf("column %s is not of its type", name))
		return nil
	}
	return func(i int) V {
		if values.IsNull(i) {
			return *new(V)
		}
		return values.Value(i)
	}
}

// text is a column of strings; null is empty.
func (b *columnsOf) text(name string) func(i int) string {
	codes, ok := b.named(name).(*array.Dictionary)
	if !ok {
		b.fail(fmt.Errorf("column %s is not a dictionary", name))
		return nil
	}
	words, ok := codes.Dictionary().(*array.String)
	if !ok {
		b.fail(fmt.Errorf("column %s is not of strings", name))
		return nil
	}
	texts := make([]string, words.Len())
	for i := range texts {
		texts[i] = strings.Clone(words.Value(i)) // the batch owns the memory
	}
	return func(i int) string {
		if codes.IsNull(i) {
			return ""
		}
		return texts[codes.GetValueIndex(i)]
	}
}
