package tracefile

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// cell returns a value of a column as read by the Arrow library; nil for null.
func cell(column arrow.Array, i int) any {
	if column.IsNull(i) {
		return nil
	}
	switch c := column.(type) {
	case *array.Dictionary:
		return c.Dictionary().(*array.String).Value(c.GetValueIndex(i))
	case *array.Int64:
		return c.Value(i)
	case *array.Uint64:
		return c.Value(i)
	case *array.Int32:
		return c.Value(i)
	case *array.Uint32:
		return c.Value(i)
	}
	return "of no type that a column has"
}

// row returns the values of all columns for an event.
func row(l *jobs.Process, i int) []any {
	e := &l.Events
	k := l.Kinds[e.Kind[i]]
	var tag, comm, peer, window any = e.Tag[i], nil, nil, nil
	if e.Tag[i] == profile.NoTag {
		tag = nil
	}
	if k.Comm >= 0 && int(k.Comm) < len(l.Trace().Comms) {
		comm = l.Trace().Comms[k.Comm].Label
	}
	if k.Peer >= 0 {
		peer = k.Peer
	}
	if k.Window > 0 {
		window = k.Window
	}
	direction := k.Direction.String()
	if k.Action == profile.Abnormal {
		direction = k.AbnormalKind.String()
	}
	peerKind := map[int32]string{profile.PeerNone: "none", profile.PeerProcNull: "proc_null", profile.PeerAnySource: "any_source",
		profile.PeerRoot: "root", profile.PeerLost: "lost", profile.PeerElsewhere: "elsewhere"}[min(k.Peer, 0)]
	if peer != nil {
		peerKind = "rank"
	}
	return []any{e.Start[i], e.Duration[i], e.Bytes[i], tag, e.Link[i], e.Seq[i], e.Kind[i], k.Call, k.Class.String(),
		k.Action.String(), direction, comm, peer, peerKind, k.Callsite, k.Slice, k.Thread, window}
}

// TestArrowLibrary reads all values with the Arrow library, with the
// dictionaries before the batches and after them.
func TestArrowLibrary(t *testing.T) {
	want := random(3, 1000)
	for name, held := range map[string]int{"dictionaries first": 1 << 20, "dictionaries last": 0} {
		t.Run(name, func(t *testing.T) {
			in, err := ipc.NewFileReader(bytes.NewReader(write(t, want, 300, held)))
			testenv.NoError(t, err)
			at := 0
			for b := range in.NumRecords() {
				batch, err := in.RecordAt(b)
				testenv.NoError(t, err)
				for i := range int(batch.NumRows()) {
					var got []any
					for _, column := range batch.Columns() {
						got = append(got, cell(column, i))
					}
					if diff := cmp.Diff(row(want, at), got); diff != "" {
						t.Fatalf("row %d:\n%s", at, diff)
					}
					at++
				}
			}
			if at != 1000 {
				t.Errorf("%d rows", at)
			}
		})
	}
}

// TestStream reads a file from its start with the Arrow library, as programs do
// that do not use the footer.
func TestStream(t *testing.T) {
	r, err := ipc.NewReader(bytes.NewReader(write(t, random(4, 1000), 300, 1<<20)[headLen:]))
	testenv.NoError(t, err)
	rows := int64(0)
	for r.Next() {
		rows += r.Record().NumRows()
	}
	if r.Err() != nil || rows != 1000 {
		t.Errorf("%d rows, error %v", rows, r.Err())
	}
}

func TestMetadata(t *testing.T) {
	in, err := ipc.NewFileReader(bytes.NewReader(write(t, few(), 100, 1<<20)))
	testenv.NoError(t, err)
	md := in.Schema().Metadata()
	for key, want := range map[string]string{"mpitrace.format": "1", "mpitrace.tool": "mpitrace", "mpitrace.table": "events"} {
		if got, _ := md.GetValue(key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	text, _ := md.GetValue("mpitrace.trace")
	want, got := testTrace, profile.Trace{}
	want.Events = 3
	testenv.NoError(t, json.Unmarshal([]byte(text), &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace:\n%s", diff)
	}
	for i, f := range in.Schema().Fields() {
		unit, _ := f.Metadata.GetValue("unit")
		doc, _ := f.Metadata.GetValue("doc")
		if c := Columns()[i]; c.Name != f.Name || c.Unit != unit || c.Doc != doc || unit == "" || doc == "" {
			t.Errorf("field %s has the metadata %v", f.Name, f.Metadata)
		}
	}
}
