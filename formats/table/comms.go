package table

import (
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// communicatorRow is one row of comms.arrow. It combines the data of all
// processes that had the communicator.
type communicatorRow struct {
	Run, Parent string
	*profile.Comm
	HasParent bool
	SeenBy    int
	FreedBy   int
	Folds     uint64  // of all processes, see profile.Comm.Folded
	latest    int     // number of the last process counted in SeenBy
	Senders   []int   // of the edges of the topology, one process after the other
	Receivers []int   // of the same edges
	edges     []int32 // of the last process
	edgesFrom int     // index of them in Senders
}

// Comms collects the communicators of processes. Package gob can store it.
type Comms struct {
	Rows  []*communicatorRow
	index map[commOfRun]*communicatorRow
	n     int // number of processes so far
}

type commOfRun struct{ run, id string }

// Note adds the communicators of a process.
func (t *Comms) Note(p *profile.Profile) {
	t.n++
	for i := range p.Comms {
		c := &p.Comms[i]
		row := t.row(p.Run, c.ID)
		if row.Comm == nil {
			first := *c // a copy, so that the rest of the profile can be freed
			first.Edges = nil
			row.Comm = &first
			row.Parent, row.HasParent = parentLabel(p, c)
		}
		// counts a process once, even if it made the communicator several times
		if row.latest != t.n {
			row.SeenBy++
			if c.Freed {
				row.FreedBy++
			}
			row.latest, row.edges, row.edgesFrom = t.n, c.Edges, len(row.Senders)
			row.addEdges(p, c)
		} else if !slices.Equal(row.edges, c.Edges) {
			// two communicators of the process have this id, and differ in their edges
			row.Senders, row.Receivers = row.Senders[:row.edgesFrom], row.Receivers[:row.edgesFrom]
		}
		row.Folds = max(row.Folds, c.Folded)
	}
}

// addEdges adds the outgoing edges of a process.
func (r *communicatorRow) addEdges(p *profile.Profile, c *profile.Comm) {
	for _, e := range c.Edges {
		r.Senders, r.Receivers = append(r.Senders, p.Rank), append(r.Receivers, c.WorldRank(e))
	}
}

// row returns the row of a communicator; one without Comm if it is new.
func (t *Comms) row(run, id string) *communicatorRow {
	key := commOfRun{run, id}
	row := t.index[key]
	if row == nil {
		if t.index == nil {
			t.index = map[commOfRun]*communicatorRow{}
		}
		row = &communicatorRow{Run: run}
		t.index[key] = row
		t.Rows = append(t.Rows, row)
	}
	return row
}

// Merge adds the communicators of other processes, which follow those of t.
func (t *Comms) Merge(o *Comms) {
	for _, more := range o.Rows {
		row := t.row(more.Run, more.ID)
		if row.Comm == nil {
			row.Comm, row.Parent, row.HasParent = more.Comm, more.Parent, more.HasParent
		}
		row.SeenBy += more.SeenBy
		row.FreedBy += more.FreedBy
		row.Folds = max(row.Folds, more.Folds)
		row.Senders, row.Receivers = append(row.Senders, more.Senders...), append(row.Receivers, more.Receivers...)
	}
}

// Write writes comms.arrow.
func (t *Comms) Write(w io.Writer) error {
	return WriteArrow(w, CommColumns, slices.Values(t.Rows), Options[*communicatorRow]{Metadata: metadataOf(tableComms, CommColumns)})
}

func parentLabel(p *profile.Profile, c *profile.Comm) (string, bool) {
	if c.Parent < 0 || int(c.Parent) >= len(p.Comms) {
		return "", false
	}
	return p.Comms[c.Parent].Label(), true
}

func (r *communicatorRow) size() int32 { return int32(r.Members.Len()) }

// CommColumns are the columns of comms.arrow, in order.
var CommColumns = []Column[*communicatorRow]{
	Run(func(r *communicatorRow) string { return r.Run }),
	Words("comm", "label of the communicator, as in profile.arrow", func(r *communicatorRow) string { return r.Label() }).absent(Required),
	Words("id", "128-bit id in hexadecimal, the same on all members", func(r *communicatorRow) string { return r.ID }),
	OptionalWords("name", "name that MPI or the program gave it; null if it has none",
		func(r *communicatorRow) (string, bool) { return r.Name, r.Name != "" }),
	OptionalWords("constructor", "call that created it; null for a predefined communicator",
		func(r *communicatorRow) (string, bool) { return r.Constructor, r.Constructor != "" }),
	OptionalWords("parent", "communicator that it was created from; null if there is none",
		func(r *communicatorRow) (string, bool) { return r.Parent, r.HasParent }),
	Numbers("size", "processes", "number of members; for an intercommunicator, of the local group", (*communicatorRow).size),
	Flags("inter", "whether it is an intercommunicator", func(r *communicatorRow) bool { return r.Inter }),
	RankLists("members", "members in rank order; for an intercommunicator, the local group of the lowest world rank that had it; -6 for a process of another world",
		func(r *communicatorRow) []int { return r.Members.Ranks() }).absent(Required),
	RankLists("remote", "remote group of an intercommunicator, otherwise empty", func(r *communicatorRow) []int { return r.Remote.Ranks() }),
	RankLists("edge_from", "edges of the topology, as neighborhood collectives use them: the sender of each, process by process; empty if no process called one",
		func(r *communicatorRow) []int { return r.Senders }),
	RankLists("edge_to", "receivers of the same edges; -2 for MPI_PROC_NULL", func(r *communicatorRow) []int { return r.Receivers }),
	Numbers("seen_by", "processes", "number of recordings that have it", func(r *communicatorRow) int32 { return int32(r.SeenBy) }),
	Flags("freed", "whether every process that had it freed it", func(r *communicatorRow) bool { return r.FreedBy == r.SeenBy }),
	Numbers("folded", "communicators", "number of later communicators, created at the same place with the same members, that are counted under this one",
		func(r *communicatorRow) uint64 { return r.Folds }),
}
