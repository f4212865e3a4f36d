package tracefile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/mpitrace/mpitrace/formats/table"
)

// An Arrow file is a stream of messages (the schema, dictionaries, batches)
// between magic bytes, followed by a footer with their positions:
// https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format. A message
// consists of four bytes ff, the length of the metadata, the metadata, and the
// body.
const (
	magic     = "ARROW1"
	headLen   = 8 // of the padded magic bytes, and of the part before a message's metadata
	alignment = 8
)

// endOfStream ends the stream of messages.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// Indices of fields in the tables Message, RecordBatch and Footer.
const (
	messageHeaderType = 1
	messageHeader     = 2
	messageBodyLength = 3

	batchLength  = 0
	batchNodes   = 1
	batchBuffers = 2

	footerDictionaries = 2
	footerBatches      = 3
)

// Values of messageHeaderType.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// ipcMessage is a message as stored in the file. meta includes the part before the
// metadata.
type ipcMessage struct {
	meta, body []byte
}

func (m ipcMessage) root() flat { return rootOf(m.meta[headLen:]) }

// skeleton holds the parts of a file that the Arrow library wrote with one
// batch of one row. This batch is the model of the batches that writer makes.
type skeleton struct {
	schema       ipcMessage
	dictionaries []ipcMessage
	batch        ipcMessage
	footer       []byte
}

var errSkeleton = errors.New("the Arrow library writes another form of messages than is known")

func newSkeleton(schema *arrow.Schema, cols []column) (s skeleton, err error) {
	arrays := make([]arrow.Array, len(cols))
	for i, c := range cols {
		arrays[i] = c.sample()
	}
	var file bytes.Buffer
	w, err := ipc.NewFileWriter(table.Position(&file), ipc.WithSchema(schema), ipc.WithZstd())
	if err == nil {
		err = w.Write(array.NewRecord(schema, arrays, 1))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return s, fmt.Errorf("make schema: %w", err)
	}
	raw := file.Bytes()
	footer := len(raw) - 4 - len(magic) - int(little.Uint32(raw[len(raw)-4-len(magic):]))
	s.footer = raw[footer : len(raw)-4-len(magic)]
	return s, s.messages(raw[headLen:footer])
}

func (s *skeleton) messages(raw []byte) error {
	for len(raw) > 0 {
		n := headLen + int(little.Uint32(raw[4:]))
		m := ipcMessage{meta: raw[:n]}
		body := n + int(m.root().int64(messageBodyLength))
		m.body, raw = raw[n:body], raw[body:]
		switch m.root().byte(messageHeaderType) {
		case headerSchema:
			s.schema = m
		case headerDictionary:
			s.dictionaries = append(s.dictionaries, m)
		case headerBatch:
			s.batch = m
		default:
			return errSkeleton
		}
	}
	if s.schema.meta == nil || s.batch.meta == nil {
		return errSkeleton
	}
	return nil
}

// bodyPart is a part of a body.
type bodyPart struct{ offset, length int }

// batchMeta returns the metadata of a batch. nulls has the number of nulls of
// each column. parts has two parts of the body for each column: its validity
// bitmap, which may be empty, and its values. body is the length of the body.
func (s *skeleton) batchMeta(rows int, nulls []int, parts []bodyPart, body int) ([]byte, error) {
	m := ipcMessage{meta: bytes.Clone(s.batch.meta)}
	root := m.root()
	batch := root.table(messageHeader)
	nodes, buffers := batch.follow(batchNodes), batch.follow(batchBuffers)
	if int(little.Uint32(batch.buf[nodes:])) != len(nulls) || int(little.Uint32(batch.buf[buffers:])) != len(parts) {
		return nil, errSkeleton
	}
	root.setInt64(messageBodyLength, int64(body))
	batch.setInt64(batchLength, int64(rows))
	for i, n := range nulls {
		node := batch.buf[nodes+4+16*i:]
		little.PutUint64(node, uint64(rows))
		little.PutUint64(node[8:], uint64(n))
	}
	for i, part := range parts {
		buffer := batch.buf[buffers+4+16*i:]
		little.PutUint64(buffer, uint64(part.offset))
		little.PutUint64(buffer[8:], uint64(part.length))
	}
	return m.meta, nil
}

// messagePosition is the position of a message in the file.
type messagePosition struct {
	offset     int64
	meta, body int
}

// footerOf returns the footer, followed by its length and the magic bytes. It
// appends new lists of blocks. The lists of the library's footer remain in
// place, but no field refers to them any more.
func (s *skeleton) footerOf(dictionaries, batches []messagePosition) []byte {
	out := bytes.Clone(s.footer)
	out = appendBlocks(out, footerDictionaries, dictionaries)
	out = appendBlocks(out, footerBatches, batches)
	out = little.AppendUint32(out, uint32(len(out)))
	return append(out, magic...)
}

// appendBlocks appends a vector of blocks, and makes the footer's field refer
// to it. The blocks must be aligned to eight bytes, and follow the vector's
// length of four bytes.
func appendBlocks(footer []byte, field int, blocks []messagePosition) []byte {
	for len(footer)%alignment != alignment-4 {
		footer = append(footer, 0)
	}
	at := rootOf(footer).field(field)
	little.PutUint32(footer[at:], uint32(len(footer)-at))
	footer = little.AppendUint32(footer, uint32(len(blocks)))
	for _, b := range blocks {
		footer = little.AppendUint64(footer, uint64(b.offset))
		footer = little.AppendUint64(footer, uint64(b.meta)) // a 4-byte field and 4 bytes of padding
		footer = little.AppendUint64(footer, uint64(b.body))
	}
	return footer
}
