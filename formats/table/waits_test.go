package table

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestWaits(t *testing.T) {
	waits := []profile.Wait{
		{Rank: 0, Event: 17, Peer: 3, Pattern: "late-sender", Start: 1_795_000_000_000_000_001, Duration: 50_000_000, Callsite: "f a.c:1", Comm: "MPI_COMM_WORLD", PeerCallsite: "s a.c:9", Window: 7},
		{Rank: 3, Event: 1 << 40, Peer: 0, Pattern: "wait-at-nxn", Start: 1, Duration: 2, Callsite: "g b.c:2", Comm: "row#12345678", PeerCallsite: "g b.c:2"},
	}
	for _, n := range []int{0, 2} {
		var b bytes.Buffer
		testenv.NoError(t, WriteWaits(&b, waits[:n]))
		f, err := ipc.NewFileReader(bytes.NewReader(b.Bytes()))
		testenv.NoError(t, err)
		batch, err := f.Record(0)
		testenv.NoError(t, err)
		got := make([]profile.Wait, batch.NumRows())
		text := func(column, i int) string {
			d := batch.Column(column).(*array.Dictionary)
			return d.Dictionary().(*array.String).Value(d.GetValueIndex(i))
		}
		for i := range got {
			got[i] = profile.Wait{Rank: int(batch.Column(0).(*array.Int32).Value(i)), Event: int64(batch.Column(1).(*array.Uint64).Value(i)),
				Pattern: text(2, i), Peer: int(batch.Column(3).(*array.Int32).Value(i)), Start: batch.Column(4).(*array.Int64).Value(i),
				Duration: batch.Column(5).(*array.Int64).Value(i), Callsite: text(6, i), Comm: text(7, i), PeerCallsite: text(8, i),
				Window: int(batch.Column(9).(*array.Int32).Value(i))}
		}
		testenv.Equal(t, waits[:n], got)
	}
}
