package page

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An amount is what one line of a matrix sent to another.
type amount struct {
	Bytes    uint64 `json:"bytes,string"`
	Messages uint64 `json:"messages,string"`
}

func (a amount) add(b amount) amount { return amount{a.Bytes + b.Bytes, a.Messages + b.Messages} }

// cell is a row and a column.
type cell [2]int

// classes has the classes of the page as profile2mat selects them and names its files.
// Without a selection, a matrix by rank has all pairs of collectives, of which large jobs
// have too many.
var classes = map[string]struct{ selected, file string }{
	"point-to-point": {"p2p", "external"}, "one-sided": {"one-sided", "osc"}, "collectives": {"coll", "coll"},
	"internal": {"", "internal"}, "all": {"", "all"},
}

// matrixOf returns a matrix as profile2mat writes it, which reads the run without the code
// of the page. by is rank, host or a number of ranks. Hosts are numbered by name.
func matrixOf(t testing.TB, run, class, by string) map[cell]amount {
	t.Helper()
	dir := filepath.Join(filepath.Dir(run), "matrices-by-"+by)
	args := []string{run, "-o", dir, "--format", "csv", "--by", by}
	if selected := classes[class].selected; selected != "" && by == "rank" {
		dir += "-" + selected
		args = append(args, "-o", dir, "--class", selected)
	}
	if !exists(dir) {
		command(t, "profile2mat", args...)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*_"+classes[class].file+".csv"))
	if len(files) != 1 {
		t.Fatalf("%d files of %s", len(files), class)
	}
	rows, err := csv.NewReader(strings.NewReader(read(t, files[0]))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	if by == "host" {
		for _, r := range rows[1:] {
			names[r[0]], names[r[1]] = 0, 0
		}
		for i, name := range slices.Sorted(maps.Keys(names)) {
			names[name] = i
		}
	}
	line := func(name string) int {
		if i, isHost := names[name]; isHost {
			return i
		}
		return int(whole(t, name))
	}
	m := map[cell]amount{}
	for _, r := range rows[1:] {
		m[cell{line(r[0]), line(r[1])}] = amount{Messages: whole(t, r[2]), Bytes: whole(t, r[3])}
	}
	return m
}

func whole(t testing.TB, digits string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// view is the expression of the first matrix: the element that has functions for tests.
const view = `[...document.querySelectorAll("div")].find((d) => d.describe)`

// options returns the texts that a choice of the matrix offers; none if it is not there.
func (p *tab) options(label string) []string {
	p.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...%s.querySelectorAll("label.choice")].filter((l) => l.firstChild.textContent.trim() === %q)
		.flatMap((l) => [...l.querySelectorAll("option")].map((o) => o.textContent))`, view, label))
}

// choose picks an option of the matrix by its text.
func (p *tab) choose(label, option string) {
	p.Helper()
	p.script(`const list = [...%s.querySelectorAll("label.choice")].find((l) => l.firstChild.textContent.trim() === %q).querySelector("select");
		list.selectedIndex = [...list.options].findIndex((o) => o.textContent === %q);
		list.dispatchEvent(new Event("change"));`, view, label, option)
}

// level returns how many units a line of the matrix has, and the unit: rank or node.
func (p *tab) level() (size int, unit string) {
	p.Helper()
	text := eval[string](p, view+".level()")
	digits, unit, _ := strings.Cut(text, " ")
	return int(number(digits)), strings.TrimSuffix(unit, "s")
}

// describe returns what the page says about cells.
func (p *tab) describe(cells []cell) []amount {
	p.Helper()
	list, _ := json.Marshal(cells)
	return eval[[]amount](p, fmt.Sprintf(`%s.map(([r, c]) => %s.describe(r, c))`, list, view))
}

// A point is a place in the window.
type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

func (p *tab) locate(c cell) point {
	p.Helper()
	return eval[point](p, fmt.Sprintf("%s.locate(%d, %d)", view, c[0], c[1]))
}

// tooltip returns the text of the tooltip, which is empty if there is none.
func (p *tab) tooltip() string {
	p.Helper()
	return eval[string](p, `(() => { const t = document.querySelector("#tooltip"); return t && !t.hidden ? t.innerText : ""; })()`)
}

// some returns at most n of a matrix's cells, evenly chosen in order, and cells near
// them that may be empty.
func some(m map[cell]amount, lines, n int) []cell {
	all := slices.SortedFunc(maps.Keys(m), func(a, b cell) int { return slices.Compare(a[:], b[:]) })
	step := max(1, (len(all)+n-1)/n)
	var out []cell
	for i := 0; i < len(all); i += step {
		out = append(out, all[i], cell{all[i][1], all[i][0]}, cell{all[i][0], (all[i][1] + lines/2) % lines})
	}
	return out
}

// checkCells compares cells of the level that is shown with a matrix: all that are not
// empty in a small one.
func (p *tab) checkCells(what string, m map[cell]amount, lines int) {
	p.Helper()
	cells := some(m, lines, 300)
	if len(m) > 300 {
		cells = some(m, lines, 30)
	}
	for i, got := range p.describe(cells) {
		if got != m[cells[i]] {
			p.Errorf("%s: cell %v is %+v, profile2mat says %+v", what, cells[i], got, m[cells[i]])
			return
		}
	}
}

// checkHover moves the mouse to some cells that are in view and compares the tooltip.
func (p *tab) checkHover(what string, m map[cell]amount, lines int) {
	p.Helper()
	seen := 0
	for _, c := range some(m, lines, 40) {
		at := p.locate(c)
		if !p.inPlot(at) {
			continue
		}
		p.hover(at.X, at.Y)
		p.checkTooltip(fmt.Sprintf("%s: cell %v", what, c), m[c])
		if seen++; seen == 6 {
			return
		}
	}
	if seen == 0 {
		p.Errorf("%s: no cell is in view", what)
	}
}

// inPlot reports whether a point lies in the picture, whose margins hold the names and
// the totals.
func (p *tab) inPlot(at point) bool {
	p.Helper()
	return eval[bool](p, fmt.Sprintf(`((x, y) => { const b = %s.querySelector("canvas.matrix").getBoundingClientRect();
		return x > b.left + 70 && x < b.right - 60 && y > Math.max(0, b.top + 44) && y < Math.min(innerHeight, b.bottom - 100); })(%g, %g)`, view, at.X, at.Y))
}

// checkTooltip requires that the tooltip has an amount.
func (p *tab) checkTooltip(what string, a amount) {
	p.Helper()
	text := p.tooltip()
	want := []string{"no messages"}
	if a != (amount{}) {
		want = []string{commas(a.Bytes) + " B", commas(a.Messages) + " message"}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			p.Errorf("%s: the tooltip %q lacks %q", what, text, w)
		}
	}
}

// checkTotals hovers over the totals of a line on the right and below.
func (p *tab) checkTotals(what string, m map[cell]amount, lines int) {
	p.Helper()
	for _, line := range []int{0, lines / 2, lines - 1} {
		var sent, received amount
		for c, a := range m {
			if c[0] == line {
				sent = sent.add(a)
			}
			if c[1] == line {
				received = received.add(a)
			}
		}
		first, last := p.locate(cell{line, 0}), p.locate(cell{line, lines - 1})
		half := (last.X - first.X) / float64(max(1, lines-1)) / 2
		p.hover(last.X+half+20, last.Y)
		p.checkTooltip(fmt.Sprintf("%s: sent by line %d", what, line), sent)
		first, last = p.locate(cell{0, line}), p.locate(cell{lines - 1, line})
		half = (last.Y - first.Y) / float64(max(1, lines-1)) / 2
		p.hover(last.X, last.Y+half+20)
		p.checkTooltip(fmt.Sprintf("%s: received by line %d", what, line), received)
	}
}

// checkMatrices compares each class of a job, by rank and by node and as they are shown
// first, with profile2mat.
func (p *tab) checkMatrices(run string, ranks, nodes int) {
	p.Helper()
	p.showMatrix()
	offered := p.options("class")
	for _, class := range slices.Concat(offered, []string{"all"})[:max(1, len(offered))] { // without a choice, the only class is all
		if len(offered) > 0 {
			p.choose("class", class)
		}
		kinds := p.options("cells")
		for _, cells := range kinds {
			p.choose("cells", cells)
			size, unit := p.level()
			by, lines := strconv.Itoa(size), (ranks+size-1)/size
			if unit == "node" {
				by, lines = "host", nodes
			} else if size == 1 {
				by = "rank"
			}
			m := matrixOf(p, run, class, by)
			what := fmt.Sprintf("%s, cells %s", class, cells)
			p.checkCells(what, m, lines)
			p.checkTotals(what, m, lines)
			p.checkHover(what, m, lines)
		}
		if len(kinds) > 0 {
			p.choose("cells", kinds[0])
		}
	}
}

// showMatrix scrolls the first matrix into the window.
func (p *tab) showMatrix() {
	p.Helper()
	p.script(view + `.querySelector("canvas").scrollIntoView({ block: "center" })`)
}

// checkZoom turns the wheel over the matrix until a cell is one rank, and compares each
// level on the way. It returns the levels.
func (p *tab) checkZoom(run, class string, ranks int) (levels []int) {
	p.Helper()
	p.showMatrix()
	if len(p.options("class")) > 0 {
		p.choose("class", class)
	}
	middle := eval[point](p, fmt.Sprintf(`(() => { const b = %s.querySelector("canvas.matrix").getBoundingClientRect();
		return { x: b.left + b.width / 2, y: b.top + b.height / 2.3 }; })()`, view))
	for range 80 {
		size, _ := p.level()
		if len(levels) == 0 || levels[len(levels)-1] != size {
			levels = append(levels, size)
			lines := (ranks + size - 1) / size
			by := strconv.Itoa(size)
			if size == 1 {
				by = "rank"
			}
			m := matrixOf(p, run, class, by)
			p.checkCells(fmt.Sprintf("%d ranks in a cell", size), m, lines)
			p.hover(middle.X, middle.Y)
		}
		if size == 1 {
			return levels
		}
		p.wheel(middle.X, middle.Y, -100)
	}
	return levels
}

// commas returns a number as the page shows it.
func commas(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
