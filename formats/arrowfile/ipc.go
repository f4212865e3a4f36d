package arrowfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// The Arrow library trusts the lengths in a file. It panics on some damaged files, which
// recovered turns into errors. It would also allocate whatever a length says, and no
// program recovers from that: budget limits the memory of values, checkFrames that of the
// decoder, and checkFooter and checkMessage compare the lengths of lists with the bytes that
// they are in.

// eachBatch calls f with the record batches of a file.
func eachBatch(path string, f func(arrow.Record) error) error {
	return atomicfile.ReadAt(path, "read arrow file", func(r io.ReaderAt, size int64) error {
		in, err := open(r, size)
		if err != nil {
			return err
		}
		for i := range in.NumRecords() {
			if err := in.batch(i, f); err != nil {
				return fmt.Errorf("record batch %d: %w", i, err)
			}
		}
		return nil
	})
}

type reader struct {
	*ipc.FileReader
	r      io.ReaderAt
	size   int64
	blocks [2][]block // dictionaries, record batches
}

func open(r io.ReaderAt, size int64) (_ *reader, err error) {
	defer recovered(&err)
	blocks, err := checkFooter(r, size)
	if err != nil {
		return nil, err
	}
	out := &reader{r: r, size: size, blocks: blocks}
	for i := range blocks[0] {
		if err := out.checkMessage(blocks[0][i]); err != nil {
			return nil, fmt.Errorf("dictionary %d: %w", i, err)
		}
	}
	in, err := ipc.NewFileReader(io.NewSectionReader(r, 0, size), ipc.WithAllocator(newBudget(size)))
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	out.FileReader = in
	return out, nil
}

func (in *reader) batch(i int, f func(arrow.Record) error) error {
	batch, err := in.load(i)
	if err != nil {
		return err
	}
	defer batch.Release()
	return f(batch)
}

func (in *reader) load(i int) (batch arrow.Record, err error) {
	defer recovered(&err)
	if err := in.checkMessage(in.blocks[1][i]); err != nil {
		return nil, err
	}
	batch, err = in.RecordAt(i)
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return batch, nil
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if trouble := recover(); trouble != nil {
		*err = fmt.Errorf("damaged: %v", trouble)
	}
}

// budget is an allocator that panics if more memory is in use than a file of its size
// can need.
type budget struct {
	memory.Allocator
	left int
}

// A batch may be expansion times as large as the file, and spare bytes larger.
const (
	expansion = 256
	spare     = 8 << 20
)

// memoryOf returns how much memory the values of a file of a size can need.
func memoryOf(size int64) int { return int(min(size, 1<<40))*expansion + spare }

func newBudget(size int64) *budget { return &budget{memory.DefaultAllocator, memoryOf(size)} }

func (b *budget) take(size int) {
	if size < 0 || size > b.left {
		panic(fmt.Sprintf("its values need %d bytes, and at most %d are left for a file of its size", size, b.left))
	}
	b.left -= size
}

func (b *budget) Allocate(size int) []byte {
	b.take(size)
	return b.Allocator.Allocate(size)
}

func (b *budget) Reallocate(size int, old []byte) []byte {
	b.left += len(old)
	b.take(size)
	return b.Allocator.Reallocate(size, old)
}

func (b *budget) Free(old []byte) {
	b.left += len(old)
	b.Allocator.Free(old)
}

// Slots of tables in Arrow's File.fbs, Schema.fbs and Message.fbs.
const (
	footerSchema, footerDictionaries, footerBatches, footerMetadata = 1, 2, 3, 4
	schemaFields, schemaMetadata                                    = 1, 2
	fieldType, fieldChildren, fieldMetadata                         = 3, 5, 6
	messageKind, messageHeader                                      = 1, 2
	dictionaryData                                                  = 1
	batchNodes, batchBuffers, batchCompression, batchVariadic       = 1, 2, 3, 4
)

const (
	maxMeta   = 64 << 20 // size in bytes of a footer, or of the metadata of a message
	maxFields = 4096     // of a schema, with their children
	maxDepth  = 8        // of children
)

// block is the position of a message in a file.
type block struct {
	offset     int64
	meta, body int64
}

var errMeta = errors.New("damaged: metadata that is cut off or too large")

// checkFooter checks the lengths of all lists in the footer of a file, and returns the
// messages that it lists: dictionaries and record batches.
func checkFooter(r io.ReaderAt, size int64) (blocks [2][]block, err error) {
	at, err := table.FindFooter(r, size)
	if err != nil {
		return blocks, err
	}
	const tail = 10 // length and magic bytes behind the footer
	if at < 0 || size-at-tail > maxMeta {
		return blocks, errMeta
	}
	footer := make([]byte, size-at-tail)
	if _, err := r.ReadAt(footer, at); err != nil {
		return blocks, err
	}
	root := metaTable{flatbuffers.Table{Bytes: footer, Pos: flatbuffers.GetUOffsetT(footer)}}
	fields := 0
	schema := root.table(footerSchema)
	if err := errors.Join(root.list(footerMetadata, 4), schema.list(schemaMetadata, 4), schema.fields(schemaFields, 0, &fields)); err != nil {
		return blocks, err
	}
	for i, slot := range []int{footerDictionaries, footerBatches} {
		const blockSize = 24
		if err := root.list(slot, blockSize); err != nil {
			return blocks, err
		}
		start, n := root.vector(slot)
		for k := range n {
			raw := footer[start+k*blockSize:]
			b := block{int64(binary.LittleEndian.Uint64(raw)), int64(int32(binary.LittleEndian.Uint32(raw[8:]))), int64(binary.LittleEndian.Uint64(raw[16:]))}
			if b.offset < 0 || b.meta < 0 || b.meta > maxMeta || b.body < 0 || b.offset > at || b.body > at || b.offset+b.meta+b.body > at {
				return blocks, fmt.Errorf("damaged: a message of %d and %d bytes at byte %d", b.meta, b.body, b.offset)
			}
			blocks[i] = append(blocks[i], b)
		}
	}
	return blocks, nil
}

// checkMessage checks the lists in the metadata of a message.
func (in *reader) checkMessage(b block) error {
	raw := make([]byte, b.meta)
	if _, err := in.r.ReadAt(raw, b.offset); err != nil {
		return err
	}
	prefix := 4 // length
	if binary.LittleEndian.Uint32(raw) == 0xffffffff {
		prefix = 8
	}
	raw = raw[prefix:]
	message := metaTable{flatbuffers.Table{Bytes: raw, Pos: flatbuffers.GetUOffsetT(raw)}}
	batch := message.table(messageHeader)
	const dictionary = 2
	if message.GetByteSlot(4+2*messageKind, 0) == dictionary {
		batch = batch.table(dictionaryData)
	}
	if err := errors.Join(batch.list(batchNodes, 16), batch.list(batchBuffers, 16), batch.list(batchVariadic, 8)); err != nil {
		return err
	}
	start, n := batch.vector(batchVariadic)
	_, buffers := batch.vector(batchBuffers)
	for i := range n {
		if binary.LittleEndian.Uint64(raw[start+8*i:]) > uint64(buffers) {
			return errMeta
		}
	}
	return in.checkFrames(b, batch)
}

// checkFrames checks how much memory the zstd frames of a batch need. The decoder allocates
// a frame's window, at most 512 MiB, outside the budget.
func (in *reader) checkFrames(b block, batch metaTable) error {
	const zstdCodec = 1
	if batch.Offset(4+2*batchCompression) == 0 {
		return nil
	}
	if compression := batch.table(batchCompression); compression.GetByteSlot(4, 0) != zstdCodec {
		return nil
	}
	const prefix = 8 // size of the values; -1 if they are not compressed
	start, n := batch.vector(batchBuffers)
	for i := range n {
		buffer := batch.Bytes[start+16*i:]
		at, size := int64(binary.LittleEndian.Uint64(buffer)), int64(binary.LittleEndian.Uint64(buffer[8:]))
		if at < 0 || size < 0 || size > b.body || at > b.body-size {
			return errMeta
		}
		if size <= prefix {
			continue
		}
		values := io.NewSectionReader(in.r, b.offset+b.meta+at, size)
		var unpacked [prefix]byte
		if _, err := values.ReadAt(unpacked[:], 0); err != nil {
			return err
		}
		if int64(binary.LittleEndian.Uint64(unpacked[:])) < 0 {
			continue
		}
		for frame := int64(prefix); frame < size; {
			var err error
			if frame, err = in.checkFrame(values, frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFrame checks the zstd frame at an offset of r, and returns where the next one begins.
func (in *reader) checkFrame(r *io.SectionReader, at int64) (next int64, err error) {
	head := make([]byte, min(r.Size()-at, zstd.HeaderMaxSize))
	if _, err := r.ReadAt(head, at); err != nil {
		return 0, err
	}
	var frame zstd.Header
	if err := frame.Decode(head); err != nil {
		return 0, fmt.Errorf("damaged: %w", err)
	}
	at += int64(frame.HeaderSize)
	if frame.Skippable {
		return at + int64(frame.SkippableSize), nil
	}
	if need := max(frame.WindowSize, frame.FrameContentSize); need > uint64(memoryOf(in.size)) {
		return 0, fmt.Errorf("damaged: a frame needs %d bytes of memory, and a file of its size at most %d", need, memoryOf(in.size))
	}
	const repeated = 1 // the type of a block that has one byte for all
	for last := false; !last; {
		var block [3]byte // bit 0: it is the last; bits 1 and 2: its type; the others: its size
		if _, err := r.ReadAt(block[:], at); err != nil {
			return 0, fmt.Errorf("damaged: a frame without end: %w", err)
		}
		bits := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		last = bits&1 != 0
		at += int64(len(block))
		if bits>>1&3 == repeated {
			at++
		} else {
			at += bits >> 3
		}
	}
	if frame.HasCheckSum {
		at += 4
	}
	return at, nil
}

// metaTable is a table of a flatbuffer. Its methods panic if an offset leads out of the
// buffer.
type metaTable struct{ flatbuffers.Table }

// table returns the table in a slot.
func (t metaTable) table(slot int) metaTable {
	at := t.Offset(flatbuffers.VOffsetT(4 + 2*slot))
	if at == 0 {
		panic("metadata without a part that it needs")
	}
	return metaTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(flatbuffers.UOffsetT(at) + t.Pos)}}
}

// vector returns the position and the length of the list in a slot.
func (t metaTable) vector(slot int) (start, n int) {
	at := flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
	if at == 0 {
		return 0, 0
	}
	return int(t.Vector(at)), t.VectorLen(at)
}

// list returns an error if the list in a slot, whose elements have this size, does not end
// within the buffer.
func (t metaTable) list(slot, size int) error {
	if start, n := t.vector(slot); n < 0 || start < 0 || start > len(t.Bytes) || n > (len(t.Bytes)-start)/size {
		return errMeta
	}
	return nil
}

// fields checks a list of fields and their children.
func (t metaTable) fields(slot, depth int, seen *int) error {
	if err := t.list(slot, 4); err != nil {
		return err
	}
	start, n := t.vector(slot)
	if *seen += n; *seen > maxFields || depth > maxDepth {
		return fmt.Errorf("more than %d columns, or columns within columns to a depth of more than %d", maxFields, maxDepth)
	}
	for i := range n {
		field := metaTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(flatbuffers.UOffsetT(start + 4*i))}}
		if err := errors.Join(field.list(fieldMetadata, 4), field.fields(fieldChildren, depth+1, seen)); err != nil {
			return err
		}
		const union = 14 // the only type with a list
		if field.GetByteSlot(4+2*(fieldType-1), 0) == union {
			return errors.New("a column of a type (union) that is not read")
		}
	}
	return nil
}
