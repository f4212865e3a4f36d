package table

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func encodeGroups(t testing.TB, ps []*profile.Profile, rows int) []byte {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, writeParquet(&out, profile.List(ps), rows))
	return out.Bytes()
}

func TestParquetMetadata(t *testing.T) {
	in, err := file.NewParquetReader(bytes.NewReader(encodeGroups(t, jobs.MixedTimings("run")[1:2], groupRows)))
	testenv.NoError(t, err)
	meta := in.MetaData().KeyValueMetadata()
	for key, want := range map[string]string{"mpitrace.timing": "sampled", "mpitrace.receives": "off"} {
		if got := meta.FindValue(key); got == nil || *got != want {
			t.Errorf("%s: %v, want %s", key, got, want)
		}
	}
}

// TestManyGroups writes row groups that end within a process, with texts that
// other groups do not have, and one column of nulls only.
func TestManyGroups(t *testing.T) {
	ps := jobs.Full("run")
	for _, p := range ps[:2] {
		for i := range p.Rows {
			p.Rows[i].MinNs, p.Rows[i].MaxNs = 0, 0
		}
	}
	var calls []string
	var bytes, maxNs []int64
	for _, p := range ps {
		for _, r := range p.Rows {
			calls, bytes, maxNs = append(calls, r.Call), append(bytes, int64(r.Bytes)), append(maxNs, int64(r.MaxNs))
		}
	}
	for _, rows := range []int{7, 15, 16, 59, 60, 61, groupRows} {
		data := encodeGroups(t, ps, rows)
		var texts []string
		for _, text := range tabletest.ParquetColumn[parquet.ByteArray](t, data, "call") {
			texts = append(texts, string(text))
		}
		for name, diff := range map[string]string{"call": cmp.Diff(calls, texts),
			"bytes": cmp.Diff(bytes, tabletest.ParquetColumn[int64](t, data, "bytes")), "max_ns": cmp.Diff(maxNs, tabletest.ParquetColumn[int64](t, data, "max_ns"))} {
			if diff != "" {
				t.Errorf("groups of %d rows: column %s (-want +got):\n%s", rows, name, diff)
			}
		}
	}
}

// TestDiskFull checks that write errors are reported, of which the library
// ignores some and panics on others.
func TestDiskFull(t *testing.T) {
	ps := profile.List(jobs.Full("run"))
	size := len(encodeGroups(t, ps, groupRows))
	for room := 0; room < size; room += 997 {
		if err := WriteParquet(&testenv.FullWriter{Room: room}, ps); !errors.Is(err, testenv.ErrFull) {
			t.Fatalf("room for %d of %d bytes: error %v", room, size, err)
		}
	}
}
