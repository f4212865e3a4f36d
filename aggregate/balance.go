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
	// Received is how much of Max was received; 0 in balances of other things than Summary.Directs.
	Received float64 `json:"max_received,omitempty"`
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
	// With fewer ranks, no rank is reported.
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
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b rankValue) int {
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
	distance := func(v rankValue) float64 { return math.Abs(v.value - b.Median) }
	mean := 0.0
	for _, v := range values {
		mean += distance(v) / float64(len(values))
	}
	off := slices.Clone(values)
	slices.SortFunc(off, func(a, b rankValue) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(b.rank, a.rank))
	})
	n := len(off)
	usual := 1.4826 * (distance(off[(n-1)/2]) + distance(off[n/2])) / 2
	if usual == 0 {
		usual = 1.2533 * mean
	}
	for i := len(off) - 1; i >= 0; i-- {
		if d := distance(off[i]); d <= outlyingScore*usual || d <= worthALook*b.Median {
			break
		}
		if b.Outlying++; len(b.Standouts) < maxStandouts {
			b.Standouts = append(b.Standouts, Standout{off[i].rank, off[i].value})
		}
	}
}

// addLineBalances fills in Balances and Directs: how evenly the recorded ranks sent and
// received, in all classes and without collectives.
func (s *Summary) addLineBalances(j *Job, ms *matrix.ByClass) {
	s.Balances = []Balance{}
	recorded, n := j.Recorded(), j.Size()
	if len(recorded) == 0 {
		return
	}
	sent, received := make([]matrix.Volume, n), make([]matrix.Volume, n)
	for _, c := range []matrix.TrafficClass{matrix.External, matrix.OneSided} {
		ms[c].AddLineSums(sent, received)
	}
	if !ms[matrix.External].Empty() || !ms[matrix.OneSided].Empty() {
		direct := func(ranks []int) []Balance {
			messages := balanceBy("messages", ranks, func(rank int) uint64 { return sent[rank].Messages + received[rank].Messages })
			messages.Received = float64(received[messages.MaxRank].Messages)
			bytes := balanceBy("bytes", ranks, func(rank int) uint64 { return sent[rank].Bytes + received[rank].Bytes })
			bytes.Received = float64(received[bytes.MaxRank].Bytes)
			return []Balance{messages, bytes}
		}
		s.Directs = direct(recorded)
		s.eachProgram(func(p *JobProgram, ranks []int) { p.Directs = direct(ranks) })
	}
	for c := matrix.External; c < matrix.NumClasses; c++ {
		if j.builder.InAll(c) && c != matrix.External && c != matrix.OneSided {
			ms[c].AddLineSums(sent, received)
		}
	}
	of := func(ranks []int, times []rankValue) []Balance {
		return append(timeBalance(times), balanceBy("sent_bytes", ranks, func(rank int) uint64 { return sent[rank].Bytes }),
			balanceBy("received_bytes", ranks, func(rank int) uint64 { return received[rank].Bytes }))
	}
	times := j.mpiTimes()
	s.Balances = of(recorded, times)
	s.eachProgram(func(p *JobProgram, ranks []int) {
		p.Balances = of(ranks, slices.DeleteFunc(slices.Clone(times), func(v rankValue) bool { return !p.Ranks.Contains(v.rank) }))
	})
}

// eachProgram calls f with the programs of a job that has several, and their ranks.
func (s *Summary) eachProgram(f func(p *JobProgram, ranks []int)) {
	if !s.Programs.Several() {
		return
	}
	for i := range s.Programs {
		if ranks := slices.Collect(s.Programs[i].Ranks.All()); len(ranks) > 0 {
			f(&s.Programs[i], ranks)
		}
	}
}

// balanceBy returns the balance of a quantity over some ranks.
func balanceBy(quantity string, ranks []int, value func(rank int) uint64) Balance {
	values := make([]rankValue, len(ranks))
	for i, rank := range ranks {
		values[i] = rankValue{rank, float64(value(rank))}
	}
	return balanceOf(quantity, values)
}

// timeBalance returns the balance of the times in MPI, or nothing if there are none.
func timeBalance(times []rankValue) []Balance {
	if len(times) == 0 {
		return nil
	}
	return []Balance{balanceOf("mpi_time_ns", times)}
}

// mpiTimes returns the time in MPI, as a part of the ranks' own time, of the ranks whose
// calls were timed.
func (j *Job) mpiTimes() (values []rankValue) {
	ps := j.ordered()
	for i := range ps {
		p := &ps[i]
		switch n := len(values); {
		case !p.Timed() || p.Rank < 0:
		case n > 0 && values[n-1].rank == p.Rank:
			values[n-1].value += 1e9 * p.MPITimeS * p.OwnShare()
		default:
			values = append(values, rankValue{p.Rank, 1e9 * p.MPITimeS * p.OwnShare()})
		}
	}
	for i := range values {
		values[i].value = math.Round(values[i].value)
	}
	return values
}

// addSplits fills in the locality of each class that has traffic, and the orders of the ranks.
func (s *Summary) addSplits(j *Job, ms *matrix.ByClass) {
	_, node := j.Ranks.Hosts()
	direct, orders := ms.Direct(), j.simpleOrders()
	nodes := []func(rank int) int{node}
	for _, o := range orders {
		nodes = append(nodes, o.node)
	}
	var splits [matrix.NumClasses]matrix.Split
	var ordered []matrix.Split // of direct
	for c := matrix.External; c < matrix.NumClasses; c++ {
		if direct == &ms[c] {
			ordered = ms[c].Split(nodes...)
			splits[c] = ordered[0]
		} else {
			splits[c] = ms[c].Split(node)[0]
		}
		if j.builder.InAll(c) {
			splits[matrix.All].Add(splits[c])
		}
	}
	s.Localities = []Locality{}
	for c, split := range splits {
		if !ms[c].Empty() {
			s.Localities = append(s.Localities, Locality{matrix.TrafficClass(c).String(), split.Within, split.Between, split.Unknown})
		}
	}
	if len(orders) == 0 || direct.Empty() {
		return
	}
	if ordered == nil {
		ordered = direct.Split(nodes...)
	}
	s.Orders = []NodeOrder{orderOf("recorded", ordered[0])}
	for i, o := range orders {
		s.Orders = append(s.Orders, orderOf(o.name, ordered[i+1]))
	}
}

// NodeOrder is an order of the ranks on the nodes, with the number of ranks that each
// node had.
type NodeOrder struct {
	Name    string        `json:"name"` // recorded, block, round-robin or BestFound
	Between matrix.Volume `json:"between_nodes"`
	All     matrix.Volume `json:"all"`
}

// BestFound is the name of the order that was searched for, see Job.OrderOf.
const BestFound = "best found"

// OrderOf returns the traffic between nodes for an order of the ranks. node returns the node of a
// rank, by its index.
func (j *Job) OrderOf(name string, node func(rank int) int) NodeOrder {
	return orderOf(name, j.Matrices().Direct().Split(node)[0])
}

func orderOf(name string, s matrix.Split) NodeOrder {
	o := NodeOrder{Name: name, Between: s.Between, All: s.Between}
	o.All.Add(s.Within)
	return o
}

// simpleOrder is an order of the ranks: node returns the node of a rank, by its index.
type simpleOrder struct {
	name string
	node func(rank int) int
}

// simpleOrders returns some simple orders; nil if there is one node, or if the node of a rank
// is not known.
func (j *Job) simpleOrders() []simpleOrder {
	names, node := j.Ranks.Hosts()
	slots := make([]int, len(names)) // ranks by node
	for rank := range j.Size() {
		at := node(rank)
		if at < 0 {
			return nil
		}
		slots[at]++
	}
	if len(names) < 2 {
		return nil
	}
	block, robin := blocks(slots), roundRobin(slots)
	return []simpleOrder{{"block", func(rank int) int { return block[rank] }}, {"round-robin", func(rank int) int { return robin[rank] }}}
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
