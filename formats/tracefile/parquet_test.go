package tracefile

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// twoRanks returns sources of seven and of three events, whose kinds are
// numbered differently.
func twoRanks() []profile.EventSource {
	a, b := jobs.NewProcess("run", 0, 2), jobs.NewProcess("run", 1, 2)
	a.Batch = 3
	for i := range int64(6) {
		a.Add(jobs.Send([]string{"Send", "Isend"}[i%2], 1<<60+i, 1<<60+i*i+1, 1, uint64(i)<<60, uint32(1<<32-1-i)))
	}
	a.Add(jobs.Call("Finalize", 1<<62, 1<<62))
	b.Add(jobs.Call("Init", -7, 0))
	for i := range int64(2) {
		e := jobs.Recv("Recv", i, i+1, profile.PeerAnySource, 0, 0)
		e.Tag, e.Link = profile.AnyTag, int32(-i)
		b.Add(e)
	}
	return []profile.EventSource{a, b}
}

func TestParquet(t *testing.T) {
	for _, groupRows := range []int{1, 2, 3, 4, 7, 10, 100} {
		var out bytes.Buffer
		testenv.NoError(t, writeParquet(&out, twoRanks(), groupRows))
		check := func(name string, got, want any) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("groups of %d rows: %s (-want +got):\n%s", groupRows, name, diff)
			}
		}
		const first = 1 << 60
		check("rank", tabletest.ParquetColumn[int32](t, out.Bytes(), "rank"), []int32{0, 0, 0, 0, 0, 0, 0, 1, 1, 1})
		check("start_ns", tabletest.ParquetColumn[int64](t, out.Bytes(), "start_ns"), []int64{first, first + 1, first + 2, first + 3, first + 4, first + 5, 1 << 62, -7, 0, 1})
		check("duration_ns", tabletest.ParquetColumn[int64](t, out.Bytes(), "duration_ns"), []int64{1, 1, 3, 7, 13, 21, 0, 7, 1, 1})
		check("bytes", tabletest.ParquetColumn[int64](t, out.Bytes(), "bytes"), []int64{0, 1 << 60, 2 << 60, 3 << 60, 4 << 60, 5 << 60, 0, 0, 0, 0})
		check("tag", tabletest.ParquetColumn[int32](t, out.Bytes(), "tag"), []int32{7, 7, 7, 7, 7, 7, 0, 0, -2, -2})
		check("link", tabletest.ParquetColumn[int32](t, out.Bytes(), "link"), []int32{0, 0, 0, 0, 0, 0, 0, 0, 0, -1})
		check("seq", tabletest.ParquetColumn[int32](t, out.Bytes(), "seq"), []int32{-1, -2, -3, -4, -5, -6, 0, 0, 0, 0}) // unsigned according to the schema
		check("peer", tabletest.ParquetColumn[int32](t, out.Bytes(), "peer"), []int32{1, 1, 1, 1, 1, 1, 0, 0, 0, 0})
		var calls []string
		for _, c := range tabletest.ParquetColumn[parquet.ByteArray](t, out.Bytes(), "call") {
			calls = append(calls, string(c))
		}
		check("call", calls, []string{"Send", "Isend", "Send", "Isend", "Send", "Isend", "Finalize", "Init", "Recv", "Recv"})
	}
}

func TestParquetDiskFull(t *testing.T) {
	var out bytes.Buffer
	testenv.NoError(t, WriteParquet(&out, twoRanks()))
	for room := 0; room < out.Len(); room += 97 {
		if err := WriteParquet(&testenv.FullWriter{Room: room}, twoRanks()); !errors.Is(err, testenv.ErrFull) {
			t.Fatalf("room for %d of %d bytes: error %v", room, out.Len(), err)
		}
	}
	broken := jobs.NewProcess("run", 0, 1)
	broken.Err = errors.New("damaged")
	if err := WriteParquet(io.Discard, []profile.EventSource{broken}); !errors.Is(err, broken.Err) {
		t.Errorf("error %v", err)
	}
}
