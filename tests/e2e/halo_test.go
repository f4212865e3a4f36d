package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A plate describes a run of examples/halo: numbers of points and steps, and
// the grid of processes.
type plate struct {
	rows, cols, steps int
	down, across      int // dimensions of the process grid
}

// share returns how many of n points part i of parts has. If n is not a
// multiple of parts, the first parts have one more.
func share(n, parts, i int) int {
	if i < n%parts {
		return n/parts + 1
	}
	return n / parts
}

// place returns the row and column of a rank in the grid, and the size of its
// block.
func (p plate) place(rank int) (i, j, rows, cols int) {
	i, j = rank/p.across, rank%p.across
	return i, j, share(p.rows, p.down, i), share(p.cols, p.across, j)
}

// external returns what one rank sends to another by Isend: a border of doubles
// to each neighbour in each step.
func (p plate) external(from, to int) (bytes, messages int) {
	i, j, rows, cols := p.place(from)
	k, l, _, _ := p.place(to)
	switch {
	case j == l && (i == k+1 || k == i+1):
		return p.steps * cols * 8, p.steps
	case i == k && (j == l+1 || l == j+1):
		return p.steps * rows * 8, p.steps
	}
	return 0, 0
}

// collective returns the logical volume of the collectives from one rank to
// another.
func (p plate) collective(from, to int) (bytes, messages int) {
	if from == to {
		return 0, 0
	}
	i, j, rows, cols := p.place(from)
	k, l, _, _ := p.place(to)
	bytes, messages = p.steps*8, p.steps // Allreduce of the residual
	if to == 0 {                         // Gather of two doubles
		bytes, messages = bytes+2*8, messages+1
	}
	if i == k && l == 0 { // Reduce of the row sums, to the first rank of the row
		bytes, messages = bytes+rows*8, messages+1
	}
	if j == l { // Allreduce of the columns' maxima
		bytes, messages = bytes+cols*8, messages+1
	}
	return bytes, messages
}

func (p plate) all(from, to int) (bytes, messages int) {
	eb, em := p.external(from, to)
	cb, cm := p.collective(from, to)
	return eb + cb, em + cm
}

// run records the example and requires that the job is complete.
func (p plate) run(t *testing.T, m implementation) job {
	t.Helper()
	program := m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c"))
	return m.run(t, p.down*p.across, program,
		"-n", strconv.Itoa(p.rows), "-m", strconv.Itoa(p.cols), "-s", strconv.Itoa(p.steps))
}

// TestHalo checks every cell of the matrices of examples/halo. Neither side of
// the plate is a multiple of the number of processes along it.
func TestHalo(t *testing.T) {
	for _, p := range []plate{
		{rows: 31, cols: 25, steps: 20, down: 2, across: 2},
		{rows: 31, cols: 25, steps: 20, down: 3, across: 3},
	} {
		t.Run(fmt.Sprintf("%d ranks", p.down*p.across), func(t *testing.T) {
			withEach(t, anyMPI, func(t *testing.T, m implementation) {
				j := p.run(t, m)
				checkReceived(t, j.ranks)
				p.checkMatrices(t, j)
			})
		})
	}
}

// checkMatrices compares each cell of a job's matrices with the expected
// volume.
func (p plate) checkMatrices(t *testing.T, j job) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "matrices")
	succeed(t, nil, toMatrix, j.dir, "-o", out)
	for kind, cell := range map[string]func(from, to int) (int, int){
		"all": p.all, "external": p.external, "coll": p.collective,
	} {
		size, msg := matrixOf(p.down*p.across, cell)
		diff(t, "size_"+kind, size, readMatrix(t, filepath.Join(out, "*_size_"+kind+".mat")))
		diff(t, "msg_"+kind, msg, readMatrix(t, filepath.Join(out, "*_msg_"+kind+".mat")))
	}
	for _, kind := range []string{"internal", "osc"} {
		if found, _ := filepath.Glob(filepath.Join(out, "*_"+kind+".mat")); found != nil {
			t.Errorf("%v: the program does not have this traffic", found)
		}
	}
}

// matrixOf returns the matrices of bytes and messages, with one row per sender.
func matrixOf(n int, cell func(from, to int) (bytes, messages int)) (size, msg [][]int) {
	size, msg = make([][]int, n), make([][]int, n)
	for from := range n {
		size[from], msg[from] = make([]int, n), make([]int, n)
		for to := range n {
			size[from][to], msg[from][to] = cell(from, to)
		}
	}
	return size, msg
}

// readMatrix reads the only .mat file that matches a pattern.
func readMatrix(t *testing.T, pattern string) [][]int {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Errorf("%s: found %v (%v), want one file", pattern, found, err)
		return nil
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]int
	for line := range strings.Lines(string(text)) {
		var row []int
		for _, field := range strings.Fields(line) {
			v, err := strconv.Atoi(field)
			if err != nil {
				t.Fatalf("%s: %v", found[0], err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}
