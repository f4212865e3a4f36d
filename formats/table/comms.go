package table

import (
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// communicatorRow is one row of comms.arrow. It combines the data of all
// processes that had the communicator.
type communicatorRow struct {
	run, parent string
	*profile.Comm
	hasParent bool
	seenBy    int
	freedBy   int
	latest    int // number of the last process counted in seenBy
	folded    uint64
	senders   []int // of the edges of the topology, one process after the other
	receivers []int // of the same edges
}

// commTable writes comms.arrow.
type commTable struct {
	arrowTable[*communicatorRow]
	commRows
}

// commRows collects the rows from processes.
type commRows struct {
	rows  []*communicatorRow
	index map[commOfRun]*communicatorRow
	n     int // number of processes so far
}

type commOfRun struct{ run, id string }

func newCommTable(w io.Writer) *commTable {
	return &commTable{arrowTable: newArrowTable(w, tableComms, CommColumns)}
}

func (t *commTable) note(p *profile.Profile) error {
	t.Note(p)
	return nil
}

// Note adds the communicators of a process.
func (t *commRows) Note(p *profile.Profile) {
	t.n++
	if t.index == nil {
		t.index = map[commOfRun]*communicatorRow{}
	}
	for i := range p.Comms {
		c := &p.Comms[i]
		row := t.index[commOfRun{p.Run, c.ID}]
		if row == nil {
			first := *c // a copy, so that the rest of the profile can be freed
			row = &communicatorRow{run: p.Run, Comm: &first}
			row.parent, row.hasParent = parentLabel(p, c)
			t.index[commOfRun{p.Run, c.ID}] = row
			t.rows = append(t.rows, row)
		}
		if row.latest != t.n { // a process may have made it several times, but counts once
			row.seenBy++
			if c.Freed {
				row.freedBy++
			}
			row.latest = t.n
			row.addEdges(p, c)
		}
		row.folded = max(row.folded, c.Folded)
	}
}

// addEdges adds the outgoing edges of a process.
func (r *communicatorRow) addEdges(p *profile.Profile, c *profile.Comm) {
	for _, e := range c.Edges {
		r.senders, r.receivers = append(r.senders, p.Rank), append(r.receivers, c.WorldRank(e))
	}
}

func (t *commTable) start() error {
	if err := t.arrow.note(slices.Values(t.rows)); err != nil {
		return err
	}
	return t.arrowTable.start()
}

func (t *commTable) add(*profile.Profile) error { return nil }

func (t *commTable) close() error {
	if err := t.arrow.add(slices.Values(t.rows)); err != nil {
		return err
	}
	return t.arrowTable.close()
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
	Run(func(r *communicatorRow) string { return r.run }),
	Words("comm", "label of the communicator, as in profile.arrow", func(r *communicatorRow) string { return r.Label() }).absent(Required),
	Words("id", "128-bit id in hexadecimal, the same on all members", func(r *communicatorRow) string { return r.ID }),
	OptionalWords("name", "name that MPI or the program gave it; null if it has none",
		func(r *communicatorRow) (string, bool) { return r.Name, r.Name != "" }),
	OptionalWords("constructor", "call that created it; null for a predefined communicator",
		func(r *communicatorRow) (string, bool) { return r.Constructor, r.Constructor != "" }),
	OptionalWords("parent", "communicator that it was created from; null if there is none",
		func(r *communicatorRow) (string, bool) { return r.parent, r.hasParent }),
	Numbers("size", "processes", "number of members; for an intercommunicator, of the local group", (*communicatorRow).size),
	Flags("inter", "whether it is an intercommunicator", func(r *communicatorRow) bool { return r.Inter }),
	RankLists("members", "members in rank order; for an intercommunicator, the local group of the lowest world rank that had it; -6 for a process of another world",
		func(r *communicatorRow) []int { return r.Members.Ranks() }).absent(Required),
	RankLists("remote", "remote group of an intercommunicator, otherwise empty", func(r *communicatorRow) []int { return r.Remote.Ranks() }),
	RankLists("edge_from", "edges of the topology, as neighborhood collectives use them: the sender of each, process by process; empty if no process called one",
		func(r *communicatorRow) []int { return r.senders }),
	RankLists("edge_to", "receivers of the same edges; -2 for MPI_PROC_NULL", func(r *communicatorRow) []int { return r.receivers }),
	Numbers("seen_by", "processes", "number of recordings that have it", func(r *communicatorRow) int32 { return int32(r.seenBy) }),
	Flags("freed", "whether every process that had it freed it", func(r *communicatorRow) bool { return r.freedBy == r.seenBy }),
	Numbers("folded", "communicators", "number of later communicators, created at the same place with the same members, that are counted under this one",
		func(r *communicatorRow) uint64 { return r.folded }),
}
