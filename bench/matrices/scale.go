package matrices

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// form is a file format of a job.
type form struct {
	name  string
	gen   []string                         // arguments of gen
	input func(dir string) (string, error) // returns the path to read, given gen's output directory
}

// partRanks is the number of ranks in each part of a dataset.
const partRanks = 1000

var forms = []form{
	{"recordings", []string{"-format", "recording"}, func(dir string) (string, error) { return dir, nil }},
	{"Arrow dataset", []string{"-format", "arrow", "-block", strconv.Itoa(partRanks)}, dataset},
	{"Arrow, one file", []string{"-format", "arrow", "-block", "0"}, func(dir string) (string, error) {
		return filepath.Join(dir, "stencil.0.arrow"), nil
	}},
}

// dataset moves the Arrow files of a directory to the places of a dataset, and
// returns its path.
func dataset(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "stencil.*.arrow"))
	if err != nil {
		return "", err
	}
	for block := range files {
		part := filepath.Join(dir, fmt.Sprintf("rank_block=%d", block))
		if err := os.Mkdir(part, 0o777); err != nil {
			return "", err
		}
		from := filepath.Join(dir, fmt.Sprintf("stencil.%d.arrow", block*partRanks))
		if err := os.Rename(from, filepath.Join(part, "part-0.arrow")); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// products lists what is made of each job.
var products = []struct {
	name string
	args []string
}{
	{"mtx of p2p", []string{"--class", "p2p", "--format", "mtx"}},
	{"png", []string{"--format", "png"}},
}

// sizes returns the numbers of ranks of the jobs: 1000, 10000 … and the
// largest.
func sizes(largest int) []int {
	var out []int
	for n := 1000; n < largest; n *= 10 {
		out = append(out, n)
	}
	return append(out, largest)
}

// measureScale makes the matrices of jobs of increasing size, in each format.
func (b *bench) measureScale() error {
	lines := [][]string{{"input", "product", "ranks", "s", "CPU s", "MiB", "× s", "× CPU", "× MiB"}}
	before := map[[2]string]cost{}
	for _, n := range sizes(b.scale) {
		for _, f := range forms {
			err := b.measureForm(n, f, func(product string, c cost) {
				key := [2]string{f.name, product}
				lines = append(lines, growth(f.name, product, n, c, before[key]))
				before[key] = c
			})
			if err != nil {
				return err
			}
		}
	}
	fmt.Fprint(b.out, "\nMatrices of a stencil; × is growth since the size before:\n\n")
	return measure.WriteTable(b.out, lines, 2)
}

func growth(input, product string, n int, c, before cost) []string {
	return []string{input, product, strconv.Itoa(n), fmt.Sprintf("%.2f", c.seconds), fmt.Sprintf("%.2f", c.cpu), fmt.Sprintf("%.0f", c.memory),
		times(c.seconds, before.seconds), times(c.cpu, before.cpu), times(c.memory, before.memory)}
}

// measureForm makes the products of one job in one format, and then removes the
// job's files. It calls tell with the cost of each product.
func (b *bench) measureForm(n int, f form, tell func(product string, c cost)) error {
	fmt.Fprintf(b.log, "scale: %d ranks, %s\n", n, f.name)
	dir, err := b.generate("job", append([]string{"-ranks", strconv.Itoa(n)}, f.gen...)...)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	input, err := f.input(dir)
	if err != nil {
		return err
	}
	out := filepath.Join(b.dir, "products")
	defer os.RemoveAll(out)
	for _, p := range products {
		c, err := b.do(b.tool("profile2mat"), append(p.args, "-o", out, input)...)
		if err != nil {
			return err
		}
		tell(p.name, c)
		if err := b.line(subject{fmt.Sprintf("%s/ranks=%d", f.name, n), p.name}, c); err != nil {
			return err
		}
	}
	return nil
}
