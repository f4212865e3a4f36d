package recording

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// rich returns rank 1 of 4 with one of everything that a recording can hold: an
// intercommunicator, a topology, stacks, phases, two threads, losses, and
// operations that did not complete normally.
func rich() *profile.Profile {
	id := func(c byte) string { return strings.Repeat(string(c), 32) }
	const site, stack = 0x401230, profile.StackSite | 7
	return &profile.Profile{
		Run: "job9", Rank: 1, Size: 4, Host: "node7", Pid: 77, Program: "/bin/app", Command: []string{"app", "", "-x"},
		Library: "an MPI", State: profile.Finalized, Start: 1_000, InitEnd: 2_000, FinalizeStart: 8_000, End: 9_000, Threads: 2,
		Comms: []profile.Comm{
			{ID: id('1'), Fold: id('a'), Name: "MPI_COMM_WORLD", Parent: -1, Rank: 1, Members: profile.Group{Stride: 1, N: 4}},
			{ID: id('2'), Fold: id('b'), Constructor: "Intercomm_create", Parent: 0, Inter: true, Freed: true, Folded: 3,
				Members: profile.Group{Base: 1, N: 1}, Remote: profile.Group{N: 2, List: []int32{3, profile.PeerElsewhere}}},
			{ID: id('3'), Fold: id('c'), Name: "ring", Constructor: "Dist_graph_create", Parent: 0, Rank: 1, Found: true,
				Members: profile.Group{N: 3, List: []int32{2, 1, 0}}, Edges: []int32{2, profile.PeerProcNull, 1, 0}},
			{ID: id('4'), Fold: id('d'), Name: "MPI_COMM_SELF", Parent: -1, Members: profile.Group{Base: 1, Stride: 1, N: 1}},
		},
		Slices:  []profile.Slice{{Name: "run", Start: 1_000}, {Index: 1, Name: "solve", Start: 5_000}},
		Modules: []profile.Module{{Path: "/bin/app", BuildID: "0123ab", Start: 0x400000, End: 0x500000, Bias: 0x1000}, {Path: "/lib/x.so", Start: 1, End: 2}},
		Stacks:  map[uint64][]uint64{stack: {site, 0x404560}},
		Rows: []profile.Row{
			{Call: "Init", Class: profile.Other, Comm: -1, Peer: -1, Calls: 1, TimeNs: 1_000, MinNs: 1_000, MaxNs: 1_000, Callsite: site},
			{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Comm: 1, Peer: 1, SizeClass: 4, Callsite: stack,
				Slice: 1, Calls: 3, Messages: 3, Bytes: 30, TimeNs: 60, MinNs: 10, MaxNs: 30},
			{Call: "Start", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: 2, SizeClass: 1, Messages: 5, Bytes: 5},
			{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Comm: -1, Peer: profile.PeerLost, Calls: 2, Messages: 2, Bytes: 7},
			{Call: "Allreduce", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Peer: -1, SizeClass: 4, Calls: 10, Messages: 30, Bytes: 240},
			{Call: "Allreduce", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Comm: 3, Peer: -1, SizeClass: 4, Calls: 10},
			{Call: "Barrier_init", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Comm: 3, Peer: -1},
			{Call: "Allgather", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Comm: 1, Peer: -1, SizeClass: 3, Calls: 1, Messages: 2, Bytes: 8},
			{Call: "Gatherv", Class: profile.AllToOne, Direction: profile.Recv, Spread: profile.ToOthers, Peer: 1, SizeClass: 3, Calls: 1, Messages: 3, Bytes: 17},
			{Call: "Reduce", Class: profile.AllToOne, Direction: profile.Recv, Spread: profile.ToOthers, Peer: 1, SizeClass: 4, Calls: 2, Messages: 6, Bytes: 48},
			{Call: "Gather_init", Class: profile.AllToOne, Direction: profile.Send, Spread: profile.ToPeer, Peer: 0, SizeClass: 4, Messages: 4, Bytes: 32},
			{Call: "Exscan", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToHigher, Peer: -1, SizeClass: 4, Calls: 2, Messages: 4, Bytes: 32},
			{Call: "Alltoallv", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToVector, Peer: -1, SizeClass: 5, Calls: 2, Messages: 6, Bytes: 61},
			{Call: "Neighbor_allgather", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToEdges, Comm: 2, Peer: -1, SizeClass: 2, Calls: 3, Messages: 6, Bytes: 18},
			{Thread: 1, Call: "Get", Class: profile.OneSided, Direction: profile.Read, Spread: profile.ToPeer, Peer: 3, SizeClass: 4, Calls: 1, Messages: 1, Bytes: 8},
			{Thread: 1, Call: "Put", Class: profile.OneSided, Direction: profile.Write, Spread: profile.ToPeer, Peer: 3, SizeClass: 4, Calls: 1, Messages: 1, Bytes: 8},
			{Thread: 1, Call: "File_write", Class: profile.IO, Direction: profile.Write, Comm: -1, Peer: -1, SizeClass: 7, Calls: 1, Bytes: 100},
			{Thread: 1, Call: "call-60000", Class: profile.Other, Comm: -1, Peer: -1, Calls: 1},
		},
		Vectors: []profile.Vector{
			{Call: "Alltoallv", Class: profile.AllToAll, Spread: profile.ToVector, Callsite: site, Slice: 1, Calls: 2, Bytes: []uint64{20, 9, 1, 40}},
			{Thread: 1, Call: "Neighbor_alltoallv", Class: profile.AllToAll, Spread: profile.ToEdgeVector, Comm: 2, Calls: 1, Bytes: []uint64{1, 0, 2, 3}},
		},
		Abnormal: []profile.AbnormalOps{
			{Kind: profile.CancelledReceive, Call: "Irecv", Peer: 2, Callsite: site, Slice: 1, Count: 2},
			{Kind: profile.CancelledSend, Call: "Start", Peer: 3, Count: 1, Bytes: 12},
			{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: -1, Peer: profile.PeerAnySource, Count: 4},
		},
		Late: []profile.Late{
			{Call: "Recv", Peer: 2, Callsite: site, Slice: 1, Count: 3, Queued: 40},
			{Call: "Irecv", Comm: 1, Peer: profile.PeerAnySource, Count: 1, Queued: 1 << 33},
		},
		Settings: map[string]string{"timing": "exact", "pvar": "pml_*,\"odd\""},
		Variables: []profile.Variable{
			{Name: "OMPI_MCA_btl_vader_eager_limit", Value: "8192"},
			{Name: "MPIR_CVAR_X", Value: "-1", Asked: true, Scope: profile.ScopeAllEq},
			{Name: "no such", Value: "1", Asked: true, Refused: "there is no such variable"},
		},
		Pvars: []profile.Pvar{
			{Name: "queue", Description: "what waits", Class: profile.PvarLevel, Type: profile.PvarUnsigned, Bound: profile.PvarCommunicator, ReadOnly: true, Continuous: true},
			{Name: "name", Class: profile.PvarGeneric, Type: profile.PvarText, Atomic: true},
		},
		PvarHandles: []profile.PvarHandle{{Pvar: 0, Comm: 2, Count: 1}, {Pvar: 1, Comm: -1, Count: 3}},
		Readings: []profile.Reading{
			{Handle: 1, At: 2_000, Moment: profile.ReadAtInit, Values: []uint64{'a', 'b', 0}},
			{Handle: 0, Slice: 1, At: 3_000, Moment: profile.ReadAtSlice, Values: []uint64{1 << 40}},
		},
		Placement: somewhere, Usage: someUsage, Intercepted: hidden, Pauses: 2,
		Losses: profile.Losses{Calls: 1, Folded: 2, Requests: 3, Comms: 4, NegativeTicks: 5, Untimed: 6, Stacks: 7, Readings: 8},
	}
}

// The placement and usage of rich, and the functions that another tool
// intercepted.
var (
	hidden    = &profile.FileAndFunctions{Library: "/opt/tool lib.so", Functions: []string{"MPI_Send", "MPI_Isend"}}
	somewhere = &profile.Placement{Processors: "0-3,64,127", CPULimit: 1.5, LimitGroup: 4711,
		NodeProcessors: 128, NodeCores: 64, NodeSockets: 2}
	someUsage = []profile.Usage{
		{WallNs: 5_000, UserNs: 4_000, SystemNs: 500, Voluntary: 3, Involuntary: 7, RunDelayNs: 400, DelayKnown: true},
		{Slice: 1, WallNs: 1_000, UserNs: 10},
	}
)

// many returns a profile whose table had to grow: 1,000 rows need 2,048 places.
func many() *profile.Profile {
	p := rich()
	for i := range 1000 {
		p.Rows = append(p.Rows, profile.Row{Thread: 1, Call: "Barrier", Class: profile.AllToAll, Direction: profile.Send,
			Spread: profile.ToOthers, Peer: -1, Callsite: uint64(i), Calls: 1, Messages: 3})
	}
	return p
}

// killed returns a process with 5 open receives that Start posted, which have
// no row.
func killed() *profile.Profile {
	p := rich()
	p.State, p.FinalizeStart, p.Threads = profile.Running, 0, 3
	p.Abnormal = append(p.Abnormal[:2:2], profile.AbnormalOps{Kind: profile.UnfinishedReceive, Comm: -1, Peer: profile.PeerNone, Count: 5})
	p.Open = []profile.OpenCall{
		{Call: "Waitall", Class: profile.P2P, Comm: -1, Peer: profile.PeerNone, Source: profile.PeerNone, Requests: 6, Callsite: 0x401230, Start: 7_000},
		{Thread: 1, Call: "Sendrecv", Class: profile.P2P, Direction: profile.Send, Comm: 2, Peer: 1, Source: profile.PeerAnySource,
			Bytes: 1 << 40, Sized: true, Callsite: profile.StackSite | 7, Slice: 1},
		{Thread: 2, Call: "Abort", Class: profile.Other, Comm: 0, Peer: profile.PeerNone, Source: profile.PeerNone, Code: -3, Callsite: 0x401230},
	}
	return p
}

func TestWrite(t *testing.T) {
	for name, p := range map[string]*profile.Profile{
		"everything": rich(), "a large table": many(), "killed": killed(), "sampled": sampled(), "untimed": untimed(), "before its rank was known": {Rank: -1, Size: -1, State: profile.Running},
		"read": read(t, sample().bytes()), "read, with receives": read(t, receiving().bytes()),
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			testenv.NoError(t, recordingtest.Write(&out, p))
			got := read(t, out.Bytes())
			testenv.Equal(t, p, got)
			path := filepath.Join(t.TempDir(), "r.rec")
			recordingtest.Record(t, path, p)
			raw := testenv.ReadFile(t, path)
			if !bytes.Equal(raw, out.Bytes()) {
				t.Error("the file with holes is another")
			}
			checkHead(t, path, p)
		})
	}
}

// checkHead compares everything that does not depend on rows.
func checkHead(t *testing.T, path string, want *profile.Profile) {
	t.Helper()
	got, err := ReadHead(path)
	testenv.NoError(t, err)
	testenv.Equal(t, want, got, cmpopts.IgnoreFields(profile.Profile{}, "Rows", "Vectors", "Abnormal", "Late", "Source"))
	if got.Rows != nil || got.Vectors != nil || got.Abnormal != nil || got.Late != nil {
		t.Error("rows were read")
	}
}

func TestWriteSizes(t *testing.T) {
	var out bytes.Buffer
	testenv.NoError(t, recordingtest.Write(&out, rich()))
	var h layout.Header
	if _, err := binary.Decode(out.Bytes(), binary.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	if want := uint64(4096 + 16384 + 2*20480); h.End != want || uint64(out.Len()) != want {
		t.Errorf("file of %d bytes, %d in its header; want %d", out.Len(), h.End, want)
	}
}

func TestWriteImpossible(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*profile.Profile)
		want  string
	}{
		"an unknown call":             {func(p *profile.Profile) { p.Rows[1].Call = "Sned" }, "row 1: MPI_Sned is no call"},
		"bytes that do not divide":    {func(p *profile.Profile) { p.Rows[4].Bytes = 241 }, "row 4: MPI_Allreduce send: 10 calls, 30 messages, 241 bytes"},
		"messages that do not divide": {func(p *profile.Profile) { p.Rows[4].Messages = 29 }, "row 4"},
		"another class":               {func(p *profile.Profile) { p.Rows[1].Class = profile.Sync }, "row 1"},
		"a thread too many":           {func(p *profile.Profile) { p.Rows[1].Thread = 2 }, "row 1: a row of thread 2, and 2 threads"},
		"a communicator too many":     {func(p *profile.Profile) { p.Rows[1].Comm = 4 }, "row 1: communicator 4 of 4"},
		"a write without a call":      {func(p *profile.Profile) { p.Rows[15].Calls = 0 }, "row 15: MPI_Put"},
		"an id of a communicator":     {func(p *profile.Profile) { p.Comms[1].ID = "xyz" }, `communicator 1: id "xyz"`},
		"a constructor":               {func(p *profile.Profile) { p.Comms[1].Constructor = "xyz" }, "communicator 1: made by xyz"},
		"a build id":                  {func(p *profile.Profile) { p.Modules[0].BuildID = "xyz" }, "module /bin/app"},
		"a vector of another spread":  {func(p *profile.Profile) { p.Vectors[0].Spread = profile.ToEdgeVector }, "vector of MPI_Alltoallv"},
		"an operation of no call":     {func(p *profile.Profile) { p.Abnormal[0].Call = "" }, "abnormal operation 0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := rich()
			c.spoil(p)
			path := filepath.Join(t.TempDir(), "r.rec")
			err := recordingtest.WriteFile(path, p)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file was written")
			}
		})
	}
}
