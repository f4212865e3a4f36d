package aggregate

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// Locality says how much of what was sent stayed within nodes, by class of
// matrix. Unknown is traffic from or to ranks whose node is unknown.
type Locality struct {
	Class   string        `json:"class"`
	Within  matrix.Volume `json:"within_nodes"`
	Between matrix.Volume `json:"between_nodes"`
	Unknown matrix.Volume `json:"unknown"`
}

// Balance says how evenly a quantity is distributed over the ranks.
type Balance struct {
	Quantity string  `json:"quantity"` // mpi_time_ns, sent_bytes, received_bytes, messages, bytes
	Mean     float64 `json:"mean"`
	Median   float64 `json:"median"`
	Min      float64 `json:"min"`
	MinRank  int     `json:"min_rank"`
	Max      float64 `json:"max"`
	MaxRank  int     `json:"max_rank"`
	// Imbalance is max / mean - 1: how much longer the last rank takes than
	// with perfect balance, as a fraction.
	Imbalance float64 `json:"imbalance"`
	// Standouts are the ranks that differ from the median by far more than
	// other ranks do, the largest difference first: at most 10 of Outlying.
	Standouts []Standout `json:"standouts"`
	Outlying  int        `json:"outlying"`
}

// Standout is a rank whose value differs from those of the others.
type Standout struct {
	Rank  int     `json:"rank"`
	Value float64 `json:"value"`
}

const (
	maxStandouts = 10
	// Iglewicz and Hoaglin (1993): |x - median| > 3.5 × 1.4826 × MAD, where MAD
	// is the median of |x - median|. If more than half of the ranks are equal,
	// MAD is 0, and 1.2533 × the mean of |x - median| replaces 1.4826 × MAD.
	outlyingScore = 3.5
	// Smaller differences, as a fraction of the median, are not reported.
	worthALook = 0.1
	// With fewer ranks, none is reported.
	crowd = 4
)

// rankValue is a rank's value of some quantity.
type rankValue struct {
	rank  int
	value float64
}

// balanceOf returns the balance of one value for each rank. There must be at
// least one.
func balanceOf(quantity string, values []rankValue) Balance {
	values = slices.SortedFunc(slices.Values(values), func(a, b rankValue) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.rank, b.rank))
	})
	least, most := values[0], values[len(values)-1]
	b := Balance{Quantity: quantity, Median: medianOf(values), Min: least.value, MinRank: least.rank,
		Max: most.value, MaxRank: most.rank, Standouts: []Standout{}}
	for _, v := range values {
		b.Mean += v.value / float64(len(values))
		if v.value == most.value && v.rank < b.MaxRank {
			b.MaxRank = v.rank
		}
	}
	if b.Mean > 0 {
		b.Imbalance = b.Max/b.Mean - 1
	}
	b.standOut(values)
	return b
}

// medianOf returns the median of sorted values.
func medianOf(values []rankValue) float64 {
	n := len(values)
	return (values[(n-1)/2].value + values[n/2].value) / 2
}

func (b *Balance) standOut(values []rankValue) {
	if len(values) < crowd {
		return
	}
	off, mean := make([]rankValue, len(values)), 0.0
	for i, v := range values {
		off[i] = rankValue{v.rank, math.Abs(v.value - b.Median)}
		mean += off[i].value / float64(len(values))
	}
	slices.SortFunc(off, func(a, b rankValue) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(b.rank, a.rank))
	})
	usual := 1.4826 * medianOf(off)
	if usual == 0 {
		usual = 1.2533 * mean
	}
	of := make(map[int]float64, len(values))
	for _, v := range values {
		of[v.rank] = v.value
	}
	for i := len(off) - 1; i >= 0; i-- {
		if off[i].value <= outlyingScore*usual || off[i].value <= worthALook*b.Median {
			break
		}
		if b.Outlying++; len(b.Standouts) < maxStandouts {
			b.Standouts = append(b.Standouts, Standout{off[i].rank, of[off[i].rank]})
		}
	}
}

// balances returns the balances over the recorded ranks.
func (j *Job) balances(ms *matrix.ByClass) []Balance {
	recorded := j.Recorded()
	if len(recorded) == 0 {
		return []Balance{}
	}
	sent, received := ms[matrix.All].LineSums(j.Size())
	return append(j.timeBalance(),
		balanceBy("sent_bytes", recorded, func(rank int) uint64 { return sent[rank].Bytes }),
		balanceBy("received_bytes", recorded, func(rank int) uint64 { return received[rank].Bytes }))
}

// directBalances returns the balances of what the recorded ranks sent and received.
func (j *Job) directBalances(direct *matrix.Matrix) []Balance {
	recorded := j.Recorded()
	if len(recorded) == 0 || direct.Empty() {
		return nil
	}
	sent, received := direct.LineSums(j.Size())
	return []Balance{
		balanceBy("messages", recorded, func(rank int) uint64 { return sent[rank].Messages + received[rank].Messages }),
		balanceBy("bytes", recorded, func(rank int) uint64 { return sent[rank].Bytes + received[rank].Bytes })}
}

// balanceBy returns the balance of a quantity over some ranks.
func balanceBy(quantity string, ranks []int, value func(rank int) uint64) Balance {
	values := make([]rankValue, len(ranks))
	for i, rank := range ranks {
		values[i] = rankValue{rank, float64(value(rank))}
	}
	return balanceOf(quantity, values)
}

// timeBalance returns the balance of the time in MPI over the ranks whose calls
// were timed, or nothing if there are none.
func (j *Job) timeBalance() []Balance {
	inMPI := map[int]float64{}
	for i := range j.processes {
		if p := &j.processes[i]; p.Timed() && p.Rank >= 0 {
			inMPI[p.Rank] += 1e9 * p.MPITimeS
		}
	}
	if len(inMPI) == 0 {
		return nil
	}
	values := make([]rankValue, 0, len(inMPI))
	for rank, ns := range inMPI {
		values = append(values, rankValue{rank, math.Round(ns)})
	}
	return []Balance{balanceOf("mpi_time_ns", values)}
}

// localities returns the locality of each class that has traffic.
func (j *Job) localities(ms *matrix.ByClass) []Locality {
	out := []Locality{}
	_, node := j.ranks.Hosts()
	for c := range ms {
		if ms[c].Empty() {
			continue
		}
		l := Locality{Class: matrix.Class(c).String(), Unknown: ms[c].Total()}
		byNode := ms[c].Fold(node)
		l.Between = byNode.Total()
		l.Unknown.Subtract(l.Between)
		names, _ := j.ranks.Hosts()
		for i := range names {
			l.Within.Add(byNode.At(i, i))
		}
		l.Between.Subtract(l.Within)
		out = append(out, l)
	}
	return out
}

// Order is an order of the ranks on the nodes, with the number of ranks that each
// node had.
type Order struct {
	Name    string        `json:"name"` // recorded, block, round-robin or BestFound
	Between matrix.Volume `json:"between_nodes"`
	All     matrix.Volume `json:"all"`
}

// BestFound is the name of the order that was searched for, see Job.OrderOf.
const BestFound = "best found"

// OrderOf returns what an order costs that has each rank on a node, by its index.
func (j *Job) OrderOf(name string, node func(rank int) int) Order {
	return orderOf(j.Matrices().Direct(), name, node)
}

func orderOf(direct *matrix.Matrix, name string, node func(rank int) int) Order {
	byNode := direct.Fold(node)
	o := Order{Name: name, All: byNode.Total()}
	byNode.DropSelf()
	o.Between = byNode.Total()
	return o
}

// orders returns the recorded order of the ranks and some simple ones; nil if there is
// one node, or if the node of a rank is not known.
func (j *Job) orders(direct *matrix.Matrix) []Order {
	names, node := j.ranks.Hosts()
	slots := make([]int, len(names)) // ranks by node
	for rank := range j.Size() {
		at := node(rank)
		if at < 0 {
			return nil
		}
		slots[at]++
	}
	if len(names) < 2 || direct.Empty() {
		return nil
	}
	block, robin := blocks(slots), roundRobin(slots)
	return []Order{orderOf(direct, "recorded", node),
		orderOf(direct, "block", func(rank int) int { return block[rank] }),
		orderOf(direct, "round-robin", func(rank int) int { return robin[rank] })}
}

// blocks returns the node of each rank if each node gets the next ranks until it is
// full.
func blocks(slots []int) (node []int) {
	for at, n := range slots {
		for range n {
			node = append(node, at)
		}
	}
	return node
}

// roundRobin returns the node of each rank if the nodes that have room get one rank
// each, again and again.
func roundRobin(slots []int) (node []int) {
	for round, more := 0, true; more; round++ {
		more = false
		for at, n := range slots {
			if round < n {
				node, more = append(node, at), true
			}
		}
	}
	return node
}
