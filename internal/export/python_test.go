package export

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// pythonRanks and pythonBlock are the sizes of the job that Python reads, and
// of its blocks. The last block is not full.
const (
	pythonRanks = 90
	pythonBlock = 8
)

// sums has the totals of calls, messages, bytes and time_ns.
type sums [4]uint64

func (s *sums) add(calls, messages, bytes, timeNs uint64) {
	s[0], s[1], s[2], s[3] = s[0]+calls, s[1]+messages, s[2]+bytes, s[3]+timeNs
}

// pythonJob returns a job in which rank r sends r+1 messages of 1 GiB to the
// next rank, receives as many as the one before it sent, and calls three
// collectives. It also returns the sums, by formula.
func pythonJob() (ps profile.List, known map[string]any) {
	const gib = 1 << 30
	calls, byRank := map[string]*sums{"Send": {}, "Recv": {}, "Barrier": {}}, make([]sums, pythonRanks)
	for r := range uint64(pythonRanks) {
		p := jobs.FullRank("run", int(r%4))
		p.Rank, p.Size = int(r), pythonRanks
		p.Comms = p.Comms[:1]
		p.Comms[0].Members.N, p.Comms[0].Rank = pythonRanks, int(r)
		before := (r + pythonRanks - 1) % pythonRanks
		site := p.Rows[0].Callsite
		p.Rows = []profile.Row{
			{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: int32(r+1) % pythonRanks, SizeClass: 31,
				Callsite: site, Calls: r + 1, Messages: r + 1, Bytes: (r + 1) * gib, TimeNs: 10 * (r + 1), MinNs: 10, MaxNs: 10},
			{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Spread: profile.ToPeer, Peer: int32(before), SizeClass: 31,
				Callsite: site + 8, Calls: before + 1, Messages: before + 1, Bytes: (before + 1) * gib, TimeNs: 7, MinNs: 1, MaxNs: 2 + r},
			{Call: "Barrier", Class: profile.AllToAll, Comm: 0, Peer: profile.PeerNone, Slice: 1, Callsite: 0x1000, Calls: 3},
		}
		byRank[r].add(r+1, r+1, (r+1)*gib, 10*(r+1))
		byRank[r].add(before+1, before+1, (before+1)*gib, 7)
		byRank[r].add(3, 0, 0, 0)
		ps = append(ps, p)
	}
	const n = pythonRanks * (pythonRanks + 1) / 2
	calls["Send"].add(n, n, n*gib, 10*n)
	calls["Recv"].add(n, n, n*gib, 7*pythonRanks)
	calls["Barrier"].add(3*pythonRanks, 0, 0, 0)
	return ps, map[string]any{"ranks": pythonRanks, "block": pythonBlock, "calls": calls, "by_rank": byRank}
}

// TestPython reads exported files with pandas, pyarrow, polars and DuckDB.
func TestPython(t *testing.T) {
	dir := t.TempDir()
	ps, known := pythonJob()
	for _, o := range []ExportOptions{
		{Format: format(t, "parquet"), Path: "profile.parquet"},
		{Format: format(t, "csv"), Path: "profile.csv"},
		{Format: format(t, "json"), Path: "profile.jsonl"},
		{Format: format(t, "parquet"), Path: "parquet", Partition: pythonBlock},
		{Format: format(t, "arrow"), Path: "arrow", Partition: pythonBlock},
	} {
		o.Path = filepath.Join(dir, o.Path)
		if _, err := Export(ps, o); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(known)
	testenv.NoError(t, err)
	testenv.WriteFile(t, filepath.Join(dir, "sums.json"), text)
	testenv.Pytest(t, []string{"MPITRACE_EXPORTS=" + dir}, "test_datasets.py")
}
