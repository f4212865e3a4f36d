package table

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

func encode(t testing.TB, ps []*profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := WriteProfile(&out, profile.List(ps)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readBytes reads all profiles of a file.
func readBytes(data []byte) ([]*profile.Profile, error) {
	var ps []*profile.Profile
	err := readProfiles(bytes.NewReader(data), int64(len(data)), openBatches, func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ps, nil
}

// save writes bytes to a file and returns its path.
func save(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.arrow")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	jobs := append(tabletest.Job("second"), tabletest.Job("first")...)
	for name, ps := range map[string][]*profile.Profile{
		"one rank":    tabletest.Job("run")[2:3],
		"two jobs":    jobs,
		"settings":    tabletest.Settings("run"),
		"killed":      tabletest.Killed("run"),
		"physical":    tabletest.Physical("run"),
		"no rows":     {{Run: "empty", Rank: -1, Size: -1, State: profile.Running}},
		"no profiles": {},
	} {
		t.Run(name, func(t *testing.T) {
			back, err := Read(save(t, encode(t, ps)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ps, back, cmp.Transformer("value", func(p *profile.Profile) profile.Profile { return *p })); diff != "" && len(ps) > 0 {
				t.Errorf("profiles (-written +read):\n%s", diff)
			}
			was, is := aggregate.New(ps), aggregate.New(back)
			if diff := cmp.Diff(was.Summary(), is.Summary(), cmp.AllowUnexported(aggregate.Place{})); diff != "" {
				t.Errorf("summary (-written +read):\n%s", diff)
			}
			for c := range was.Matrices() {
				if diff := cmp.Diff(maps.Collect(was.Matrices()[c].All()), maps.Collect(is.Matrices()[c].All())); diff != "" {
					t.Errorf("matrix %s (-written +read):\n%s", matrix.Class(c), diff)
				}
			}
			for i, p := range ps {
				if diff := cmp.Diff(p.Traffic(), back[i].Traffic()); diff != "" {
					t.Errorf("traffic of rank %d (-written +read):\n%s", p.Rank, diff)
				}
			}
		})
	}
}

// TestTrafficReadBack compares with the sums of everything that a rank of the
// fixture sends, computed by hand.
func TestTrafficReadBack(t *testing.T) {
	back, err := Read(save(t, encode(t, tabletest.Job("run"))))
	if err != nil {
		t.Fatal(err)
	}
	got := map[profile.Kind]map[int]profile.Volume{}
	for _, f := range back[1].Traffic().Flows {
		if got[f.Kind] == nil {
			got[f.Kind] = map[int]profile.Volume{}
		}
		got[f.Kind][f.To] = profile.Volume{Bytes: f.Bytes, Count: f.Messages}
	}
	const top = 1<<64 - 1
	want := map[profile.Kind]map[int]profile.Volume{
		// The right neighbor; reversed rank 0 is world rank 3; the second even
		// rank is 2.
		profile.External:    {2: {Bytes: 300 + 160, Count: 3 + 2}, 3: {Bytes: 40, Count: 1}},
		profile.RemoteWrite: {2: {Bytes: 512, Count: 1}},
		profile.RemoteRead:  {1: {Bytes: 256, Count: 1}},
		profile.Collective: {
			// Allreduce, Neighbor_alltoall, Alltoallv, Neighbor_alltoallv, and
			// the Reduce to reversed rank 3; 2 and 3 get the Scan.
			0: {Bytes: (80 + 200 + 0 + top + 1000 + 1<<60) & top, Count: 10 + 2 + 1 + 1 + 1},
			2: {Bytes: 80 + 64 + 200 + 2000 + 8, Count: 10 + 1 + 2 + 1 + 1},
			3: {Bytes: 80 + 64 + 3000, Count: 10 + 1 + 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what rank 1 sent (-want +got):\n%s", diff)
	}
}

// TestModulesOfCallSites checks that modules without a call site are omitted: a
// process has dozens of them, at addresses of its own.
func TestModulesOfCallSites(t *testing.T) {
	p := tabletest.Profile("run", 0)
	want := slices.Clone(p.Modules)
	p.Modules = append(p.Modules, profile.Module{Path: "/lib/libc.so.6", Start: 0x7f0000000000, End: 0x7f0000200000, Bias: 0x7f0000000000})
	data := encode(t, []*profile.Profile{p})
	back, err := readBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, back[0].Modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
}

func TestOrderIsTheSources(t *testing.T) {
	ps := append(tabletest.Job("b"), tabletest.Job("a")...)
	back, err := Read(save(t, encode(t, ps)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range back {
		got = append(got, p.Run+string(rune('0'+p.Rank)))
	}
	want := []string{"b0", "b1", "b2", "b3", "a0", "a1", "a2", "a3"}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestManyBatches(t *testing.T) {
	const n = 2*maxBatch + 5
	p := tabletest.Profile("run", 0)
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
	back, err := readBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Rows, back[0].Rows); diff != "" {
		t.Errorf("rows:\n%s", diff)
	}
}

// TestManyBlocks writes more processes than fit in a block and in a batch.
// Blocks end inside batches, and batches inside blocks.
func TestManyBlocks(t *testing.T) {
	const n = 1500
	var ps []*profile.Profile
	for rank := range n {
		p := tabletest.Profile("run", rank%4)
		p.Rank, p.Source = rank, strings.Repeat("long ", 100)
		for len(p.Rows) < 50 {
			p.Rows = append(p.Rows, p.Rows[1])
		}
		p.Rows[20].Bytes = uint64(rank)
		ps = append(ps, p)
	}
	data := encode(t, ps)
	rank := 0
	err := readProfiles(bytes.NewReader(data), int64(len(data)), openBatches, func(p *profile.Profile) error {
		if diff := cmp.Diff(ps[rank], p); diff != "" {
			t.Errorf("rank %d:\n%s", rank, diff)
		}
		rank++
		return nil
	})
	if err != nil || rank != n {
		t.Errorf("%d of %d processes, %v", rank, n, err)
	}
}

func TestSourceReadTwiceAndStopped(t *testing.T) {
	f, err := Open(save(t, encode(t, tabletest.Job("run"))))
	if err != nil {
		t.Fatal(err)
	}
	var ranks []int
	enough := errors.New("enough")
	for range 2 {
		err := f.Each(func(p *profile.Profile) error {
			ranks = append(ranks, p.Rank)
			if p.Rank == 2 {
				return enough
			}
			return nil
		})
		if err != enough {
			t.Errorf("error %v, want that of the function as it is", err)
		}
	}
	if want := []int{0, 1, 2, 0, 1, 2}; !slices.Equal(ranks, want) {
		t.Errorf("ranks %v, want %v", ranks, want)
	}
}

// changing is a source that renames a row each time it is read.
type changing struct{ p *profile.Profile }

func (c changing) Each(f func(*profile.Profile) error) error {
	c.p.Rows[0].Call += "_again"
	return f(c.p)
}

func TestSourceThatChanges(t *testing.T) {
	if err := WriteProfile(io.Discard, changing{tabletest.Profile("run", 0)}); !errors.Is(err, errChanged) {
		t.Errorf("error %v, want one that says so", err)
	}
}

func open(t *testing.T, data []byte) *ipc.FileReader {
	t.Helper()
	in, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// table returns a column of a file with one batch as strings; null is "(null)".
func table(t *testing.T, data []byte, column string) []string {
	t.Helper()
	batch, err := open(t, data).RecordAt(0)
	if err != nil {
		t.Fatal(err)
	}
	col := batch.Column(batch.Schema().FieldIndices(column)[0])
	var out []string
	for i := range col.Len() {
		out = append(out, col.ValueStr(i))
	}
	return out
}

func TestColumns(t *testing.T) {
	data := encode(t, tabletest.Job("run")[1:2])
	for column, want := range map[string]string{
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
	} {
		if got := strings.Join(table(t, data, column), " "); got != want {
			t.Errorf("column %s:\n got %s\nwant %s", column, got, want)
		}
	}
}

// TestOldVersion reads a file of format version 2, which has no column
// time_error_ns and no nulls in time_ns.
func TestOldVersion(t *testing.T) {
	ps, err := Read(filepath.Join("testdata", "version-2.arrow"))
	if err != nil || len(ps) != 1 || len(ps[0].Rows) != 15 {
		t.Fatalf("%d profiles, %v", len(ps), err)
	}
	if p := ps[0]; p.Timing != profile.TimingExact || p.Unfollowed || p.Rows[1].TimeNs != 3000 || p.Rows[1].TimeErrorNs != 0 {
		t.Errorf("timing %v, unfollowed %v, %+v", p.Timing, p.Unfollowed, p.Rows[1])
	}
}

// TestTiming checks that times that were not measured are null, and that the
// metadata state how calls were timed.
func TestTiming(t *testing.T) {
	ps := tabletest.Settings("run")
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
	if err := WriteRanks(&out, profile.List(ps)); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{
		"timing": "exact sampled off exact", "receives": "on off off on",
		"mpi_ns": "32000 32000 (null) 32000", "mpi_error_ns": "0 88 (null) 0", // 7 × √158
	} {
		if got := strings.Join(table(t, out.Bytes(), column), " "); got != want {
			t.Errorf("ranks: %s %s, want %s", column, got, want)
		}
	}
}

// TestPeerOfAnotherWorld checks that a process of another world has no world
// rank, whatever its rank there.
func TestPeerOfAnotherWorld(t *testing.T) {
	p := tabletest.Profile("run", 0)
	p.Comms[tabletest.Inter].Remote = profile.Group{List: []int32{profile.PeerElsewhere, profile.PeerElsewhere}}
	p.Rows = p.Rows[6:7]
	data := encode(t, []*profile.Profile{p})
	if got := table(t, data, "peer"); got[0] != array.NullValueStr {
		t.Errorf("peer %s, want null", got[0])
	}
	back, err := readBytes(data)
	if err != nil || back[0].Rows[0].Peer != 1 {
		t.Errorf("read back %+v, %v: want peer 1", back[0].Rows, err)
	}
}

// TestSchema checks the schema, on which other readers of the tables depend.
func TestSchema(t *testing.T) {
	schema := open(t, encode(t, tabletest.Job("run"))).Schema()
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
	if err := WriteComms(&out, profile.List(tabletest.Job("run"))); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{
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
	} {
		if got := strings.Join(table(t, out.Bytes(), column), "|"); got != want {
			t.Errorf("column %s:\n got %s\nwant %s", column, got, want)
		}
	}
}

func TestRanks(t *testing.T) {
	ps := tabletest.Job("run")
	ps[3].State, ps[3].FinalizeStart = profile.Running, 0 // killed
	var out bytes.Buffer
	if err := WriteRanks(&out, profile.List(ps)); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{
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
	} {
		if got := strings.Join(table(t, out.Bytes(), column), "|"); got != want {
			t.Errorf("column %s:\n got %s\nwant %s", column, got, want)
		}
	}
}

// Rank 0's peer is rank 1 of a communicator with the ranks reversed.
func TestRanksEnded(t *testing.T) {
	var out bytes.Buffer
	if err := WriteRanks(&out, profile.List(tabletest.Killed("run"))); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{
		"state":         "running|running|running|running",
		"ended":         "2023-11-14 22:13:25Z|2023-11-14 22:13:26Z|(null)|(null)",
		"exit_status":   "(null)|3|(null)|(null)",
		"exit_signal":   "9|(null)|(null)|(null)",
		"open_call":     "Recv|(null)|Abort|Probe",
		"open_comm":     "back to front#c0ffee00|(null)|MPI_COMM_WORLD|MPI_COMM_WORLD",
		"open_peer":     "2|(null)|(null)|(null)",
		"open_callsite": "exchange solve.c:118|(null)|0x1000|0x1000",
		"open_since":    "2023-11-14 22:13:24Z|(null)|(null)|2023-11-14 22:13:26Z",
	} {
		if got := strings.Join(table(t, out.Bytes(), column), "|"); got != want {
			t.Errorf("column %s:\n got %s\nwant %s", column, got, want)
		}
	}
}

func TestRanksPhysical(t *testing.T) {
	var out bytes.Buffer
	if err := WriteRanks(&out, profile.List(tabletest.Physical("run"))); err != nil {
		t.Fatal(err)
	}
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
