// Package parquetfile writes Parquet files, several times faster than the Arrow
// library does: it encodes whole columns of a row group at once, and looks up
// nothing for each value. Pages are compressed with the fastest level of zstd.
//
// The library makes the footer. Each column of a row group has one data page.
package parquetfile

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/klauspost/compress/zstd"
)

const magic = "PAR1"

// Writer writes a file. It keeps the first error of the output or of the metadata, and writes
// nothing after it.
type Writer struct {
	out    io.Writer
	err    error
	at     int64 // offset in the file
	props  *parquet.WriterProperties
	meta   *metadata.FileMetaDataBuilder
	sorted []int
	groups int
	page   []byte
	packed []byte
	pack   *zstd.Encoder
}

// Options are settings of a file.
type Options struct {
	CreatedBy string
	Metadata  map[string]string
	SortedBy  []int // columns by which the rows are sorted, in ascending order
	Packer    *zstd.Encoder
}

// NewWriter returns a writer of a file with these columns, which are nodes of
// root.
func NewWriter(w io.Writer, root *schema.GroupNode, o Options) *Writer {
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCreatedBy(o.CreatedBy), parquet.WithVersion(parquet.V2_LATEST))
	out := &Writer{out: w, props: props, sorted: o.SortedBy, pack: o.Packer,
		meta: metadata.NewFileMetadataBuilder(schema.NewSchema(root), props, metadata.NewKeyValueMetadata())}
	out.write([]byte(magic))
	out.SetMetadata(o.Metadata)
	return out
}

// SetMetadata adds metadata, which must be UTF-8.
func (w *Writer) SetMetadata(meta map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		w.err = cmp.Or(w.err, w.meta.AppendKeyValueMetadata(key, meta[key]))
	}
}

func (w *Writer) write(p []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
	w.at += int64(len(p))
}

// Size returns the number of bytes written.
func (w *Writer) Size() int64 { return w.at }

// WriteGroup writes a row group. chunks has one for each column.
func (w *Writer) WriteGroup(rows int, chunks []*Chunk) error {
	group := w.meta.AppendRowGroup()
	group.SetNumRows(rows)
	raw := int64(0)
	for _, c := range chunks {
		n, err := w.writeChunk(c, group.NextColumnChunk())
		if err != nil {
			return err
		}
		raw += n
	}
	w.groups++
	if err := group.Finish(raw, int16(w.groups-1)); err != nil {
		return err
	}
	return w.err
}

// writeChunk writes a column and returns its size without compression.
func (w *Writer) writeChunk(c *Chunk, meta *metadata.ColumnChunkMetaDataBuilder) (raw int64, err error) {
	info := metadata.ChunkMetaInfo{NumValues: int64(c.count), IndexPageOffset: -1}
	pages := metadata.EncodingStats{DataEncodingStats: map[parquet.Encoding]int32{c.encoding: 1}}
	start := w.at
	if c.words > 0 {
		info.DictPageOffset = start
		pages.DictEncodingStats = map[parquet.Encoding]int32{parquet.Encodings.Plain: 1}
		raw += w.writePage(dictionaryPage, c.words, parquet.Encodings.Plain, c.dictionary)
	}
	info.DataPageOffset = w.at
	w.page = append(append(w.page[:0], c.levels...), c.values...)
	raw += w.writePage(dataPage, c.count, c.encoding, w.page)
	info.CompressedSize, info.UncompressedSize = w.at-start, raw
	stats := metadata.EncodedStatistics{HasMin: c.min != nil, HasMax: c.max != nil, Min: c.min, Max: c.max, Signed: c.signed}
	stats.SetNullCount(int64(c.nulls))
	meta.SetStats(stats)
	if err := meta.Finish(info, c.words > 0, false, pages, nil); err != nil {
		return 0, err
	}
	if c.words == 0 { // the library assumes the encoding of its own writer
		encodings := meta.Contents().MetaData.Encodings
		encodings[0] = 0
		if c.encoding == parquet.Encodings.DeltaBinaryPacked {
			encodings[0] = 5
		}
	}
	return raw, nil
}

// writePage writes a page and returns its size without compression.
func (w *Writer) writePage(page, values int, encoding parquet.Encoding, raw []byte) int64 {
	w.packed = w.pack.EncodeAll(raw, w.packed[:0])
	header := appendHeader(nil, page, values, encoding, len(raw), len(w.packed))
	w.write(header)
	w.write(w.packed)
	return int64(len(header) + len(raw))
}

// Close writes the footer.
func (w *Writer) Close() error {
	meta, err := w.meta.Finish()
	if err != nil {
		return err
	}
	for _, group := range meta.RowGroups {
		for _, column := range w.sorted {
			by := newOf(group.SortingColumns)
			by.ColumnIdx = int32(column)
			group.SortingColumns = append(group.SortingColumns, by)
		}
	}
	start := w.at
	if _, err := meta.WriteTo(writerFunc(w.write), nil); err != nil {
		return err
	}
	w.write(append(little.AppendUint32(nil, uint32(w.at-start)), magic...))
	return w.err
}

// newOf returns a new element for a slice of pointers. The library does not
// export the type of sorting columns.
func newOf[T any]([]*T) *T { return new(T) }

// writerFunc writes by a function that keeps errors to itself.
type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
