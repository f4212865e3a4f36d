package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// UnitSource calls f with the units of a run, in order.
type UnitSource func(f func(*io.SectionReader) error) error

// JoinUnits writes the tables of a run. The units must have been written with
// the same dictionaries. Their record batches are copied as they are. If pvars
// is nil, the table of performance variables is not written.
func JoinUnits(profiles, comms, ranks, pvars io.Writer, d *Dictionaries, units UnitSource) error {
	communicators := newCommTable(comms)
	var sources []string
	err := units(func(r *io.SectionReader) error {
		end, err := readUnitEnd(r)
		sources = append(sources, end.Sources...)
		for i := range end.Comms {
			communicators.merge(end.Comms[i].row())
		}
		return err
	})
	if err != nil {
		return err
	}
	tables := map[unitTable]*joinedTable{
		unitProfile: newJoinedTable(profiles, tableProfile, ProfileColumns, d, &d.Profile, nil),
		unitRanks:   newJoinedTable(ranks, tableRanks, RankColumns, d, &d.Ranks, sources),
	}
	if pvars != nil {
		tables[unitPvars] = newJoinedTable(pvars, tablePvars, PvarColumns, d, &d.Pvars, nil)
	}
	if err := joinBatches(tables, units); err != nil {
		return err
	}
	if err := joinHeader(tables[unitProfile], d, units); err != nil {
		return err
	}
	delete(tables, unitProfile)
	for _, t := range tables {
		if err := t.close(0, new(header)); err != nil {
			return err
		}
	}
	if err := communicators.start(); err != nil {
		return err
	}
	return communicators.close()
}

func joinBatches(tables map[unitTable]*joinedTable, units UnitSource) error {
	for _, t := range tables {
		if err := t.begin(); err != nil {
			return err
		}
	}
	err := units(func(r *io.SectionReader) error {
		end, err := readUnitEnd(r)
		if err != nil {
			return err
		}
		return eachChunk(r, end.Chunks, func(c unitChunk, in io.Reader) error {
			if t := tables[c.Table]; t != nil {
				return t.copy(c, in)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := t.endBatches(); err != nil {
			return err
		}
	}
	return nil
}

// joinHeader writes the header of profile.arrow, and the end of the file.
func joinHeader(t *joinedTable, d *Dictionaries, units UnitSource) error {
	start := t.seal.at
	err := units(func(r *io.SectionReader) error {
		end, err := readUnitEnd(r)
		if err != nil {
			return err
		}
		return eachChunk(r, end.Chunks, func(c unitChunk, in io.Reader) error {
			if c.Table != unitBlocks {
				return nil
			}
			_, err := io.Copy(t.seal, in)
			return err
		})
	})
	if err != nil {
		return err
	}
	head := d.header()
	head.named = d.Places
	return t.close(t.seal.at-start, &head)
}

// merge adds a row of a unit after those of earlier units.
func (t *commRows) merge(r *communicatorRow) {
	if t.index == nil {
		t.index = map[commOfRun]*communicatorRow{}
	}
	known := t.index[commOfRun{r.run, r.ID}]
	if known == nil {
		t.index[commOfRun{r.run, r.ID}] = r
		t.rows = append(t.rows, r)
		return
	}
	known.seenBy += r.seenBy
	known.freedBy += r.freedBy
	known.folded = max(known.folded, r.folded)
}

// joinedTable writes an Arrow file of record batches that are already encoded.
type joinedTable struct {
	name   string
	seal   *sealer
	schema *arrow.Schema
	write  func() error // writes an empty batch, and before it the dictionaries, to messages
	first  []message    // result of write
	blocks [2][]block   // dictionaries, record batches
}

// block is the position of a message in the file.
type block struct {
	offset   int64
	metadata int32
	body     int64
}

const (
	dictionaryBlocks = 0
	batchBlocks      = 1
)

func newJoinedTable[T any](w io.Writer, name string, cols []Column[T], d *Dictionaries, words *ColumnWords, sources []string) *joinedTable {
	t := &joinedTable{name: name, seal: newSealer(w)}
	rows := newArrowWriter(nil, cols, nil)
	for i, c := range rows.cols {
		if c, ok := c.(*wordColumn[T]); ok {
			all := words.Columns[i]
			if c.of.Name == sourceColumn {
				all = sources
			}
			for _, word := range all {
				c.texts.Append(valid(word))
			}
		}
	}
	t.schema = schemaOf(cols, d.metadata(name, metadataOf(name, cols)))
	rows.schema = t.schema
	rows.out = newMessageWriter(t.schema, func(messages []message) error {
		t.first = messages
		return nil
	})
	t.write = rows.flush
	return t
}

// begin writes the schema and the dictionaries.
func (t *joinedTable) begin() error {
	if err := t.write(); err != nil {
		return err
	}
	start := append([]byte(magic), 0, 0) // messages are aligned to 8 bytes
	if _, err := t.seal.Write(start); err != nil {
		return err
	}
	for i, m := range t.first[:len(t.first)-1] {
		if i > 0 { // the first is the schema
			t.add(dictionaryBlocks, len(m.metadata), int64(len(m.body)))
		}
		if err := t.writeMessage(m); err != nil {
			return err
		}
	}
	return nil
}

func (t *joinedTable) add(kind, metadata int, body int64) {
	t.blocks[kind] = append(t.blocks[kind], block{t.seal.at, int32(metadata), body})
}

func (t *joinedTable) writeMessage(m message) error {
	_, err := t.seal.Write(m.metadata)
	if err == nil {
		_, err = t.seal.Write(m.body)
	}
	return err
}

// copy copies a message.
func (t *joinedTable) copy(c unitChunk, in io.Reader) error {
	t.add(batchBlocks, int(c.Metadata), c.Body)
	_, err := io.Copy(t.seal, in)
	return err
}

// endBatches ends the stream of messages.
func (t *joinedTable) endBatches() error {
	// An empty table has one empty batch: readers need its dictionaries.
	if empty := t.first[len(t.first)-1]; len(t.blocks[batchBlocks]) == 0 {
		t.add(batchBlocks, len(empty.metadata), int64(len(empty.body)))
		if err := t.writeMessage(empty); err != nil {
			return err
		}
	}
	_, err := t.seal.Write(endOfStream)
	return err
}

// close writes the part behind the blocks of processes, which are written
// already, and the footer.
func (t *joinedTable) close(blocks int64, head *header) error {
	common, err := head.shared(t.name)
	if err != nil {
		return err
	}
	return t.seal.close(blocks, common, func() error {
		footer, err := t.footer()
		if err == nil {
			_, err = t.seal.Write(footer)
		}
		return err
	})
}

// footer returns the footer of the file, its length, and the magic bytes. The
// Arrow library makes it, but only with the positions of batches that it has
// written itself. Those of t replace them.
func (t *joinedTable) footer() ([]byte, error) {
	var out bytes.Buffer
	empty, err := ipc.NewFileWriter(Position(&out), ipc.WithSchema(t.schema), ipc.WithZstd())
	if err == nil {
		err = empty.Close()
	}
	if err != nil {
		return nil, err
	}
	at, err := FindFooter(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		return nil, err
	}
	footer := out.Bytes()[at : out.Len()-4-len(magic)]
	const firstField = 2 // of the table Footer in Arrow's File.fbs: dictionaries, followed by recordBatches
	for i, blocks := range t.blocks {
		if footer, err = setBlocks(footer, firstField+i, blocks); err != nil {
			return nil, err
		}
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return append(footer, magic...), nil
}

// setBlocks sets a field of a footer to a vector of blocks, which it appends.
// See "FlatBuffer internals": a table begins with the distance to its vtable,
// which has the position of each field, and a field with a vector has the
// distance to it.
func setBlocks(footer []byte, field int, blocks []block) ([]byte, error) {
	number := func(at, size int) int {
		if at < 0 || at+size > len(footer) {
			return -1
		}
		if size == 2 {
			return int(binary.LittleEndian.Uint16(footer[at:]))
		}
		return int(int32(binary.LittleEndian.Uint32(footer[at:])))
	}
	table := number(0, 4)
	vtable := table - number(table, 4)
	at := table + number(vtable+4+2*field, 2)
	if at <= table || number(at, 4) < 0 {
		return nil, errors.New("the Arrow library makes footers of an unknown form")
	}
	for len(footer)%8 != 4 { // the blocks behind the vector's length are aligned to 8 bytes
		footer = append(footer, 0)
	}
	binary.LittleEndian.PutUint32(footer[at:], uint32(len(footer)-at))
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(blocks)))
	for _, b := range blocks {
		footer = binary.LittleEndian.AppendUint64(footer, uint64(b.offset))
		footer = binary.LittleEndian.AppendUint64(footer, uint64(uint32(b.metadata)))
		footer = binary.LittleEndian.AppendUint64(footer, uint64(b.body))
	}
	return footer, nil
}
