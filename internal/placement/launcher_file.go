package placement

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// A FileFormat is a file by which a launcher places ranks. Only rankfile and mpich place ranks
// within a node; with the other formats, the launcher decides.
type FileFormat struct {
	Name        string
	Description string
	write       func(w *bufio.Writer, p *placed) error
	// command returns the start of the command line that uses a file. file is quoted for a shell.
	command func(p *placed, file string) string
}

// FileFormats are the formats of launchers' files.
var FileFormats = []FileFormat{
	{"rankfile", "Open MPI's rankfile: node and cores of each rank", writeRankfile, func(p *placed, file string) string {
		return "mpirun" + p.hostOption() + " --rankfile " + file + p.ifShared(" --bind-to core:overload-allowed") + p.n()
	}},
	{"seq", "host file for Open MPI's --map-by seq: node of each rank", writeHosts, func(p *placed, file string) string {
		return "mpirun --hostfile " + file + " --map-by seq" + p.ifShared(" --bind-to none") + p.n()
	}},
	{"hydra", "host file of MPICH's launcher: nodes of blocks of ranks", writeBlocks, func(p *placed, file string) string {
		return "mpiexec -f " + file + p.n()
	}},
	{"slurm", "SLURM_HOSTFILE of srun: node of each rank", writeHosts, func(p *placed, file string) string {
		return "SLURM_HOSTFILE=" + file + " srun --distribution=arbitrary" + p.n()
	}},
	{"mpich", "MPICH_RANK_ORDER of Cray MPICH: ranks in the order of nodes and cores", writeRankOrder, func(p *placed, file string) string {
		return fmt.Sprintf("MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE=%s srun -N %d --ntasks-per-node=%d --distribution=block%s",
			file, len(p.ranksOn), p.largestNode(), p.n())
	}},
	{"flux", "task map of Flux (RFC 34): nodes of blocks of ranks", writeTaskmap, func(p *placed, file string) string {
		return fmt.Sprintf(`flux run -N %d --taskmap=manual:"$(cat %s)"%s`, len(p.ranksOn), file, p.n())
	}},
	{"intel", "machine file of Intel MPI: nodes of blocks of ranks", writeBlocks, func(p *placed, file string) string {
		return "mpirun -machinefile " + file + p.n()
	}},
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
	return nil, fmt.Errorf("%q is not a format of a launcher's file: they are %s", name, text.List(names))
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

// Command returns the command line by which a launcher starts a program with a file that Write has
// written. rest are more options of the launcher, the program and its arguments, quoted for a shell.
func (f *FileFormat) Command(file string, t *Topology, o Order, rest string) string {
	return f.command(newPlaced(t, o), text.ShellQuote(file)) + " " + rest
}

// placed is ranks in their places.
type placed struct {
	topology *Topology
	order    Order
	node     []int // by rank
	// ranksOn has the ranks on each node that has any, in the order of slots. used has the index in
	// ranksOn of each node; -1 for nodes without ranks.
	ranksOn [][]int
	used    []int
}

func newPlaced(t *Topology, o Order) *placed {
	p := &placed{topology: t, order: o, node: t.NodeOf(o), used: make([]int, t.nodeCount())}
	domain := t.Levels[t.Nodes()].Domain
	in := make([]int, len(t.Slots)) // 1 + the rank in each slot
	for r, s := range o {
		in[s] = r + 1
	}
	for node := range p.used {
		p.used[node] = -1
	}
	for s, r := range in {
		if r == 0 {
			continue
		}
		if p.used[domain[s]] < 0 {
			p.used[domain[s]] = len(p.ranksOn)
			p.ranksOn = append(p.ranksOn, nil)
		}
		i := p.used[domain[s]]
		p.ranksOn[i] = append(p.ranksOn[i], r-1)
	}
	return p
}

// n returns the option for the number of ranks.
func (p *placed) n() string { return fmt.Sprintf(" -n %d", len(p.order)) }

func (p *placed) slot(rank int) *Slot { return &p.topology.Slots[p.order[rank]] }

// host returns the host of a rank.
func (p *placed) host(rank int) (string, error) {
	h := p.slot(rank).Host
	if h == "" {
		return "", fmt.Errorf("it has the names of nodes, but the topology does not name the node of rank %d; formats mpich and flux need no names, nor does rankfile in a job of a scheduler", rank)
	}
	if !hostName.MatchString(h) {
		return "", fmt.Errorf("%q is not the name of a host that a launcher could use", h)
	}
	return h, nil
}

// hostName matches valid names of hosts. Names come from recordings, and go to files and to command
// lines that users copy.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// largestNode returns the largest number of ranks on a node.
func (p *placed) largestNode() int {
	n := 0
	for _, ranks := range p.ranksOn {
		n = max(n, len(ranks))
	}
	return n
}

// maxHostOption is the largest number of hosts that a command line names.
const maxHostOption = 32

// hostOption returns the option that names the hosts to Open MPI. It is empty if the hosts are not
// known or too many. Open MPI 5 needs it outside of a scheduler's jobs.
func (p *placed) hostOption() string {
	if len(p.ranksOn) > maxHostOption {
		return ""
	}
	var hosts []string
	for _, ranks := range p.ranksOn {
		host, err := p.host(ranks[0])
		if err != nil {
			return ""
		}
		hosts = append(hosts, fmt.Sprintf("%s:%d", host, len(ranks)))
	}
	return " --host " + strings.Join(hosts, ",")
}

// ifShared returns the option if ranks share cores: Open MPI 5 refuses to share cores without it.
func (p *placed) ifShared(option string) string {
	for _, ranks := range p.ranksOn {
		taken := map[int]bool{}
		for _, r := range ranks {
			cores, _ := profile.ParseProcessors(p.slot(r).Cores)
			for _, core := range cores {
				if taken[core] {
					return option
				}
				taken[core] = true
			}
		}
	}
	return ""
}

// A rankBlock is consecutive ranks on one node.
type rankBlock struct{ first, ranks int }

// blocks returns the ranks in blocks that are as large as possible.
func (p *placed) blocks() []rankBlock {
	var out []rankBlock
	for r := range p.order {
		if r > 0 && p.node[r] == p.node[r-1] {
			out[len(out)-1].ranks++
			continue
		}
		out = append(out, rankBlock{r, 1})
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

// writeBlocks writes a line for each block of ranks. A host may have several.
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

// writeRankfile writes lines in a form that both Open MPI 4 and 5 read. The numbers of cores are
// hwloc's logical numbers. A node without a name is the n-th node of the launcher.
func writeRankfile(w *bufio.Writer, p *placed) error {
	for r := range p.order {
		s := p.slot(r)
		host := fmt.Sprintf("+n%d", p.node[r])
		if s.Host != "" {
			var err error
			if host, err = p.host(r); err != nil {
				return err
			}
		}
		if s.Cores == "" {
			return fmt.Errorf("the cores of rank %d are not known: give a topology that has cores, or use format seq", r)
		}
		fmt.Fprintf(w, "rank %d=%s slot=%s\n", r, host, s.Cores)
	}
	return nil
}

// writeRankOrder writes a line for each node, with its ranks in the order of slots. Cray MPICH
// gives the n-th rank of this list the place of the launcher's n-th process. The launcher fills one
// node after the other.
func writeRankOrder(w *bufio.Writer, p *placed) error {
	for i, ranks := range p.ranksOn {
		if i < len(p.ranksOn)-1 && len(ranks) != p.largestNode() {
			return errors.New("the launcher fills all nodes but the last with the same number of ranks, but this order does not: give a topology whose nodes have as many slots as ranks run on each")
		}
		for j, r := range ranks {
			if j > 0 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprint(w, r)
		}
		fmt.Fprintln(w)
	}
	return nil
}

// writeTaskmap writes a task map as Flux RFC 34 defines it: blocks of first node, number
// of nodes, tasks per node, and repetitions. The nodes are those that have ranks.
func writeTaskmap(w *bufio.Writer, p *placed) error {
	separator := "["
	for _, b := range p.blocks() {
		fmt.Fprintf(w, "%s[%d,1,%d,1]", separator, p.used[p.node[b.first]], b.ranks)
		separator = ","
	}
	fmt.Fprintln(w, "]")
	return nil
}
