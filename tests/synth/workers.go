package synth

import (
	"cmp"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Workers is a traced job: all ranks send their results to a master, rank 0.
// The master takes results in the order of their arrival, from any source with
// any tag, by an Irecv and its Wait and by a Recv in turn. Results arrive on
// average a little more slowly than the master could take them, but
// irregularly: sometimes results wait for the master, sometimes the master
// waits for a result.
//
// The exported fields may be changed before the first use.
type Workers struct {
	Ranks, Results int // Results is the number of results of each worker
	PerNode        int
	Bytes          uint64        // bytes of a result
	Service        time.Duration // about the time between two results; the master spends at least 4/5 of it on each
	Latency        time.Duration // shortest latency of a message
	LatencyNoise   time.Duration // mean of the exponentially distributed time that is added to Latency
	Tags           int           // the k-th result of a worker has the tag k mod Tags
	Seed           uint64
}

// NewWorkers returns a job with a result of 64 bytes about every 2 µs.
func NewWorkers(ranks, results int) *Workers {
	return &Workers{Ranks: ranks, Results: results, PerNode: 64, Bytes: 64, Service: 2 * time.Microsecond,
		Latency: time.Microsecond, LatencyNoise: 500 * time.Nanosecond, Tags: 3, Seed: 1}
}

// Events implements Traced. Each result has a Send and, in turn, an Irecv, a
// Wait and a received message, or a Recv. Each rank has Init and Finalize.
func (w *Workers) Events() uint64 {
	n := w.Volume().Messages
	return n + w.master() + 2*uint64(w.Ranks)
}

// master returns how many events record what the master received.
func (w *Workers) master() uint64 {
	n := w.Volume().Messages
	return 3*(n-n/2) + n/2
}

// Volume implements Traced.
func (w *Workers) Volume() Volume {
	return Volume{w.Bytes, 1}.times(uint64(w.Ranks-1) * uint64(w.Results))
}

// Collectives implements Traced.
func (w *Workers) Collectives() uint64 { return 0 }

// Sources implements Traced.
func (w *Workers) Sources() []profile.EventSource {
	master := workersMaster{w}
	sources := []profile.EventSource{newRank(master.trace, master.kinds, master.collects)}
	for rank := 1; rank < w.Ranks; rank++ {
		r := worker{w, rank}
		sources = append(sources, newRank(r.trace, r.kinds, r.sends))
	}
	return sources
}

// Durations of the calls, ns.
const (
	workerSend  = 300
	masterIrecv = 120
	masterTakes = 200 // from the message's arrival to the return of the call, or from the call's start if the message was there before
)

// results iterates over the results of a worker.
type results struct {
	w      *Workers
	travel *waits
	think  *lengths
	key    uint64
	rank   int
	k      int   // number of the result, from 0
	start  int64 // start of its Send, Unix ns
	there  int64 // arrival at the master, Unix ns
}

func (w *Workers) results(rank int, travel *waits) *results {
	usual := w.Service * time.Duration(w.Ranks-1)
	return &results{w: w, travel: travel, think: newLengths(usual, false), key: mix(w.Seed, uint64(rank)), rank: rank, k: -1,
		start: w.began(rank), there: 0}
}

// began returns when a rank left Init, in Unix ns.
func (w *Workers) began(rank int) int64 { return initDone + int64(mix(w.Seed, uint64(rank))%1000) }

// next advances to the next result and reports whether there is one. Messages
// of a worker arrive in the order of sending.
func (r *results) next() bool {
	r.k++
	drawn := mix(r.key, uint64(r.k))
	r.start += r.think.at(drawn) + workerSend
	r.there = max(r.there, r.start+int64(r.w.Latency)+r.travel.at(drawn>>8))
	return r.k < r.w.Results
}

func (r *results) tag() int32  { return int32(r.k % r.w.Tags) }
func (r *results) seq() uint32 { return uint32(r.k/r.w.Tags) + 1 }

// arriving is a heap of the workers' next results, with the earliest arrival on
// top.
type arriving []*results

func (r *results) before(o *results) bool {
	return r.there < o.there || r.there == o.there && r.rank < o.rank
}

// down restores the heap after a change of the top.
func (a arriving) down() {
	i := 0
	for child := 1; child < len(a); child = 2*i + 1 {
		if child+1 < len(a) && a[child+1].before(a[child]) {
			child++
		}
		if !a[child].before(a[i]) {
			return
		}
		a[i], a[child] = a[child], a[i]
		i = child
	}
}

// drop removes the top.
func (a arriving) drop() arriving {
	last := len(a) - 1
	a[0] = a[last]
	a[:last].down()
	return a[:last]
}

// taken calls f with each result in the order in which the master takes them: n
// counts from 0, `asked` is when the master starts to ask for a result, and
// `got` when it has it, in Unix ns. taken returns when the master is done.
func (w *Workers) taken(f func(n uint64, r *results, asked, got int64) error) (int64, error) {
	var all arriving
	travel := newWaits(w.LatencyNoise)
	for rank := 1; rank < w.Ranks; rank++ {
		if r := w.results(rank, travel); r.next() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *results) int { // a sorted slice is a heap
		return cmp.Or(cmp.Compare(a.there, b.there), cmp.Compare(a.rank, b.rank))
	})
	now := w.began(0)
	for n := uint64(0); len(all) > 0; n++ {
		r := all[0]
		got := max(now+2*masterIrecv, r.there) + masterTakes
		if err := f(n, r, now, got); err != nil {
			return 0, err
		}
		now = max(got, now+int64(w.Service)*4/5)
		if r.next() {
			all.down()
		} else {
			all = all.drop()
		}
	}
	return now, nil
}
