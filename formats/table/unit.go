package table

import (
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/mpitrace/mpitrace/profile"
)

// A unit is a file with the parts of all tables that come from some processes
// of a run. JoinUnits makes the tables of it, without decompressing them. It
// consists of chunks, followed by a unitEnd and its length in 8 bytes.
type unitEnd struct {
	Chunks  []unitChunk
	Sources []string // words of the column source in ranks.arrow, in order
	Comms   []storedComm
}

// unitChunk is a message with a record batch, or a part of the header.
type unitChunk struct {
	Table    unitTable
	Metadata int32 // bytes of the message before its body
	Body     int64 // bytes
}

type unitTable uint8

const (
	unitProfile unitTable = iota
	unitRanks
	unitPvars
	unitBlocks // processes, see header
)

// storedComm is the stored form of a communicatorRow.
type storedComm struct {
	Run, Parent string
	Comm        profile.Comm
	HasParent   bool
	SeenBy      int
	FreedBy     int
	Folded      uint64
}

// UnitWriter writes units, one after the other.
type UnitWriter struct {
	w       io.Writer
	profile *arrowWriter[Fact]
	ranks   *arrowWriter[*profile.Profile]
	pvars   *arrowWriter[pvarValue]
	values  *pvarTable
	head    header
	shared  [3]int // lengths of the header's pools
	comms   commRows
	sources map[string]int32 // codes of the words of the column source
	first   int
	end     unitEnd
}

// NewUnitWriter returns a UnitWriter.
func NewUnitWriter(d *Dictionaries) *UnitWriter {
	u := &UnitWriter{head: d.header(), sources: map[string]int32{}}
	u.shared = u.head.lengths()
	u.values = newPvarTable(io.Discard)
	u.values.began = d.Began
	u.profile = newUnitTable(u, unitProfile, ProfileColumns, &d.Profile)
	u.ranks = newUnitTable(u, unitRanks, RankColumns, &d.Ranks)
	u.pvars = newUnitTable(u, unitPvars, PvarColumns, &d.Pvars)
	for _, c := range u.ranks.cols {
		if c, ok := c.(*wordColumn[*profile.Profile]); ok && c.of.Name == sourceColumn {
			c.codes = u.sources
		}
	}
	return u
}

// Start begins a unit. first is the number of processes in earlier units.
func (u *UnitWriter) Start(w io.Writer, first int) {
	u.w, u.first, u.end, u.comms = w, first, unitEnd{}, commRows{}
	u.head.blocks = nil
	clear(u.sources)
}

func newUnitTable[T any](u *UnitWriter, table unitTable, cols []Column[T], words *ColumnWords) *arrowWriter[T] {
	t := newArrowWriter(nil, cols, nil)
	useWords(t, words)
	t.schema = codesSchema(t)
	t.out = newMessageWriter(t.schema, func(messages []message) error {
		return u.write(table, messages[len(messages)-1])
	})
	return t
}

// codesSchema returns the schema of a table without dictionaries, and makes its
// columns hold codes only. The record batches are the same.
func codesSchema[T any](t *arrowWriter[T]) *arrow.Schema {
	fields := slices.Clone(schemaOf(t.of, nil).Fields())
	for i, c := range t.cols {
		if c, ok := c.(*wordColumn[T]); ok {
			fields[i].Type, c.plain = arrow.PrimitiveTypes.Int32, true
		}
	}
	return arrow.NewSchema(fields, nil)
}

// lengths returns how much processes share.
func (b *header) lengths() [3]int {
	return [3]int{len(b.programs.all), len(b.files.all), len(b.comms.all)}
}

// Add adds a process.
func (u *UnitWriter) Add(p *profile.Profile) error {
	u.sources[p.Source] = int32(u.first + len(u.end.Sources))
	u.end.Sources = append(u.end.Sources, p.Source)
	u.comms.Note(p)
	err := u.profile.add(Facts(p))
	if err == nil {
		err = u.ranks.add(slices.Values([]*profile.Profile{p}))
	}
	if err == nil && len(p.Readings) > 0 {
		err = u.pvars.add(u.values.values(p))
	}
	if err == nil {
		err = u.head.add(p)
	}
	if err == nil && u.head.lengths() != u.shared {
		err = errChanged
	}
	if err != nil {
		return fmt.Errorf("write arrow table: rank %d: %w", p.Rank, err)
	}
	return nil
}

// End completes the unit. After an error, the UnitWriter cannot be used again.
func (u *UnitWriter) End() error {
	for _, flush := range []func() error{u.profile.flushRest, u.ranks.flushRest, u.pvars.flushRest} {
		if err := flush(); err != nil {
			return err
		}
	}
	u.head.closeBlock()
	if err := u.write(unitBlocks, message{body: u.head.blocks}); err != nil {
		return err
	}
	for _, r := range u.comms.rows {
		u.end.Comms = append(u.end.Comms, storedComm{r.run, r.parent, *r.Comm, r.hasParent, r.seenBy, r.freedBy, r.folded})
	}
	counted := &position{w: u.w}
	if err := gob.NewEncoder(counted).Encode(&u.end); err != nil {
		return err
	}
	_, err := u.w.Write(binary.LittleEndian.AppendUint64(nil, uint64(counted.at)))
	return err
}

func (t *arrowWriter[T]) flushRest() error {
	if t.n == 0 {
		return nil
	}
	return t.flush()
}

func (u *UnitWriter) write(table unitTable, m message) error {
	u.end.Chunks = append(u.end.Chunks, unitChunk{table, int32(len(m.metadata)), int64(len(m.body))})
	for _, part := range [][]byte{m.metadata, m.body} {
		if _, err := u.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// message is an encapsulated message of the Arrow IPC format. metadata includes
// its prefix and padding.
type message struct{ metadata, body []byte }

// messageWriter is a recordWriter that passes messages on. The last message of
// a call of Write has the record batch. Before it are the dictionaries and, in
// the first call, the schema.
type messageWriter struct {
	*ipc.Writer
	sink *messageSink
	use  func([]message) error // the messages are valid only during the call
}

// messageSink collects messages. It is an ipc.PayloadWriter.
type messageSink struct{ messages []message }

func newMessageWriter(schema *arrow.Schema, use func([]message) error) *messageWriter {
	sink := new(messageSink)
	return &messageWriter{ipc.NewWriterWithPayloadWriter(sink, ipc.WithSchema(schema), ipc.WithZstd()), sink, use}
}

// Write implements recordWriter.
func (w *messageWriter) Write(batch arrow.Record) error {
	w.sink.messages = w.sink.messages[:0]
	if err := w.Writer.Write(batch); err != nil {
		return err
	}
	return w.use(w.sink.messages)
}

// Start and Close implement ipc.PayloadWriter.
func (s *messageSink) Start() error { return nil }
func (s *messageSink) Close() error { return nil }

// continuation begins a message.
const continuation = 0xffffffff

// WritePayload implements ipc.PayloadWriter.
func (s *messageSink) WritePayload(p ipc.Payload) error {
	var m message
	metadata := p.Meta()
	defer metadata.Release()
	const prefix, alignment = 8, 8
	size := (metadata.Len() + alignment - 1) &^ (alignment - 1)
	m.metadata = binary.LittleEndian.AppendUint32(make([]byte, 0, prefix+size), continuation)
	m.metadata = binary.LittleEndian.AppendUint32(m.metadata, uint32(size))
	m.metadata = append(m.metadata, metadata.Bytes()...)[:prefix+size]
	body := appendWriter{&m.body}
	err := p.SerializeBody(body)
	s.messages = append(s.messages, m)
	return err
}

type appendWriter struct{ to *[]byte }

func (w appendWriter) Write(p []byte) (int, error) {
	*w.to = append(*w.to, p...)
	return len(p), nil
}

// row is the inverse of the conversion in End.
func (c *storedComm) row() *communicatorRow {
	return &communicatorRow{run: c.Run, parent: c.Parent, Comm: &c.Comm, hasParent: c.HasParent, seenBy: c.SeenBy, freedBy: c.FreedBy, folded: c.Folded}
}

// readUnitEnd returns the end of a unit.
func readUnitEnd(r *io.SectionReader) (end unitEnd, err error) {
	const lengthLen = 8
	raw := make([]byte, lengthLen)
	if _, err := r.ReadAt(raw, r.Size()-lengthLen); err != nil {
		return end, err
	}
	size := int64(binary.LittleEndian.Uint64(raw))
	if size < 0 || size > r.Size()-lengthLen {
		return end, fmt.Errorf("damaged: an end of %d bytes", size)
	}
	err = gob.NewDecoder(io.NewSectionReader(r, r.Size()-lengthLen-size, size)).Decode(&end)
	return end, err
}

// eachChunk calls f with the chunks of a unit.
func eachChunk(r *io.SectionReader, chunks []unitChunk, f func(unitChunk, io.Reader) error) error {
	at := int64(0)
	for _, c := range chunks {
		size := int64(c.Metadata) + c.Body
		if err := f(c, io.NewSectionReader(r, at, size)); err != nil {
			return err
		}
		at += size
	}
	return nil
}
