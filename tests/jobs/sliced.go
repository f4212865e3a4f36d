package jobs

import "github.com/mpitrace/mpitrace/profile"

// Sliced returns a job of two ranks that number the same two slices
// differently. In "solve" rank r sends r+1 messages of 10 bytes in 1 s, and
// receives as many; in "output" it makes one call of 500 ms.
func Sliced() []*profile.Profile {
	out := make([]*profile.Profile, 2)
	for r := range out {
		solve, output, u := uint32(1+r), uint32(2-r), uint64(r)
		out[r] = &profile.Profile{Rank: r, Size: 2, State: profile.Finalized, Start: Start,
			InitEnd: Start + 1, FinalizeStart: Start + 4000*MS,
			Slices: []profile.Slice{{Index: 0, Name: "run", Start: Start},
				{Index: output, Name: "output", Start: Start + 900 - int64(r)*500},
				{Index: solve, Name: "solve", Start: Start + 500}},
			Rows: []profile.Row{
				{Call: "Init", Comm: -1, Calls: 1, TimeNs: 5 * MS},
				{Call: "Send", Comm: -1, Direction: profile.Send, Slice: solve, Calls: u + 1, Messages: u + 1, Bytes: 10 * (u + 1), TimeNs: 1000 * MS},
				{Call: "Recv", Comm: -1, Direction: profile.Recv, Slice: solve, Calls: u + 1, Messages: u + 1, Bytes: 10 * (u + 1)},
				{Call: "Probe", Comm: -1, Slice: output, Calls: 1, TimeNs: 500 * MS},
			}}
	}
	return out
}

// Computing returns a job whose ranks each run for 12 s between MPI_Init and
// MPI_Finalize; `useful` holds how many seconds of these each spends outside of
// MPI. By the clock of its host, rank r leaves MPI_Init r × 100 s after rank 0.
func Computing(useful ...uint64) []*profile.Profile {
	out := make([]*profile.Profile, len(useful))
	for r, u := range useful {
		at := Start + int64(r)*100_000*MS
		recv := profile.Row{Call: "Recv", Class: profile.P2P, Comm: -1, Peer: profile.PeerNone, Calls: 1, TimeNs: (12 - u) * 1000 * MS}
		setUp := profile.Row{Call: "Init", Class: profile.Other, Comm: -1, Peer: profile.PeerNone, Calls: 1, TimeNs: 500 * MS}
		out[r] = &profile.Profile{Rank: r, Size: len(useful), Host: string(rune('a' + r)), State: profile.Finalized, Threads: 1,
			Start: at, InitEnd: at + 500*MS, FinalizeStart: at + 12_500*MS, End: at + 13_000*MS,
			Rows: []profile.Row{setUp, recv}}
	}
	return out
}
