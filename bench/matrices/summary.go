package matrices

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// summaryNodes is the number of ranks of a node in the jobs of part summary.
const summaryNodes = 128

// summaryProducts lists what part summary makes of each job. OUT is a directory.
var summaryProducts = []struct {
	name, tool string
	args       []string
}{
	{"report", "mpitrace", []string{"report"}},
	{"page", "mpitrace", []string{"report", "--force", "--html", "OUT/page.html"}},
	{"png of nodes", "profile2mat", []string{"--by", "host", "--format", "png", "-o", "OUT"}},
	{"mtx of nodes, p2p", "profile2mat", []string{"--by", "host", "--class", "p2p", "--format", "mtx", "-o", "OUT"}},
	{"mtx of nodes, all", "profile2mat", []string{"--by", "host", "--format", "mtx", "-o", "OUT"}},
}

// summarySizes returns the numbers of ranks of the jobs of part summary.
func summarySizes(largest int) []int {
	var out []int
	for n := 10_000; 2*n < largest; n *= 10 {
		out = append(out, n)
	}
	return append(out, largest)
}

// measureSummary measures the summary, the page and the matrix of nodes of jobs in packed
// containers, one for each node.
func (b *bench) measureSummary() error {
	lines := [][]string{{"input", "product", "ranks", "s", "CPU s", "MiB", "× s", "× CPU", "× MiB"}}
	before := map[string]cost{}
	for _, n := range summarySizes(b.scale) {
		fmt.Fprintf(b.log, "summary: %d ranks\n", n)
		dir, err := b.generate("job", "-format", "container", "-ranks", strconv.Itoa(n), "-per-node", strconv.Itoa(summaryNodes))
		if err != nil {
			return err
		}
		for _, p := range summaryProducts {
			c, err := b.summaryProduct(p.tool, p.args, dir)
			if err == nil {
				err = b.line(subject{fmt.Sprintf("containers/ranks=%d", n), p.name}, c)
			}
			if err != nil {
				return err
			}
			lines = append(lines, growth("containers", p.name, n, c, before[p.name]))
			before[p.name] = c
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\nSummaries of a stencil on nodes of %d ranks; × is growth since the size before:\n\n", summaryNodes)
	return measure.WriteTable(b.out, lines, 2)
}

// summaryProduct makes a product of a job, and removes it.
func (b *bench) summaryProduct(tool string, args []string, job string) (cost, error) {
	out := filepath.Join(b.dir, "products")
	if err := os.MkdirAll(out, 0o777); err != nil {
		return cost{}, err
	}
	defer os.RemoveAll(out)
	var full []string
	for _, arg := range args {
		if rest, in := strings.CutPrefix(arg, "OUT"); in {
			arg = out + rest
		}
		full = append(full, arg)
	}
	return b.do(b.tool(tool), append(full, job)...)
}
