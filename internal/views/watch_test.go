package views_test

import (
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

func TestWatch(t *testing.T) {
	job := &views.Watched{
		Status: &aggregate.JobStatus{Programs: aggregate.Programs{{Name: "app"}}, Run: "r1", Expected: 4, Unknown: 2,
			Processes: []aggregate.End{{Rank: 2}, {Rank: 3}}},
		Waits:   []views.Waiting{{AgeS: new(12.34)}, {AgeS: new(3.0)}},
		Totals:  aggregate.Totals{Calls: 1200, Messages: 600, Bytes: 3 << 20},
		Rates:   &views.JobRates{Calls: 100, Messages: 50, Bytes: 1 << 19},
		Hanging: "ranks 0-1",
		Heatmap: &aggregate.BinnedMatrix{Ranks: 2, RanksPerBin: 1, Bytes: [][]uint64{{0, 3 << 20}, {0, 0}}},
	}
	const want = `app on 4 ranks, run r1: 2 not finalized and not visible from here
hanging, in one call for more than 5 s: ranks 0-1
not visible from this node, last update up to 12.3 s ago: ranks 2-3
so far: 1,200 calls, 600 messages, 3.00 MiB; per second: 100 calls, 50 messages, 512 KiB
  ranks 2-3: not finalized; it is not known whether it runs, outside MPI; the last call returned at 0.000 s

bytes between ranks so far (row: from, column: to)
    0 1
 0 |  ██|
 1 |    |
█ 3.00 MiB
`
	var out strings.Builder
	if err := write(&out, views.Watch(job), Options{}); err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}

// TestLive requires a row for each group of processes in the same calls, and for each process.
func TestLive(t *testing.T) {
	in := func(rank, peer int, forS float64) aggregate.End {
		return aggregate.End{Rank: rank, Host: "a", State: profile.EndRunning, Calls: []aggregate.UnfinishedCall{{Call: "Recv", Class: "p2p", Direction: "recv",
			Peer: peer, WorldPeer: peer, Source: profile.PeerNone, Communicator: "MPI_COMM_WORLD", Callsite: &aggregate.Site{NamedPlace: aggregate.NamedPlace{Label: "swap a.c:3"}}, ForS: forS}}}
	}
	job := &views.Watched{
		Status: &aggregate.JobStatus{Programs: aggregate.Programs{{Name: "app"}}, Run: "r1", Expected: 3, Running: 3, Deadlocks: [][]int{{0, 1}},
			Processes: []aggregate.End{in(0, 1, 12), in(1, 0, 12.5), {Rank: 2, Host: "a", State: profile.EndRunning, AliveS: 20, LastCallS: 18}}},
		ProcessesTotal: 5, Waits: []views.Waiting{{For: "rank 1", Hanging: true}, {For: "rank 0", Hanging: true}, {}}}
	const want = `app on 3 ranks, run r1: 3 running
deadlock: ranks 0 and 1 wait for each other
so far: 0 calls, 0 messages, 0 B

ranks      state    call                                             at          waits for                            for
ranks 0-1  running  MPI_Recv (0 from 1, 1 from 0) in MPI_COMM_WORLD  swap a.c:3  rank 1; rank 0  12.0 to 12.5 s (hanging)
rank 2     running  outside MPI                                      –           –                                 2.00 s

rank  state    call                               at          waits for               for
0     running  MPI_Recv from 1 in MPI_COMM_WORLD  swap a.c:3  rank 1     12.0 s (hanging)
1     running  MPI_Recv from 0 in MPI_COMM_WORLD  swap a.c:3  rank 0     12.5 s (hanging)
2     running  outside MPI                        –           –                    2.00 s
and 2 more processes
`
	var out strings.Builder
	if err := write(&out, views.Live(job), Options{}); err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}
