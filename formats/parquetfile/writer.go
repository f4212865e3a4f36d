// Package parquetfile writes the table of facts as Parquet files with
// zstd-compressed pages: what DuckDB, Spark, pandas, polars and others read, in
// parallel where files are many. Profiles are not read back from Parquet.
//
// The columns are those of profile.arrow. Its schema is in the metadata, so that
// readers that know Arrow give the same types (texts as categories), units and
// meanings.
//
// It uses the library's parquet/file and not its parquet/pqarrow, which would
// bring gRPC along.
package parquetfile

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/profile"
)

// groupRows is the most rows of a row group: what one thread of a reader takes
// at a time, and what the writer holds in memory.
const groupRows = 128 << 10

// dictionaryLimit is how large a column's dictionary may grow before its texts
// are repeated instead.
const dictionaryLimit = 16 << 20

// Write writes the table of facts of all the profiles, in the order of the
// source, each profile's rows in their own order. It goes over the source once.
func Write(w io.Writer, src profile.Source) error {
	if err := write(w, src, groupRows); err != nil {
		return fmt.Errorf("write parquet table: %w", err)
	}
	return nil
}

func write(w io.Writer, src profile.Source, groupRows int) error {
	meta, err := fileMetadata()
	if err != nil {
		return err
	}
	sink := &sink{w: w}
	t := &writer{cols: newColumns(), sink: sink,
		out: file.NewParquetWriter(sink, schemaNode(), file.WithWriterProps(properties()), file.WithWriteMetadata(meta))}
	var settings facts.Settings
	err = src.Each(func(p *profile.Profile) error {
		settings.Note(p)
		for f := range facts.Of(p) {
			t.add(f)
			if t.n == groupRows {
				if err := t.flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	keys, values := settings.Metadata()
	for i, key := range keys {
		if err := t.out.AppendKeyValueMetadata(key, values[i]); err != nil {
			return err
		}
	}
	return errors.Join(t.out.Close(), sink.err)
}

// sink keeps the first error for itself: the library drops some, and panics on
// others.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}

// common are the properties of all our files.
func common() []parquet.WriterProperty {
	return []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCreatedBy(arrowfile.Tool),
		parquet.WithDictionaryPageSizeLimit(dictionaryLimit),
		parquet.WithVersion(parquet.V2_LATEST),
	}
}

func properties() *parquet.WriterProperties {
	props := common()
	for _, c := range facts.Columns {
		if c.Unit == "ns" { // no two are alike
			props = append(props, parquet.WithDictionaryFor(c.Name, false))
		}
	}
	return parquet.NewWriterProperties(props...)
}

// fileMetadata is what the metadata of the Arrow file says, and the Arrow schema
// as Arrow's own libraries keep it in Parquet files.
func fileMetadata() (metadata.KeyValueMetadata, error) {
	var out metadata.KeyValueMetadata
	s := arrowfile.FactSchema()
	for i, key := range s.Metadata().Keys() {
		if err := out.Append(key, s.Metadata().Values()[i]); err != nil {
			return nil, err
		}
	}
	var message bytes.Buffer
	if err := ipc.NewWriter(&message, ipc.WithSchema(s)).Close(); err != nil {
		return nil, err
	}
	return out, out.Append("ARROW:schema", base64.StdEncoding.EncodeToString(message.Bytes()))
}

func schemaNode() *schema.GroupNode {
	fields := make(schema.FieldList, len(facts.Columns))
	for i, c := range facts.Columns {
		repetition := parquet.Repetitions.Required
		if c.Null {
			repetition = parquet.Repetitions.Optional
		}
		fields[i] = schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.Name, repetition, logicalType(c.Kind), physicalType(c.Kind), 0, -1))
	}
	return schema.MustGroup(schema.NewGroupNode("facts", parquet.Repetitions.Required, fields, -1))
}

func logicalType(k facts.Kind) schema.LogicalType {
	switch k {
	case facts.Int32:
		return schema.NewIntLogicalType(32, true)
	case facts.Uint8:
		return schema.NewIntLogicalType(8, false)
	case facts.Uint64:
		return schema.NewIntLogicalType(64, false)
	}
	return schema.StringLogicalType{}
}

func physicalType(k facts.Kind) parquet.Type {
	switch k {
	case facts.Int32, facts.Uint8:
		return parquet.Types.Int32
	case facts.Uint64:
		return parquet.Types.Int64
	}
	return parquet.Types.ByteArray
}

// writer gathers rows and writes them, a row group at a time.
type writer struct {
	cols []column
	sink *sink
	out  *file.Writer
	n    int // rows since the last group
}

func (t *writer) add(f facts.Fact) {
	for _, c := range t.cols {
		c.add(f)
	}
	t.n++
}

func (t *writer) flush() error {
	if t.n == 0 {
		return nil
	}
	t.n = 0
	return errors.Join(writeGroup(t.out, t.cols), t.sink.err)
}

// writeGroup writes what columns hold as a row group.
func writeGroup[C held](out *file.Writer, cols []C) error {
	group := out.AppendRowGroup()
	for _, c := range cols {
		chunk, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := errors.Join(c.writeTo(chunk), chunk.Close()); err != nil {
			return err
		}
	}
	return group.Close()
}
