package matrixfile

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
)

// parquetGroup is how many rows a row group has: 24 MB until it is written.
const parquetGroup = 1 << 20

// writeParquet writes the table of writeArrow as a Parquet file.
//
// It writes columns itself: the library's package pqarrow, which does so from
// Arrow's arrays, brings all of gRPC along, 30 MB of program and 9 MB of memory
// before anything is done.
func writeParquet(w io.Writer, s *Sheet, _ Quantity) error {
	root, err := s.parquetSchema()
	if err != nil {
		return err
	}
	meta := metadata.NewKeyValueMetadata()
	for key, value := range s.metadata() {
		if err := meta.Append(key, value); err != nil {
			return err
		}
	}
	stored, err := s.storedSchema()
	if err != nil {
		return err
	}
	if err := meta.Append("ARROW:schema", stored); err != nil {
		return err
	}
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("mpitrace"))
	sink := &patient{w: w}
	out := file.NewParquetWriter(sink, root, file.WithWriterProps(properties), file.WithWriteMetadata(meta))
	err = s.batches(parquetGroup, func(b *batch) error { return errors.Join(s.writeGroup(out, b), sink.err) })
	if err != nil {
		return err
	}
	return errors.Join(out.Close(), sink.err)
}

// patient keeps the first error to itself: the Parquet library panics where a
// write fails. It has no Close, so that w is not closed with the file.
type patient struct {
	w   io.Writer
	err error
}

func (p *patient) Write(b []byte) (int, error) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
	return len(b), nil
}

func (s *Sheet) parquetSchema() (*schema.GroupNode, error) {
	line := func(name string) (*schema.PrimitiveNode, error) {
		return schema.NewPrimitiveNode(name, parquet.Repetitions.Required, parquet.Types.Int32, -1, -1)
	}
	if s.Labels != nil {
		line = func(name string) (*schema.PrimitiveNode, error) {
			return schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
		}
	}
	volume := func(name string) (*schema.PrimitiveNode, error) {
		return schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, schema.NewIntLogicalType(64, false), parquet.Types.Int64, -1, -1)
	}
	if s.Symmetric {
		volume = func(name string) (*schema.PrimitiveNode, error) {
			return schema.NewPrimitiveNode(name, parquet.Repetitions.Required, parquet.Types.Double, -1, -1)
		}
	}
	var fields schema.FieldList
	for _, column := range []struct {
		name string
		node func(string) (*schema.PrimitiveNode, error)
	}{{"sender", line}, {"receiver", line}, {"messages", volume}, {"bytes", volume}} {
		node, err := column.node(column.name)
		if err != nil {
			return nil, err
		}
		fields = append(fields, node)
	}
	return schema.NewGroupNode("matrix", parquet.Repetitions.Required, fields, -1)
}

// storedSchema lets Arrow's readers find what Parquet has no word for: units,
// and that names are a dictionary.
func (s *Sheet) storedSchema() (string, error) {
	var b bytes.Buffer
	if err := ipc.NewWriter(&b, ipc.WithSchema(s.schema())).Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

func (s *Sheet) writeGroup(out *file.Writer, b *batch) error {
	group := out.AppendRowGroup()
	for _, put := range []func(file.ColumnChunkWriter) error{
		func(c file.ColumnChunkWriter) error { return s.putLines(c, b.from) },
		func(c file.ColumnChunkWriter) error { return s.putLines(c, b.to) },
		func(c file.ColumnChunkWriter) error { return putVolumes(c, b.messages) },
		func(c file.ColumnChunkWriter) error { return putVolumes(c, b.bytes) },
	} {
		column, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := put(column); err != nil {
			return err
		}
		if err := column.Close(); err != nil {
			return err
		}
	}
	return group.Close()
}

func (s *Sheet) putLines(c file.ColumnChunkWriter, at []int32) error {
	switch c := c.(type) {
	case *file.Int32ColumnChunkWriter:
		_, err := c.WriteBatch(at, nil, nil)
		return err
	case *file.ByteArrayColumnChunkWriter:
		names := make([]parquet.ByteArray, len(at))
		for i, line := range at {
			names[i] = parquet.ByteArray(s.Labels[line])
		}
		_, err := c.WriteBatch(names, nil, nil)
		return err
	}
	return errKind(c)
}

func putVolumes(c file.ColumnChunkWriter, sums []uint64) error {
	switch c := c.(type) {
	case *file.Float64ColumnChunkWriter:
		_, err := c.WriteBatch(halves(sums), nil, nil)
		return err
	case *file.Int64ColumnChunkWriter:
		bits := make([]int64, len(sums)) // unsigned by its logical type
		for i, n := range sums {
			bits[i] = int64(n)
		}
		_, err := c.WriteBatch(bits, nil, nil)
		return err
	}
	return errKind(c)
}

func errKind(c file.ColumnChunkWriter) error {
	return fmt.Errorf("column %s is of type %s", c.Descr().Name(), c.Type())
}
