package tracefile

import (
	"bytes"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// BenchmarkWriteParquet writes the events of one process: an export, the files
// of a dataset, and as a baseline the export's values by the Arrow library, which
// gets them as arrays.
func BenchmarkWriteParquet(b *testing.B) {
	for _, stream := range streams {
		l := stream.make(1, benchEvents)
		srcs := []profile.EventSource{l}
		export := func(w io.Writer) error { return WriteParquet(w, srcs) }
		// With larger groups, the library takes longer for the nulls.
		var exported bytes.Buffer
		testenv.NoError(b, writeParquet(&exported, srcs, 64<<10))
		for _, writer := range []struct {
			name  string
			write func(io.Writer) error
		}{
			{"export", export},
			{"dataset", func(w io.Writer) error {
				return WriteParts(table.Parts{Limit: table.PartLimit, Create: func(int) (io.WriteCloser, error) { return unclosed{w}, nil }}, srcs)
			}},
			{"library", libraryWriter(b, exported.Bytes())},
		} {
			b.Run(stream.name+"/"+writer.name, func(b *testing.B) { benchmarkWriter(b, l.Events.Len(), writer.write) })
		}
	}
}

func benchmarkWriter(b *testing.B, rows int, write func(io.Writer) error) {
	b.Helper()
	start := processorTime(b)
	for b.Loop() {
		testenv.NoError(b, write(io.Discard))
	}
	used := processorTime(b) - start // not of other programs, unlike b.Elapsed
	b.ReportMetric(float64(rows)*float64(b.N)/used.Seconds()/1e6, "Mrows/cpu-s")
	var out bytes.Buffer
	testenv.NoError(b, write(&out))
	b.ReportMetric(float64(out.Len())/float64(rows), "B/row")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	testenv.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// libraryWriter returns a function that writes the values of a file by the
// Arrow library, with zstd, dictionaries and, for the same columns, differences.
func libraryWriter(b *testing.B, data []byte) func(io.Writer) error {
	b.Helper()
	in, err := file.NewParquetReader(bytes.NewReader(data))
	testenv.NoError(b, err)
	props := []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Zstd), parquet.WithVersion(parquet.V2_LATEST)}
	for _, c := range exportColumns() {
		if c.Unlike == table.Neighbors {
			props = append(props, parquet.WithDictionaryFor(c.Name, false), parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
	}
	var groups [][]func(file.ColumnChunkWriter) error
	for g := range in.NumRowGroups() {
		var columns []func(file.ColumnChunkWriter) error
		for i := range in.MetaData().Schema.NumColumns() {
			columns = append(columns, chunkCopier(b, in.RowGroup(g), i))
		}
		groups = append(groups, columns)
	}
	return func(w io.Writer) error {
		out := file.NewParquetWriter(w, in.MetaData().Schema.Root(), file.WithWriterProps(parquet.NewWriterProperties(props...)))
		for _, columns := range groups {
			if err := writeLibraryGroup(out.AppendRowGroup(), columns); err != nil {
				return err
			}
		}
		return out.Close()
	}
}

func writeLibraryGroup(group file.SerialRowGroupWriter, columns []func(file.ColumnChunkWriter) error) error {
	for _, write := range columns {
		chunk, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := write(chunk); err != nil {
			return err
		}
		if err := chunk.Close(); err != nil {
			return err
		}
	}
	return group.Close()
}

// chunkCopier reads a column of a row group, and returns a function that writes
// it.
func chunkCopier(b *testing.B, group *file.RowGroupReader, column int) func(file.ColumnChunkWriter) error {
	b.Helper()
	chunk, err := group.Column(column)
	testenv.NoError(b, err)
	switch chunk.(type) {
	case *file.Int32ColumnChunkReader:
		return copier[int32](b, chunk, group.NumRows())
	case *file.Int64ColumnChunkReader:
		return copier[int64](b, chunk, group.NumRows())
	}
	return copier[parquet.ByteArray](b, chunk, group.NumRows())
}

func copier[V any](b *testing.B, chunk file.ColumnChunkReader, rows int64) func(file.ColumnChunkWriter) error {
	b.Helper()
	values, levels := make([]V, rows), make([]int16, rows)
	total, read, err := chunk.(interface {
		ReadBatch(n int64, values []V, defLevels, repLevels []int16) (total int64, valuesRead int, err error)
	}).ReadBatch(rows, values, levels, nil)
	if err != nil || total != rows {
		b.Fatalf("read %d of %d rows: %v", total, rows, err)
	}
	if chunk.Descriptor().MaxDefinitionLevel() == 0 {
		levels = nil
	}
	return func(out file.ColumnChunkWriter) error {
		typed, ok := out.(interface {
			WriteBatch(values []V, defLevels, repLevels []int16) (int64, error)
		})
		if !ok {
			return fmt.Errorf("column is written as %T", out)
		}
		_, err := typed.WriteBatch(values[:read], levels, nil)
		return err
	}
}
