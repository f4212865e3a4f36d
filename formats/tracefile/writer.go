package tracefile

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// Write writes the events of a process. It reads the source once. It keeps one
// batch of events in memory, and up to 128 MiB of compressed batches.
func Write(w io.Writer, src profile.EventSource) error {
	out, err := newWriter(w, src.Trace(), batchOf(src.Trace().Size), maxHeld)
	if err != nil {
		return err
	}
	if err := src.Each(out.add); err != nil {
		return err
	}
	return out.close()
}

type writer struct {
	file     io.Writer
	at       int64
	trace    profile.Trace
	maxBatch int
	maxHeld  int

	cols     []column
	model    skeleton
	index    index
	rows     int   // of the current batch
	from, to int64 // of the events of the current batch
	total    uint64

	begun        bool // the schema is written
	dictionaries []messagePosition
	held         []packedBatch // batches kept until then
	heldBytes    int
	buf          []byte // memory of the latest packed batch
}

// packedBatch is a compressed batch.
type packedBatch struct {
	batchIndex
	raw []byte // metadata and body
}

func newWriter(file io.Writer, trace *profile.Trace, maxBatch, maxHeld int) (w *writer, err error) {
	w = &writer{file: file, trace: *trace, maxBatch: maxBatch, maxHeld: maxHeld, cols: gatherers()}
	w.index.Format, w.index.Trace = FormatVersion, &w.trace
	w.model, err = w.skeleton()
	return w, err
}

// gatherers returns a collector for each column.
func gatherers() []column {
	out := make([]column, len(columns))
	for i := range columns {
		out[i] = columns[i].gather(&columns[i].Column)
	}
	return out
}

// skeleton returns a skeleton with the current dictionaries.
func (w *writer) skeleton() (skeleton, error) {
	text, err := json.Marshal(&w.trace)
	if err != nil {
		return skeleton{}, fmt.Errorf("make schema: %w", err)
	}
	fields := make([]arrow.Field, len(w.cols))
	for i, c := range w.cols {
		fields[i] = c.field()
	}
	md := arrow.NewMetadata([]string{table.KeyFormat, table.KeyTool, table.KeyTable, table.KeyPandas, keyTrace},
		[]string{FormatVersion, table.Tool, tableEvents, table.Pandas(Columns()), string(text)})
	return newSkeleton(arrow.NewSchema(fields, &md), w.cols)
}

// add adds a batch of the source, which may be of any size.
func (w *writer) add(e *profile.Events, kinds []profile.EventKind) error {
	if e.Len() == 0 {
		return nil
	}
	if err := w.learn(slices.Max(e.Kind), kinds); err != nil {
		return err
	}
	for at := 0; at < e.Len(); {
		n := min(w.maxBatch-w.rows, e.Len()-at)
		w.append(part(e, at, at+n))
		at += n
		if w.rows == w.maxBatch {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn adds the kinds up to the given one to the columns and the index.
func (w *writer) learn(last uint32, kinds []profile.EventKind) error {
	if uint64(last) >= uint64(len(kinds)) {
		return fmt.Errorf("write trace: an event of kind %d, and there are %d kinds", last, len(kinds))
	}
	for i := len(w.index.Kinds); i <= int(last); i++ {
		w.index.add(&kinds[i])
		for _, c := range w.cols {
			if err := c.learn(EventRow{Trace: &w.trace, EventKind: &kinds[i]}); err != nil {
				return fmt.Errorf("write trace: column %s: %w", c.field().Name, err)
			}
		}
	}
	return nil
}

func part(e *profile.Events, from, to int) *profile.Events {
	return &profile.Events{Start: e.Start[from:to], Duration: e.Duration[from:to], Bytes: e.Bytes[from:to],
		Kind: e.Kind[from:to], Tag: e.Tag[from:to], Link: e.Link[from:to], Seq: e.Seq[from:to]}
}

func (w *writer) append(e *profile.Events) {
	if w.rows == 0 {
		w.from, w.to = math.MaxInt64, math.MinInt64
	}
	for i, start := range e.Start {
		w.from, w.to = min(w.from, start), max(w.to, endOf(start, e.Duration[i]))
	}
	for _, c := range w.cols {
		c.add(e)
	}
	w.rows += e.Len()
}

// endOf returns the end of an event, limited to the maximum of int64.
func endOf(start, duration int64) int64 {
	if end := start + duration; end >= start || duration < 0 {
		return end
	}
	return math.MaxInt64
}

// flush packs the current batch. It writes the batch if the file has begun,
// otherwise it keeps it.
func (w *writer) flush() error {
	p, err := w.pack()
	if err != nil {
		return err
	}
	w.total, w.rows = w.total+uint64(p.Rows), 0
	if w.begun {
		return w.emit(p)
	}
	p.raw = slices.Clone(p.raw)
	w.held, w.heldBytes = append(w.held, p), w.heldBytes+len(p.raw)
	if w.heldBytes > w.maxHeld {
		return w.begin(&w.model, false)
	}
	return nil
}

// pack returns the current batch in compressed form, valid until the next call.
func (w *writer) pack() (packedBatch, error) {
	p := packedBatch{batchIndex: batchIndex{Rows: w.rows, From: w.from, To: w.to, Meta: len(w.model.batch.meta)}}
	nulls, parts := make([]int, len(w.cols)), make([]bodyPart, 0, 2*len(w.cols))
	raw := append(w.buf[:0], w.model.batch.meta...) // reserves the space of the metadata
	for i, c := range w.cols {
		var valid, values []byte
		valid, values, nulls[i] = c.take()
		for _, of := range [][]byte{valid, values} {
			var s bodyPart
			raw, s = appendBuffer(raw, of, p.Meta)
			parts = append(parts, s)
		}
		if i < numRead {
			p.Parts[i] = [2]int{parts[2*i+1].offset, parts[2*i+1].length}
		}
	}
	w.buf = raw
	p.raw, p.Body = raw, len(raw)-p.Meta
	meta, err := w.model.batchMeta(p.Rows, nulls, parts, p.Body)
	if err != nil {
		return p, err
	}
	copy(raw, meta)
	p.Sum = crc32.Checksum(raw, castagnoli)
	return p, nil
}

// appendBuffer appends a buffer in compressed form: its length and a zstd
// frame, padded to a multiple of eight bytes. start is the offset of the body
// in raw.
func appendBuffer(raw, of []byte, start int) ([]byte, bodyPart) {
	at := len(raw)
	if len(of) == 0 {
		return raw, bodyPart{at - start, 0}
	}
	raw = little.AppendUint64(raw, uint64(len(of)))
	raw = packer().EncodeAll(of, raw)
	s := bodyPart{at - start, len(raw) - at}
	for len(raw)%alignment != 0 {
		raw = append(raw, 0)
	}
	return raw, s
}

// begin writes the schema, the dictionaries if asked to, and the batches kept
// so far.
func (w *writer) begin(s *skeleton, dictionaries bool) error {
	w.begun = true
	head := append([]byte(magic), make([]byte, headLen-len(magic))...)
	if err := w.writeRest(append(head, s.schema.meta...)); err != nil {
		return err
	}
	if dictionaries {
		if err := w.writeDictionaries(s); err != nil {
			return err
		}
	}
	for _, p := range w.held {
		if err := w.emit(p); err != nil {
			return err
		}
	}
	w.held = nil
	return nil
}

func (w *writer) emit(p packedBatch) error {
	p.Offset = w.at
	w.index.Batches = append(w.index.Batches, p.batchIndex)
	return w.write(p.raw)
}

func (w *writer) write(raw []byte) error {
	n, err := w.file.Write(raw)
	w.at += int64(n)
	return err
}

// writeRest writes bytes that are not part of a batch.
func (w *writer) writeRest(raw []byte) error {
	w.index.Rest = crc32.Update(w.index.Rest, castagnoli, raw)
	return w.write(raw)
}

func (w *writer) writeDictionaries(s *skeleton) error {
	for _, m := range s.dictionaries {
		w.dictionaries = append(w.dictionaries, messagePosition{w.at, len(m.meta), len(m.body)})
		if err := w.writeRest(m.meta); err != nil {
			return err
		}
		if err := w.writeRest(m.body); err != nil {
			return err
		}
	}
	return nil
}

// close writes the rest of the file. The dictionaries are now complete.
func (w *writer) close() error {
	if w.rows > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.trace.Events = w.total
	whole, err := w.skeleton()
	if err != nil {
		return err
	}
	if w.begun {
		err = w.writeDictionaries(&whole)
	} else {
		err = w.begin(&whole, true)
	}
	if err != nil {
		return err
	}
	if err := w.writeRest(endOfStream); err != nil {
		return err
	}
	return w.finish(&whole)
}

// finish writes the index and the footer.
func (w *writer) finish(s *skeleton) error {
	blocks := make([]messagePosition, len(w.index.Batches))
	for i, b := range w.index.Batches {
		blocks[i] = messagePosition{b.Offset, b.Meta, b.Body}
	}
	footer := s.footerOf(w.dictionaries, blocks)
	index, err := w.index.seal(footer)
	if err != nil {
		return err
	}
	if err := w.write(index); err != nil {
		return err
	}
	return w.write(footer)
}
