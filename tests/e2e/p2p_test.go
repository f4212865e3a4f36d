package e2e

import (
	"math/bits"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

func TestSends(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "sends")
		want{
			sent: map[string]volumes{
				"Send": messages(0, 1, 0, 1).plus(message(1, 0, 3)), "Bsend": message(0, 1, 2),
				"Ssend": message(0, 1, 4), "Rsend": message(0, 1, 8), "Isend": message(0, 1, 16),
				"Ibsend": message(0, 1, 32), "Issend": message(0, 1, 64), "Irsend": message(0, 1, 128),
			},
			received: map[string]volumes{
				"Recv":  messages(0, 1, 0, 1, 2, 4, 16, 32, 64).plus(message(1, 0, 3)),
				"Irecv": messages(0, 1, 8, 128),
			},
			// Each is called once to rank 1 and once to MPI_PROC_NULL; Send
			// twice each.
			calls: map[string][]uint64{
				"Send": {4, 1}, "Bsend": {2, 0}, "Ssend": {2, 0}, "Rsend": {2, 0}, "Isend": {2, 0},
				"Ibsend": {2, 0}, "Issend": {2, 0}, "Irsend": {2, 0}, "Recv": {1, 7}, "Irecv": {0, 2},
			},
		}.check(t, ranks)
		checkSizeClasses(t, ranks[0])
	})
}

// checkSizeClasses checks what rank 0 of sends.c sent to rank 1: one message of
// no bytes, and one of each power of two from 1 to 128, each of which is the
// smallest of its size class.
func checkSizeClasses(t *testing.T, p *profile.Profile) {
	t.Helper()
	flows := p.Traffic().Flows
	var want profile.Histogram
	for class := range 9 {
		want[class] = 1
	}
	for _, f := range flows {
		if f.Kind == profile.External && f.To == 1 {
			diff(t, "histogram", want, *f.Histogram)
			return
		}
	}
	t.Errorf("no flow from rank 0 to rank 1 in %+v", flows)
}

func TestSendrecv(t *testing.T) {
	right := func(n int, bytes func(from int) int) volumes {
		return eachPair(n, func(from, to int) int {
			if to != (from+1)%n {
				return -1
			}
			return bytes(from)
		})
	}
	left := eachPair(3, func(from, to int) int {
		if to != (from+2)%3 {
			return -1
		}
		return 3 * 4
	})
	ring := right(3, func(from int) int { return 10 * (from + 1) })
	line := message(0, 1, 7).plus(message(1, 2, 7))
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		moved := map[string]volumes{"Sendrecv": ring.plus(line), "Sendrecv_replace": left}
		want{sent: moved, received: moved, calls: map[string][]uint64{
			"Sendrecv": {2, 2, 2}, "Sendrecv_replace": {1, 1, 1},
		}}.check(t, m.part(t, "sendrecv"))
	})
	t.Run("nonblocking", func(t *testing.T) {
		withEach(t, mpi4, func(t *testing.T, m implementation) {
			moved := map[string]volumes{"Isendrecv": ring, "Isendrecv_replace": left}
			once := []uint64{1, 1, 1}
			j := record(t, nil, m.launch(3, m.compile(t, "isendrecv"))...)
			diff(t, "exit status", 0, j.code)
			diff(t, "sent", moved, sentBy(j.ranks))
			for _, call := range []string{"Isendrecv", "Isendrecv_replace", "Waitall"} {
				diff(t, "calls of "+call, once, callsBy(j.ranks)[call])
			}
			checkWhole(t, 3, j)
			// MPICH, 4.0 to 5.0, and Intel MPI do not set the status of an Isendrecv, so
			// that it is unknown what was received. Each of the 3 ranks has two
			// such receives, one from any source and one from its right
			// neighbour. The check accepts them as explained.
			if strings.HasPrefix(m.name, "mpich") || m.name == "impi" {
				diff(t, "abnormal", map[string]uint64{"untold_receives": 2 * 3}, abnormalOf(j.ranks))
				checkConserved(t, j, 6, 6)
				return
			}
			checkConserved(t, j, 6, 0)
			diff(t, "received", moved, receivedBy(j.ranks))
		})
	})
}

func TestPersistent(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "persistent")
		// Five rounds of 10 bytes, 5 ints, 30 and 40 bytes.
		diff(t, "point-to-point", messages(0, 1, 10, 5*4, 30, 40).times(5), pointToPoint(ranks))
		checkReceived(t, ranks)
		calls := callsBy(ranks)
		diff(t, "calls of Start", []uint64{2 * 5, 2 * 5}, calls["Start"])
		diff(t, "calls of Startall", []uint64{3, 3}, calls["Startall"])
		diff(t, "calls of Send_init", []uint64{2, 0}, calls["Send_init"])
		diff(t, "calls of Recv_init", []uint64{0, 5}, calls["Recv_init"])
		diff(t, "calls of Request_free", []uint64{5, 5}, calls["Request_free"])
	})
}

func TestMatchedReceives(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		want{
			sent: map[string]volumes{"Send": messages(0, 1, 15, 25, 35, 45)},
			received: map[string]volumes{
				"Mrecv": message(0, 1, 15), "Imrecv": message(0, 1, 25), "Recv": messages(0, 1, 35, 45),
			},
			calls: map[string][]uint64{
				"Mprobe": {0, 2}, "Mrecv": {0, 2}, "Imrecv": {0, 1}, "Probe": {0, 1}, "Recv": {0, 2},
			},
		}.check(t, m.part(t, "matched"))
	})
}

func TestCompletion(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "completion")
		moved := volumes{}
		for round := range 9 {
			moved = moved.plus(message(1, 0, 100+round)).plus(message(2, 0, 200+round))
		}
		want{
			sent:     map[string]volumes{"Send": moved},
			received: map[string]volumes{"Irecv": moved},
			calls: map[string][]uint64{
				"Irecv": {18, 0, 0}, "Wait": {2, 0, 0}, "Waitall": {2, 0, 0}, "Waitany": {2, 0, 0},
			},
		}.check(t, ranks)
		for _, call := range []string{"Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_get_status"} {
			if n := callsBy(ranks)[call]; n == nil || n[0] == 0 {
				t.Errorf("calls of %s: %v, want some on rank 0", call, n)
			}
		}
	})
}

// TestPostedOrder requires that receives are recorded exactly in whatever order
// they complete, in a profile and as events: with their source and bytes, and in
// rows of their communicator and size class.
func TestPostedOrder(t *testing.T) {
	type kind struct {
		world bool // on MPI_COMM_WORLD, else on a duplicate of it
		class int
	}
	const window, rounds = 700, 7
	moved := messages(0, 1, 0).plus(messages(1, 0, 0))
	kinds := map[kind]uint64{{true, 0}: 2} // the receive that completes last, on each rank
	for bytes := range window {
		moved = moved.plus(message(0, 1, bytes).plus(message(1, 0, bytes)).times(rounds))
		kinds[kind{bytes%3 == 0, bits.Len(uint(bytes))}] += 2 * rounds
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "posted_order")
		traced, _ := m.trace(t, 2, nil, program)
		for _, j := range []job{m.run(t, 2, program), traced} {
			diff(t, "received", moved, receivedBy(j.ranks)["Irecv"])
			diff(t, "sent", moved, pointToPoint(j.ranks))
			received := map[kind]uint64{}
			for _, p := range j.ranks {
				for _, r := range p.Rows {
					if r.Call == "Irecv" && r.Direction == profile.Recv && r.Messages > 0 {
						received[kind{p.Comms[r.Comm].Name == "MPI_COMM_WORLD", int(r.SizeClass)}] += r.Messages
					}
				}
			}
			diff(t, "messages received by communicator and size class", kinds, received)
			checkReceived(t, j.ranks)
			if got := abnormalOf(j.ranks); len(got) > 0 {
				t.Errorf("abnormal %v", got)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		want{
			sent:     map[string]volumes{"Send": message(0, 1, 6)},
			received: map[string]volumes{"Recv": message(0, 1, 6)},
			calls:    map[string][]uint64{"Irecv": {1, 1}, "Cancel": {1, 1}, "Wait": {1, 1}},
		}.check(t, m.part(t, "cancel"))
	})
}

func TestDatatypes(t *testing.T) {
	t.Run("handle reused with another size", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			moved := message(0, 1, 5*4) // of the vector with gaps
			for k := 1; k <= 16; k++ {
				moved = moved.plus(message(0, 1, 4*k))
			}
			want{
				sent: map[string]volumes{"Send": moved}, received: map[string]volumes{"Recv": moved},
				calls: map[string][]uint64{"Type_free": {17, 17}},
			}.check(t, m.part(t, "type_reuse"))
		})
	})
	t.Run("bad datatype where errors are returned", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			want{
				sent:     map[string]volumes{"Send": message(0, 1, 5)},
				received: map[string]volumes{"Recv": message(0, 1, 5)},
				calls: map[string][]uint64{
					"Send": {2, 1}, "Isend": {1, 1}, "Recv": {1, 2}, "Bcast": {1, 1},
				},
			}.check(t, m.part(t, "errors"))
		})
	})
	t.Run("large counts", func(t *testing.T) {
		withEach(t, large, func(t *testing.T, m implementation) {
			ranks := m.part(t, "large")
			diff(t, "point-to-point", messages(0, 1, 1, 2, 4, 8, 16).plus(message(1, 0, 16)), pointToPoint(ranks))
			checkReceived(t, ranks)
		})
	})
}
