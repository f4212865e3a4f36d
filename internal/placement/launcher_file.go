package placement

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// A FileFormat is a file by which a launcher places ranks.
type FileFormat struct {
	Name        string
	Description string
	write       func(w *bufio.Writer, p *placed) error
	command     string // FILE and N stand for the file and the number of ranks
}

// FileFormats are the formats of launchers' files.
var FileFormats = []FileFormat{
	{"rankfile", "Open MPI's rank file: host and processors of each rank", writeRankfile, "mpirun --rankfile FILE -n N"},
	{"seq", "Open MPI's host file for --map-by seq: one host for each rank", writeHosts, "mpirun --hostfile FILE --map-by seq -n N"},
	{"hydra", "host file of MPICH: blocks of ranks", writeBlocks, "mpiexec -f FILE -n N"},
	{"slurm", "Slurm's host file: one host for each rank", writeHosts, "SLURM_HOSTFILE=FILE srun --distribution=arbitrary -n N"},
	{"mpich", "Cray MPICH's MPICH_RANK_ORDER: ranks in the order of nodes", writeRankOrder, "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=FILE srun -n N"},
	{"flux", "task map of Flux: blocks of ranks", writeTaskmap, `flux run --taskmap=manual:"$(cat FILE)" -n N`},
	{"intel", "machine file of Intel MPI: blocks of ranks", writeBlocks, "mpirun -machinefile FILE -n N"},
}

// FileFormatOf returns the format of a name.
func FileFormatOf(name string) (*FileFormat, error) {
	var names []string
	for i := range FileFormats {
		if FileFormats[i].Name == name {
			return &FileFormats[i], nil
		}
		names = append(names, FileFormats[i].Name)
	}
	return nil, fmt.Errorf("%q is no format of a launcher's file: they are %s", name, text.List(names))
}

// Write writes the file that places ranks in an order.
func (f *FileFormat) Write(w io.Writer, t *Topology, o Order) error {
	if err := o.Check(t); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := f.write(out, newPlaced(t, o)); err != nil {
		return fmt.Errorf("format %s: %w", f.Name, err)
	}
	return out.Flush()
}

// Command returns the command line that starts program with a file.
func (f *FileFormat) Command(file string, ranks int, program string) string {
	line := strings.NewReplacer("FILE", text.ShellQuote(file), "N", fmt.Sprint(ranks)).Replace(f.command)
	return line + " " + program
}

// placed is the ranks with their places.
type placed struct {
	topology *Topology
	order    Order
	node     []int32 // by rank
}

func newPlaced(t *Topology, o Order) *placed {
	p := &placed{topology: t, order: o, node: make([]int32, len(o))}
	domain := t.Levels[t.Nodes()].Domain
	for r, s := range o {
		p.node[r] = domain[s]
	}
	return p
}

func (p *placed) slot(rank int) *Slot { return &p.topology.Slots[p.order[rank]] }

// host returns the host of a rank.
func (p *placed) host(rank int) (string, error) {
	if h := p.slot(rank).Host; h != "" {
		return h, nil
	}
	return "", errors.New("the topology does not name the host of rank " + fmt.Sprint(rank) + ", and this format needs the names")
}

// A block is consecutive ranks on one node.
type block struct{ first, ranks int }

// blocks returns the ranks in blocks that are as large as possible.
func (p *placed) blocks() []block {
	var out []block
	for r := range p.order {
		if r > 0 && p.node[r] == p.node[r-1] {
			out[len(out)-1].ranks++
			continue
		}
		out = append(out, block{r, 1})
	}
	return out
}

func writeHosts(w *bufio.Writer, p *placed) error {
	for r := range p.order {
		host, err := p.host(r)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, host)
	}
	return nil
}

func writeBlocks(w *bufio.Writer, p *placed) error {
	for _, b := range p.blocks() {
		host, err := p.host(b.first)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s:%d\n", host, b.ranks)
	}
	return nil
}

func writeRankfile(w *bufio.Writer, p *placed) error {
	for r := range p.order {
		host := p.slot(r).Host
		if host == "" {
			host = fmt.Sprintf("+n%d", p.node[r])
		}
		fmt.Fprintf(w, "rank %d=%s slot=%s\n", r, host, p.slot(r).Processors)
	}
	return nil
}

// writeRankOrder writes the ranks of the first node, then those of the second: the
// launcher fills the nodes one after the other with ranks in the order of this list.
func writeRankOrder(w *bufio.Writer, p *placed) error {
	inSlot := make([]int, len(p.topology.Slots))
	for r, s := range p.order {
		inSlot[s] = r + 1
	}
	separator := ""
	for _, r := range inSlot {
		if r > 0 {
			fmt.Fprintf(w, "%s%d", separator, r-1)
			separator = ","
		}
	}
	fmt.Fprintln(w)
	return nil
}

// writeTaskmap writes a task map as Flux RFC 34 defines it: blocks of first node, number
// of nodes, tasks per node, and repetitions.
func writeTaskmap(w *bufio.Writer, p *placed) error {
	separator := "["
	for _, b := range p.blocks() {
		fmt.Fprintf(w, "%s[%d,1,%d,1]", separator, p.node[b.first], b.ranks)
		separator = ","
	}
	fmt.Fprintln(w, "]")
	return nil
}
