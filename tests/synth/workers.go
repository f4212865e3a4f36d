package synth

import (
	"cmp"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Workers is a master, rank 0, to whom all others send their results, as
// events. It takes what comes first, from anybody with any tag: in turn by an
// Irecv that it waits for and by a Recv. Messages go one way only, and come a
// little slower than the master could take them, but not one by one: some wait
// for it, and it waits for others.
//
// All may be changed before the first use.
type Workers struct {
	Ranks, Results int // of each worker
	PerNode        int
	Bytes          uint64        // of a result
	Service        time.Duration // what the master needs for a result, with the calls
	Latency        time.Duration // of a message, the least
	LatencyNoise   time.Duration // mean of what is added, exponentially distributed
	Tags           int           // the kth result of a worker has tag k mod Tags
	Seed           uint64
}

// NewWorkers has results of 64 bytes, for each of which the master has 2 µs.
func NewWorkers(ranks, results int) *Workers {
	return &Workers{Ranks: ranks, Results: results, PerNode: 64, Bytes: 64, Service: 2 * time.Microsecond,
		Latency: time.Microsecond, LatencyNoise: 500 * time.Nanosecond, Tags: 3, Seed: 1}
}

// Events implements Traced: of each result the Send, and Irecv, Wait and message
// or, of every other one, the Recv; Init and Finalize of each rank.
func (w *Workers) Events() uint64 {
	n := w.Volume().Messages
	return n + w.master() + 2*uint64(w.Ranks)
}

// master is how many events tell what the master received.
func (w *Workers) master() uint64 {
	n := w.Volume().Messages
	return 3*(n-n/2) + n/2
}

// Volume implements Traced.
func (w *Workers) Volume() Volume {
	return Volume{w.Bytes, 1}.times(uint64(w.Ranks-1) * uint64(w.Results))
}

// Collectives implements Traced: there are none.
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

// Times of the calls, ns.
const (
	workerSend  = 300
	masterIrecv = 120
	masterTakes = 200 // from where a message is there to where the call returns, also if it was there before
)

// results is what a worker does, one result after the other.
type results struct {
	w      *Workers
	travel *waits
	think  *lengths
	key    uint64
	rank   int
	k      int   // of the result, from 0 on
	start  int64 // of its Send
	there  int64 // when it is at the master's
}

func (w *Workers) results(rank int, travel *waits) *results {
	usual := w.Service * time.Duration(w.Ranks-1)
	return &results{w: w, travel: travel, think: newLengths(usual, false), key: mix(w.Seed, uint64(rank)), rank: rank, k: -1,
		start: w.began(rank), there: 0}
}

// began is when a rank left Init.
func (w *Workers) began(rank int) int64 { return initDone + int64(mix(w.Seed, uint64(rank))%1000) }

// next goes to the next result, and tells whether there is one. No message of a
// worker overtakes another.
func (r *results) next() bool {
	r.k++
	drawn := mix(r.key, uint64(r.k))
	r.start += r.think.at(drawn) + workerSend
	r.there = max(r.there, r.start+int64(r.w.Latency)+r.travel.at(drawn>>8))
	return r.k < r.w.Results
}

func (r *results) tag() int32  { return int32(r.k % r.w.Tags) }
func (r *results) seq() uint32 { return uint32(r.k/r.w.Tags) + 1 }

// arriving is a heap of what is under way to the master, what is there first on
// top.
type arriving []*results

func (r *results) before(o *results) bool {
	return r.there < o.there || r.there == o.there && r.rank < o.rank
}

// down puts the top where it belongs.
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

// drop takes the top away.
func (a arriving) drop() arriving {
	last := len(a) - 1
	a[0] = a[last]
	a[:last].down()
	return a[:last]
}

// taken calls f with each result that the master takes, the nth at a time when
// it asks for it, and when it has it. It returns when all is done.
func (w *Workers) taken(f func(n uint64, r *results, asked, got int64) error) (int64, error) {
	var all arriving
	travel := newWaits(w.LatencyNoise)
	for rank := 1; rank < w.Ranks; rank++ {
		if r := w.results(rank, travel); r.next() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *results) int { // a heap, too
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
