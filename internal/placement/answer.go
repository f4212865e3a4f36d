package placement

import (
	"errors"
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Counted returns the matrix that counts by default, and its class: that of point-to-point and
// one-sided calls or, if it is empty, that of all calls. Collectives are left out because it is not
// recorded what an MPI library sends for them. Their logical volume is far more than that: in an
// MPI_Allreduce each rank sends its data to each other rank.
func Counted(ms *matrix.ByClass) (*matrix.Matrix, matrix.TrafficClass) {
	if direct := ms.Direct(); !direct.Empty() {
		return direct, matrix.Direct
	}
	return &ms[matrix.All], matrix.All
}

// NearBest is the share by which the present order may cost more than the best order found and
// still not be worth changing.
const NearBest = 0.02

// RandomOrders is the number of random orders whose mean is one row of an answer.
const RandomOrders = 5

// The names of the rows of an answer.
const (
	AsItRan   = "as it ran"
	BestFound = "best found"
	InBlocks  = "block"
	InTurn    = "round-robin"
	InNoOrder = "random"
)

// A Question is what is asked about the placement of a job.
type Question struct {
	Topology *Topology
	Matrix   *matrix.Matrix // see Counted
	Ranks    int
	By       CostUnit
	Ran      Order // the present order; nil if it is not known
	Within   int64 // the work above which Ask returns ErrTooMuch; 0 for no limit
	Options        // Starts are added to by Ask
}

// ErrTooMuch means that a search would take longer than Question.Within allows.
var ErrTooMuch = errors.New("the search would take too long")

// work estimates how many edges a search compares in one sweep over all ranks: the edges of each
// rank, for each slot of the nodes on which the rank has peers.
func (q *Question) work(traffic *RankTraffic) (sum int64) {
	nodes := int64(q.Topology.nodeCount())
	slots := int64(len(q.Topology.Slots)) / nodes
	for r := range q.Ranks {
		degree := int64(traffic.Start[r+1] - traffic.Start[r])
		sum += degree * min(degree, nodes) * slots
	}
	return sum
}

// An Answer compares orders of the ranks of a job.
type Answer struct {
	Ranks  int         `json:"ranks"`
	Slots  int         `json:"slots"`
	Nodes  int         `json:"nodes"`
	By     CostUnit    `json:"by"`     // what the objective counts
	Levels []Distance  `json:"levels"` // innermost first
	Orders []OrderCost `json:"orders"` // the present one first, if it is known, then the best one found
	// NearBest says that the present order or, if it is not known, block costs at most 2 %
	// more than the best one found.
	NearBest bool `json:"near_best"`
	// Equal says why all orders cost the same; empty if they do not.
	Equal string `json:"equal,omitempty"`
	// Placed is which ranks the best order found has on each node, in the order of slots.
	Placed []NodeRanks `json:"placed"`
	// Slot is the slot of each rank in the best order found.
	Slot Order `json:"slot"`
}

// A Distance is the distance of two slots whose lowest common domain is of a level.
type Distance struct {
	Level    string `json:"level"`
	Distance int64  `json:"distance"`
}

// An OrderCost is what an order costs. Amounts are bytes or messages, as Answer.By says, added up
// over both directions of each pair of ranks.
type OrderCost struct {
	Order string `json:"order"` // its name
	Cost
	// the objective divided by that of the first row; 1 if both are 0
	Ratio      float64  `json:"ratio"`
	LeavesNode uint64   `json:"leaves_node"` // between ranks on different nodes
	Largest    NodeFlow `json:"largest_flow"`
}

// A NodeFlow is what the ranks of one node send to the ranks of another. Without names it is the
// mean of several orders.
type NodeFlow struct {
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Amount uint64 `json:"amount"`
}

// NodeRanks is the ranks on a node.
type NodeRanks struct {
	Node  string          `json:"node"`
	Ranks profile.RankSet `json:"ranks"`
}

// Ask answers a question.
func Ask(q Question) (*Answer, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	t := q.Topology
	a := &Answer{Ranks: q.Ranks, Slots: len(t.Slots), Nodes: t.nodeCount(), By: q.By}
	for _, l := range t.Levels {
		a.Levels = append(a.Levels, Distance{l.Name, l.Distance})
	}
	traffic := NewTraffic(q.Matrix, q.Ranks, q.By)
	if err := q.checkSums(traffic); err != nil {
		return nil, err
	}
	if q.Within > 0 && q.work(traffic) > q.Within {
		return nil, ErrTooMuch
	}
	block, turn := Block(q.Ranks), RoundRobin(t, q.Ranks)
	q.Starts = append([]Order{block, turn}, q.Starts...)
	if q.Ran != nil {
		q.Starts = append([]Order{q.Ran}, q.Starts...)
		a.Orders = append(a.Orders, q.row(AsItRan, traffic, q.Ran))
	}
	best, _, err := Best(t, traffic, q.Options)
	if err != nil {
		return nil, err
	}
	a.Orders = append(a.Orders, q.row(BestFound, traffic, best), q.row(InBlocks, traffic, block),
		q.row(InTurn, traffic, turn), q.random(traffic))
	a.compare()
	a.Equal = q.allEqual(traffic)
	a.Slot, a.Placed = best, t.placed(best)
	return a, nil
}

// check reports why a question cannot be answered.
func (q *Question) check() error {
	switch {
	case q.Ranks < 1:
		return errors.New("the job has no ranks")
	case len(q.Topology.Slots) < q.Ranks:
		return fmt.Errorf("the topology has %s, too few for %s", text.CountOf(len(q.Topology.Slots), "slot"), text.CountOf(q.Ranks, "rank"))
	case q.Ran != nil && len(q.Ran) != q.Ranks:
		return fmt.Errorf("the present order has %d of %s", len(q.Ran), text.CountOf(q.Ranks, "rank"))
	}
	if q.Ran != nil {
		return q.Ran.Check(q.Topology)
	}
	return nil
}

// maxObjective limits an objective, so that sums of several fit into 64 bits.
const maxObjective = 1 << 61

// checkSums reports whether the sums of an answer could exceed 64 bits.
func (q *Question) checkSums(traffic *RankTraffic) error {
	sum, farthest := traffic.sum(), q.Topology.Levels[len(q.Topology.Levels)-1].Distance
	if sum*float64(farthest) < maxObjective {
		return nil
	}
	return fmt.Errorf("about %.3g %s × distances of up to %d do not fit into 64 bits: select a part of the traffic, or give smaller distances with --distance", sum, q.By, farthest)
}

// allEqual says why all orders cost the same; it returns "" if their costs may differ.
func (q *Question) allEqual(traffic *RankTraffic) string {
	switch {
	case q.Ranks == 1:
		return "there is one rank"
	case len(traffic.Column) == 0 && len(traffic.Groups) == 0:
		return fmt.Sprintf("no rank sent any %s to another", q.By)
	}
	if q.Topology.flat() {
		return "all slots are equally far from each other (--topology describes another machine)"
	}
	return ""
}

// flat reports whether all slots are equally far from each other.
func (t *Topology) flat() bool {
	var least, most int64
	for _, l := range t.Levels {
		domains := int(l.Domain[len(t.Slots)-1]) + 1
		if least == 0 && domains < len(t.Slots) {
			least = l.Distance // of slots that share a domain
		}
		if most = l.Distance; domains == 1 {
			break
		}
	}
	return least == most
}

// row returns the row of an order.
func (q *Question) row(name string, traffic *RankTraffic, o Order) OrderCost {
	r := OrderCost{Order: name, Cost: Evaluate(q.Topology, traffic, o)}
	for i := q.Topology.Nodes() + 1; i > 0 && i < len(r.Levels); i++ {
		r.LeavesNode += r.Levels[i]
	}
	if r.LeavesNode > 0 {
		r.Largest = q.largestFlow(o)
	}
	return r
}

// largestFlow returns the largest flow from one node to another.
func (q *Question) largestFlow(o Order) NodeFlow {
	node := q.Topology.NodeOf(o)
	flows := q.Matrix.Fold(func(rank int) int {
		if rank < 0 || rank >= len(node) {
			return -1
		}
		return node[rank]
	})
	flows.DropSelf()
	var largest matrix.Cell
	if q.By == Bytes {
		for _, c := range flows.Top(1) {
			largest = c
		}
	} else {
		for p, v := range flows.All() {
			if v.Messages > largest.Messages {
				largest = matrix.Cell{Pair: p, Volume: v}
			}
		}
	}
	name := q.Topology.NodeNames()
	return NodeFlow{name[largest.From], name[largest.To], q.By.Of(largest.Volume)}
}

// random returns the mean of several random orders.
func (q *Question) random(traffic *RankTraffic) OrderCost {
	mean := OrderCost{Order: InNoOrder, Cost: Cost{Levels: make([]uint64, len(q.Topology.Levels))}}
	for i := range RandomOrders {
		r := q.row(InNoOrder, traffic, Random(q.Topology, q.Ranks, q.Seed+uint64(i)))
		mean.Objective += r.Objective
		mean.LeavesNode += r.LeavesNode
		mean.Largest.Amount += r.Largest.Amount
		for l, w := range r.Levels {
			mean.Levels[l] += w
		}
	}
	mean.Objective /= RandomOrders
	mean.LeavesNode /= RandomOrders
	mean.Largest.Amount /= RandomOrders
	for l := range mean.Levels {
		mean.Levels[l] /= RandomOrders
	}
	return mean
}

// compare sets the ratios and NearBest.
func (a *Answer) compare() {
	first := a.Orders[0].Objective
	for i := range a.Orders {
		switch r := &a.Orders[i]; {
		case first > 0:
			r.Ratio = float64(r.Objective) / float64(first)
		case r.Objective == 0:
			r.Ratio = 1
		default:
			r.Ratio = math.MaxFloat64 // JSON has no infinity
		}
	}
	now := a.Ran()
	if now == nil {
		now = a.Row(InBlocks)
	}
	a.NearBest = float64(now.Objective) <= (1+NearBest)*float64(a.Best().Objective)
}

// Gains reports whether the best order found is worth a change.
func (a *Answer) Gains() bool { return a.Equal == "" && !a.NearBest }

// Best returns the row of the best order found.
func (a *Answer) Best() *OrderCost { return a.Row(BestFound) }

// Ran returns the row of the present order; nil if it is not known.
func (a *Answer) Ran() *OrderCost { return a.Row(AsItRan) }

// Row returns the row of an order; nil if there is none.
func (a *Answer) Row(name string) *OrderCost {
	for i := range a.Orders {
		if a.Orders[i].Order == name {
			return &a.Orders[i]
		}
	}
	return nil
}

// nodeCount returns the number of nodes; 1 if the topology has no level of nodes.
func (t *Topology) nodeCount() int {
	if level := t.Nodes(); level >= 0 {
		return int(t.Levels[level].Domain[len(t.Slots)-1]) + 1
	}
	return 1
}

// NodeNames returns the names of the nodes: their hosts or, if the topology names none,
// "node 0", "node 1" and so on.
func (t *Topology) NodeNames() []string {
	names := make([]string, t.nodeCount())
	for i := range names {
		names[i] = fmt.Sprintf("%s %d", NodeLevel, i)
	}
	level := t.Nodes()
	for s, slot := range t.Slots {
		switch {
		case slot.Host == "":
		case level < 0:
			names[0] = slot.Host
		default:
			names[t.Levels[level].Domain[s]] = slot.Host
		}
	}
	return names
}

// NodeOf returns the index of the node of each rank.
func (t *Topology) NodeOf(o Order) []int {
	level, node := t.Nodes(), make([]int, len(o))
	for r, s := range o {
		if level >= 0 {
			node[r] = int(t.Levels[level].Domain[s])
		}
	}
	return node
}

// placed returns which ranks an order has on each node that has any.
func (t *Topology) placed(o Order) []NodeRanks {
	ranks := make([][]int, t.nodeCount())
	for r, node := range t.NodeOf(o) {
		ranks[node] = append(ranks[node], r)
	}
	out := []NodeRanks{}
	for node, name := range t.NodeNames() {
		if len(ranks[node]) > 0 {
			out = append(out, NodeRanks{name, profile.RankSetOf(ranks[node]...)})
		}
	}
	return out
}
