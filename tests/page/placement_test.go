package page

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A placementAnswer is what the tests read of `mpitrace reorder --json`.
type placementAnswer struct {
	Levels []struct{ Level string }
	Orders []struct {
		Order      string
		Objective  uint64
		Ratio      float64
		Levels     []uint64
		LeavesNode uint64                  `json:"leaves_node"`
		Largest    struct{ Amount uint64 } `json:"largest_flow"`
	}
	Slot   []int
	Placed []struct{ Node string }
}

// TestPlacement compares the section about orders, and the matrix in the best order found,
// with `mpitrace reorder` and profile2mat. The ranks form a grid of 4 × 4 × 4, whose best
// blocks are cubes of 8.
func TestPlacement(t *testing.T) {
	run := synthetic(t, "stencil", 64, 8)
	order := filepath.Join(t.TempDir(), "order")
	command(t, "mpitrace", "reorder", "--effort", "fast", "-o", order, "--format", "mpich", run)
	var answered struct{ Jobs []placementAnswer }
	if err := json.Unmarshal([]byte(command(t, "mpitrace", "reorder", "--effort", "fast", "--json", run)), &answered); err != nil || len(answered.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(answered.Jobs), err)
	}
	a := answered.Jobs[0]
	p, _ := open(t, run)
	p.pictures("placement")
	p.checkOrders(&a)
	ranks := make([]int, len(a.Slot)) // in the order of their slots
	for rank, slot := range a.Slot {
		ranks[slot] = rank
	}
	p.showMatrix()
	p.choose("cells", "rank")
	p.choose("order", "best order found")
	p.checkOrder(run, ranks)
	p.checkNodes(&a)
	p.choose("cells", "rank")
	p.choose("order", "from a file")
	p.checkOrder(run, slices.Sorted(slices.Values(ranks))) // no file yet
	p.do(chromedp.SetUploadFiles(chromedp.CSS(`.controls input[type=file]`), []string{order}))
	p.settle()
	p.checkOrder(run, ranks)
}

// TestPlacementFinding requires that a finding about nodes leads to the section.
func TestPlacementFinding(t *testing.T) {
	p, _ := open(t, synthetic(t, "between-nodes", 100, 50))
	links := eval[[]string](p, `[...document.querySelectorAll(".findings li")].filter((l) => l.querySelector(".rule").textContent === "bytes between nodes")
		.flatMap((l) => [...l.querySelectorAll(".acts a")].map((a) => a.getAttribute("href")))`)
	if !slices.Equal(links, []string{"#placement"}) {
		t.Errorf("links %q", links)
	}
}

// TestPatterns compares the section about patterns with the report.
func TestPatterns(t *testing.T) {
	run := synthetic(t, "stencil", 64, 8)
	var r struct {
		Jobs []struct {
			Patterns struct {
				Direct struct {
					Components []struct {
						Text            string
						Share           float64
						Bytes, Messages uint64
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(command(t, "mpitrace", "report", "--json", run)), &r); err != nil || len(r.Jobs) != 1 || len(r.Jobs[0].Patterns.Direct.Components) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	p, _ := open(t, run)
	p.pictures("patterns")
	const caption = "patterns"
	shown := p.table(caption)
	columns := []wantedColumn{{head: "bytes"}, {head: "msgs"}}
	for i, c := range r.Jobs[0].Patterns.Direct.Components {
		columns[0].values, columns[1].values = append(columns[0].values, c.Bytes), append(columns[1].values, c.Messages)
		if share := fmt.Sprintf("%.1f %%", 100*c.Share); shown.Rows[i][0] != c.Text || shown.Rows[i][1] != share {
			t.Errorf("row %d is %q, want %q and %s", i, shown.Rows[i], c.Text, share)
		}
	}
	p.checkTable(caption, columns...)
}

// checkOrders compares the table of orders.
func (p *tab) checkOrders(a *placementAnswer) {
	p.Helper()
	const caption = "placement"
	var names []string
	columns := []wantedColumn{{head: "objective"}, {head: "leave a node"}, {head: "in a node"}}
	for _, o := range a.Orders {
		names = append(names, strings.Replace(o.Order, "random", "random (mean of 5)", 1))
		for i, n := range []uint64{o.Objective, o.LeavesNode, o.Levels[0]} {
			columns[i].values = append(columns[i].values, n)
		}
	}
	shown := p.table(caption)
	if got := shown.column(p, "order"); !slices.Equal(got, names) {
		p.Errorf("orders %q, reorder has %q", got, names)
	}
	for i, text := range shown.column(p, "ratio") {
		if want := fmt.Sprintf("%.3f", a.Orders[i].Ratio); text != want {
			p.Errorf("%s: ratio %s, want %s", names[i], text, want)
		}
	}
	p.checkTable(caption, columns...)
	if got := p.table("placed").column(p, "node"); len(got) != len(a.Placed) {
		p.Errorf("%d nodes in the best order, want %d", len(got), len(a.Placed))
	}
}

// checkOrder requires that line i of the matrix is ranks[i].
func (p *tab) checkOrder(run string, ranks []int) {
	p.Helper()
	m, permuted := matrixOf(p, run, "point-to-point", "rank"), map[cell]amount{}
	for i, from := range ranks {
		for j, to := range ranks {
			if v, sent := m[cell{from, to}]; sent {
				permuted[cell{i, j}] = v
			}
		}
	}
	p.choose("class", "point-to-point")
	p.checkCells("reordered", permuted, len(ranks))
}

// checkNodes requires that what leaves a node of the best order is between the cells of
// nodes.
func (p *tab) checkNodes(a *placementAnswer) {
	p.Helper()
	p.choose("cells", "node")
	n := len(a.Placed)
	var off []cell
	for i := range n {
		for j := range n {
			if i != j {
				off = append(off, cell{i, j})
			}
		}
	}
	var sum, largest uint64
	for _, v := range p.describe(off) {
		sum += v.Bytes
		largest = max(largest, v.Bytes)
	}
	best := a.Orders[1]
	if sum != best.LeavesNode || largest != best.Largest.Amount {
		p.Errorf("%d bytes are between nodes, at most %d from one to another; reorder has %d and %d", sum, largest, best.LeavesNode, best.Largest.Amount)
	}
}
