package placement

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Auto names the topology of the recorded places.
const Auto = "auto"

// MaxTopologyFile is the size up to which a topology is read from a file, in bytes.
const MaxTopologyFile = 64 << 20

// A TopologySource says where the topology of a job comes from.
type TopologySource struct {
	// Topologies has one name: "auto" (so does the empty list), a specification, or a
	// file: hwloc's XML or Slurm's topology.conf. The latter may be followed by a second
	// one, for the nodes; without it, the nodes are as recorded.
	Topologies []string
	Nodes      int                               // if the topology describes one node: the number of such nodes; 0: as many as the ranks need
	Distances  []int64                           // by level, innermost first; nil: by the names of the levels
	Read       func(file string) ([]byte, error) // reads a file of at most MaxTopologyFile bytes

	Processes []RankLocation // of the job
	Ranks     int            // of the job
}

// A NotPresentError says why it is not known where in a topology the ranks ran.
type NotPresentError struct{ error }

func (e *NotPresentError) Unwrap() error { return e.error }

// Load returns the topology, and the order in which the ranks ran in it. With a
// NotPresentError it returns the topology too.
func (s *TopologySource) Load() (*Topology, Order, error) {
	if len(s.Topologies) > 2 {
		return nil, nil, fmt.Errorf("%d topologies are given: give one, or Slurm's topology.conf and one of its nodes", len(s.Topologies))
	}
	tree, inSlots, err := s.tree()
	if err != nil {
		return nil, nil, err
	}
	t, err := tree.Topology(s.Distances)
	if err != nil || inSlots == nil {
		return s.present(t, err)
	}
	o := make(Order, len(inSlots))
	for slot, rank := range inSlots {
		o[rank] = int32(slot)
	}
	return t, o, nil
}

func (s *TopologySource) present(t *Topology, err error) (*Topology, Order, error) {
	if err != nil {
		return nil, nil, err
	}
	o, err := Present(t, s.Processes, s.Ranks)
	if err != nil {
		return t, nil, &NotPresentError{err}
	}
	return t, o, nil
}

// tree returns the tree, with the rank of each slot if it is that of the recorded
// places.
func (s *TopologySource) tree() (*Tree, []int, error) {
	if len(s.Topologies) == 0 || s.Topologies[0] == Auto {
		if s.Nodes != 0 || len(s.Topologies) > 1 {
			return nil, nil, errors.New("the recorded topology has the nodes of the run: neither a number of nodes nor a second topology can be given")
		}
		return Recorded(s.Processes, s.Ranks)
	}
	t, network, err := s.named(s.Topologies[0])
	if err != nil {
		return nil, nil, err
	}
	if network != nil {
		return s.onNetwork(network)
	}
	if len(s.Topologies) > 1 {
		return nil, nil, fmt.Errorf("topology %q is followed by %q: a second topology is for the nodes of Slurm's topology.conf", s.Topologies[0], s.Topologies[1])
	}
	t, err = s.repeated(t)
	return t, nil, err
}

// repeated returns a system of nodes. A tree of one node is repeated.
func (s *TopologySource) repeated(t *Tree) (*Tree, error) {
	if t.hasNodes() && s.Nodes != 0 {
		return nil, fmt.Errorf("the topology has nodes already: %s cannot be asked for", text.CountOf(s.Nodes, "node"))
	}
	if t.hasNodes() {
		return t, nil
	}
	n := s.Nodes
	if n == 0 {
		slots := t.root.slots()
		n = max(1, (s.Ranks+slots-1)/slots, s.hosts())
	}
	return t.Repeat(n)
}

// hosts returns the number of hosts of the job.
func (s *TopologySource) hosts() int {
	seen := map[string]bool{}
	for _, p := range s.Processes {
		seen[p.Host] = true
	}
	return len(seen)
}

var specLike = regexp.MustCompile(`^\s*[A-Za-z0-9]*\s*:\s*[0-9]|^\s*[0-9]+(:[0-9]+)*\s*$`)

// named returns the topology of a name: a tree, or a network of nodes.
func (s *TopologySource) named(name string) (*Tree, *Network, error) {
	if specLike.MatchString(name) || name == "" {
		t, err := ParseSpec(name)
		return t, nil, err
	}
	content, err := s.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read topology: %w; for a specification, %s", err, specForm)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read topology: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimLeft(content, "\xef\xbb\xbf \t\r\n"), []byte("<")) {
		t, err := ReadHwloc(bytes.NewReader(content), name)
		return t, nil, err
	}
	n, err := ReadSlurm(bytes.NewReader(content), name)
	return nil, n, err
}
