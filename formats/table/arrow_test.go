package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func encode(t testing.TB, ps []*profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, WriteProfile(&out, profile.List(ps)))
	return out.Bytes()
}

func TestManyBatches(t *testing.T) {
	const n = 2*maxBatch + 5
	p := jobs.FullRank("run", 0)
	p.Rows = slices.Repeat(p.Rows[1:2], n)
	for i := range p.Rows {
		p.Rows[i].Callsite += uint64(i) // the dictionary grows to the end
		p.Rows[i].Bytes = uint64(i)
	}
	data := encode(t, []*profile.Profile{p})
	in := open(t, data)
	if in.NumRecords() != 3 {
		t.Errorf("%d record batches, want 3", in.NumRecords())
	}
	row := 0
	for i := range in.NumRecords() {
		batch, err := in.RecordAt(i)
		testenv.NoError(t, err)
		addresses := batch.Column(batch.Schema().FieldIndices("address")[0])
		bytes := batch.Column(batch.Schema().FieldIndices("bytes")[0])
		for k := range addresses.Len() {
			at := p.Place(p.Rows[row].Callsite)
			if want := at.Address(); bytes.ValueStr(k) != fmt.Sprint(row) || addresses.ValueStr(k) != want {
				t.Fatalf("row %d: %s bytes at %s, want %s", row, bytes.ValueStr(k), addresses.ValueStr(k), want)
			}
			row++
		}
	}
	if row != n {
		t.Errorf("%d rows, want %d", row, n)
	}
}

// once is a source that can be read once.
type once struct {
	profile.List
	read int
}

func (o *once) Each(f func(*profile.Profile) error) error {
	o.read++
	return o.List.Each(f)
}

func TestSourceReadOnce(t *testing.T) {
	src := &once{List: jobs.Full("run")}
	if err := WriteProfile(io.Discard, src); err != nil || src.read != 1 {
		t.Errorf("the source was read %d times, %v", src.read, err)
	}
}

// TestNothingHidden walks through a file: magic, messages, footer. Nothing is between
// them, and the footer refers to all messages but the schema.
func TestNothingHidden(t *testing.T) {
	data := encode(t, jobs.Full("run"))
	const magic, footerLength = "ARROW1", 4
	at := (len(magic) + 7) / 8 * 8
	messages := 0
	for {
		if binary.LittleEndian.Uint32(data[at:]) != 0xffffffff {
			t.Fatalf("offset %d: no message", at)
		}
		meta := int(binary.LittleEndian.Uint32(data[at+4:]))
		at += 8
		if meta == 0 {
			break // end of the stream
		}
		at += meta + bodyLength(data[at:][:meta])
		messages++
	}
	footer := int(binary.LittleEndian.Uint32(data[len(data)-len(magic)-footerLength:]))
	if left := len(data) - at - footer - footerLength - len(magic); left != 0 {
		t.Errorf("%d bytes between the messages and the footer", left)
	}
	if want := 1 + 10 + 1; messages != want { // schema, a dictionary for each column of words, a batch
		t.Errorf("%d messages, want %d", messages, want)
	}
}

// bodyLength returns the length of a message's body: the fourth field of the flatbuffers
// table Message.
func bodyLength(message []byte) int {
	table := int(binary.LittleEndian.Uint32(message))
	vtable := table - int(int32(binary.LittleEndian.Uint32(message[table:])))
	const fourth = 4 + 2*3
	if length := int(binary.LittleEndian.Uint16(message[vtable:])); length <= fourth {
		return 0 // the default
	}
	field := int(binary.LittleEndian.Uint16(message[vtable+fourth:]))
	if field == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint64(message[table+field:]))
}

// TestSpool writes more than a spool keeps in memory, in several batches: the file is
// that of a spool which keeps all.
func TestSpool(t *testing.T) {
	p := jobs.FullRank("run", 0)
	p.Rows = slices.Repeat(p.Rows, 2*maxBatch/len(p.Rows)+1)
	whole := encode(t, []*profile.Profile{p})
	before := spoolMemory
	defer func() { spoolMemory = before }()
	spoolMemory = 1000
	if !bytes.Equal(encode(t, []*profile.Profile{p}), whole) {
		t.Error("the file differs if its batches were on disk")
	}
}

func open(t *testing.T, data []byte) *ipc.FileReader {
	t.Helper()
	in, err := ipc.NewFileReader(bytes.NewReader(data))
	testenv.NoError(t, err)
	return in
}

// table returns a column of a file with one batch as strings; null is "(null)".
func table(t *testing.T, data []byte, column string) []string {
	t.Helper()
	batch, err := open(t, data).RecordAt(0)
	testenv.NoError(t, err)
	col := batch.Column(batch.Schema().FieldIndices(column)[0])
	var out []string
	for i := range col.Len() {
		out = append(out, col.ValueStr(i))
	}
	return out
}

// checkColumns requires these values of columns, with a separator between them.
func checkColumns(t *testing.T, data []byte, separator string, want map[string]string) {
	t.Helper()
	for column, want := range want {
		if got := strings.Join(table(t, data, column), separator); got != want {
			t.Errorf("column %s:\n got %s\nwant %s", column, got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	data := encode(t, jobs.Full("run")[1:2])
	checkColumns(t, data, " ", map[string]string{
		"peer":      "(null) 2 (null) (null) 0 3 2 (null) (null) (null) (null) (null) 2 1 0",
		"callsite":  strings.Repeat("exchange solve.c:118 ", 12) + "solve+0x1300 < main solve.c:12 exchange solve.c:118 0x1000",
		"function":  strings.Repeat("exchange ", 12) + "(null) exchange (null)",
		"file":      strings.Repeat("/src/solve.c ", 12) + "(null) /src/solve.c (null)",
		"line":      strings.Repeat("118 ", 12) + "(null) 118 (null)",
		"address":   strings.Repeat("solve+0x1234 ", 12) + "solve+0x1300 < solve+0x1400 solve+0x1234 0x1000",
		"slice":     strings.Repeat("run ", 14) + "solve",
		"thread":    strings.Repeat("0 ", 14) + "1",
		"direction": "none send none none recv send send send send send send send write read send",
		"class":     "other p2p p2p p2p p2p p2p p2p A2A A2A A2A A2A A2A one-sided one-sided A2O",
		"calls":     "1 3 5 3 0 1 2 10 1 2 1 1 1 1 1",
		"min_ns":    "400 400 400 400 (null) 400 400 400 400 400 400 400 400 400 400",
		"max_ns":    "1600 1600 1600 1600 (null) 1600 1600 1600 1600 1600 1600 1600 1600 1600 1600",
		"comm": "(null) MPI_COMM_WORLD MPI_COMM_WORLD MPI_COMM_WORLD MPI_COMM_WORLD back to front#c0ffee00 Intercomm_create#feedface " +
			"MPI_COMM_WORLD MPI_COMM_WORLD Cart_create#01234567 MPI_COMM_WORLD Cart_create#01234567 MPI_COMM_WORLD MPI_COMM_WORLD back to front#c0ffee00",
	})
}

func TestTiming(t *testing.T) {
	ps := jobs.MixedTimings("run")
	for rank, want := range map[int]struct{ time, wrong, timing, receives string }{
		0: {"1000 3000", "0 0", "exact", "on"},
		1: {"1000 3000", "7 21", "sampled", "off"},
		2: {"(null) (null)", "(null) (null)", "off", "off"},
	} {
		data := encode(t, ps[rank:rank+1])
		for column, want := range map[string]string{"time_ns": want.time, "time_error_ns": want.wrong} {
			if got := strings.Join(table(t, data, column)[:2], " "); got != want {
				t.Errorf("rank %d: %s %s, want %s", rank, column, got, want)
			}
		}
		meta := open(t, data).Schema().Metadata()
		timing, _ := meta.GetValue("mpitrace.timing")
		if receives, _ := meta.GetValue("mpitrace.receives"); timing != want.timing || receives != want.receives {
			t.Errorf("rank %d: metadata %v", rank, meta)
		}
	}
	var out bytes.Buffer
	testenv.NoError(t, WriteRanks(&out, profile.List(ps)))
	checkColumns(t, out.Bytes(), " ", map[string]string{
		"timing": "exact sampled off exact", "receives": "on off off on",
		"mpi_ns": "32000 32000 (null) 32000", "mpi_error_ns": "0 88 (null) 0", // 7 × √158
	})
}

// TestPeerOfAnotherWorld checks that a process of another world has no world
// rank, whatever its rank there.
func TestPeerOfAnotherWorld(t *testing.T) {
	p := jobs.FullRank("run", 0)
	p.Comms[jobs.Inter].Remote = profile.Group{List: []int32{profile.PeerElsewhere, profile.PeerElsewhere}}
	p.Rows = p.Rows[6:7]
	data := encode(t, []*profile.Profile{p})
	if got := table(t, data, "peer"); got[0] != array.NullValueStr {
		t.Errorf("peer %s, want null", got[0])
	}
}

// TestSchema checks the schema, on which other readers of the tables depend.
func TestSchema(t *testing.T) {
	schema := open(t, encode(t, jobs.Full("run"))).Schema()
	const dict = "dictionary<values=utf8, indices=int32, ordered=false>"
	want := []string{"run " + dict, "rank int32", "thread int32", "call " + dict, "class " + dict, "direction " + dict,
		"comm " + dict + "?", "peer int32?", "size_class uint8", "callsite " + dict,
		"function " + dict + "?", "file " + dict + "?", "line int32?", "address " + dict, "slice " + dict, "calls uint64",
		"messages uint64", "bytes uint64", "time_ns uint64?", "time_error_ns uint64?", "min_ns uint64?", "max_ns uint64?"}
	if diff := cmp.Diff(want, describe(schema)); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	for _, f := range schema.Fields() {
		unit, _ := f.Metadata.GetValue("unit")
		doc, _ := f.Metadata.GetValue("doc")
		if unit == "" || doc == "" {
			t.Errorf("field %s has unit %q, doc %q", f.Name, unit, doc)
		}
	}
}

func describe(schema *arrow.Schema) []string {
	var out []string
	for _, f := range schema.Fields() {
		text := f.Name + " " + f.Type.String()
		if f.Nullable {
			text += "?"
		}
		out = append(out, text)
	}
	return out
}

func TestComms(t *testing.T) {
	var out bytes.Buffer
	testenv.NoError(t, WriteComms(&out, profile.List(jobs.Full("run"))))
	checkColumns(t, out.Bytes(), "|", map[string]string{
		"comm":        "MPI_COMM_WORLD|MPI_COMM_SELF|back to front#c0ffee00|Intercomm_create#feedface|Cart_create#01234567|MPI_COMM_SELF|MPI_COMM_SELF|MPI_COMM_SELF",
		"name":        "MPI_COMM_WORLD|MPI_COMM_SELF|back to front|(null)|(null)|MPI_COMM_SELF|MPI_COMM_SELF|MPI_COMM_SELF",
		"constructor": "(null)|(null)|Comm_split|Intercomm_create|Cart_create|(null)|(null)|(null)",
		"parent":      "(null)|(null)|MPI_COMM_WORLD|MPI_COMM_WORLD|MPI_COMM_WORLD|(null)|(null)|(null)",
		"size":        "4|1|4|2|4|1|1|1",
		"members":     "[0,1,2,3]|[0]|[3,2,1,0]|[0,2]|[0,1,2,3]|[1]|[2]|[3]",
		"remote":      "[]|[]|[]|[1,3]|[]|[]|[]|[]",
		"inter":       "false|false|false|true|false|false|false|false",
		"seen_by":     "4|1|4|4|4|1|1|1",
		"freed":       "false|false|true|false|false|false|false|false",
		"folded":      "0|0|12|0|0|0|0|0",
	})
}

func TestRanks(t *testing.T) {
	ps := jobs.Full("run")
	ps[3].State, ps[3].FinalizeStart = profile.Running, 0 // killed
	var out bytes.Buffer
	testenv.NoError(t, WriteRanks(&out, profile.List(ps)))
	checkColumns(t, out.Bytes(), "|", map[string]string{
		"rank":          "0|1|2|3",
		"host":          "nodea|nodea|nodeb|nodeb",
		"command":       strings.TrimSuffix(strings.Repeat("./solve -n 'two words'|", 4), "|"),
		"state":         "finalized|finalized|finalized|running",
		"wall_ns":       "5000000007|5000000007|5000000007|5000000007",
		"app_ns":        "3000000000|3000000000|3000000000|4000000007",
		"mpi_ns":        "32000|32000|32000|32000", // 33 calls of 1 us, one of them Init
		"calls":         "33|33|33|33",
		"lost_calls":    "0|1|2|3",
		"lost_requests": "7|7|7|7",
		"pauses":        "2|2|2|2",

		"truncated_receives": "3|3|3|3",
		"cancelled_sends":    "1|2|3|4",
		"cancelled_receives": "0|0|0|0",
		"start":              strings.TrimSuffix(strings.Repeat("2023-11-14 22:13:20Z|", 4), "|"),
		"finalize_start":     "2023-11-14 22:13:24Z|2023-11-14 22:13:24Z|2023-11-14 22:13:24Z|(null)",
	})
}

// Rank 0's peer is rank 1 of a communicator with the ranks reversed.
func TestRanksEnded(t *testing.T) {
	var out bytes.Buffer
	testenv.NoError(t, WriteRanks(&out, profile.List(jobs.Killed("run"))))
	checkColumns(t, out.Bytes(), "|", map[string]string{
		"state":         "running|running|running|running",
		"ended":         "2023-11-14 22:13:25Z|2023-11-14 22:13:26Z|(null)|(null)",
		"exit_status":   "(null)|3|(null)|(null)",
		"exit_signal":   "9|(null)|(null)|(null)",
		"open_call":     "Recv|(null)|Abort|Probe",
		"open_comm":     "back to front#c0ffee00|(null)|MPI_COMM_WORLD|MPI_COMM_WORLD",
		"open_peer":     "2|(null)|(null)|(null)",
		"open_callsite": "exchange solve.c:118|(null)|0x1000|0x1000",
		"open_since":    "2023-11-14 22:13:24Z|(null)|(null)|2023-11-14 22:13:26Z",
	})
}

func TestRanksPhysical(t *testing.T) {
	var out bytes.Buffer
	testenv.NoError(t, WriteRanks(&out, profile.List(jobs.Physical("run"))))
	if got := strings.Join(table(t, out.Bytes(), "physical"), "|"); got != "known|known|no file was written|(null)" {
		t.Errorf("got %s", got)
	}
}

func TestIs(t *testing.T) {
	if data := encode(t, nil); !Is(data[:8]) {
		t.Errorf("own file begins with %q", data[:8])
	}
	for _, head := range []string{"", "ARROW", "# POINT TO POINT\n"} {
		if Is([]byte(head)) {
			t.Errorf("%q taken for Arrow", head)
		}
	}
}
