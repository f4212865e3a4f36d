package arrowfile

import (
	"io"

	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/profile"
)

// communicatorRow is one row of comms.arrow: what all processes that had the
// communicator say of it together.
type communicatorRow struct {
	run, parent string
	*profile.Comm
	hasParent bool
	seenBy    int
	freedBy   int
	latest    int // process that was counted last
	folded    uint64
}

// WriteComms writes one row for each communicator, in the order in which they
// are first met.
func WriteComms(w io.Writer, src profile.Source) error { return writeTables(src, newCommTable(w)) }

// commTable is comms.arrow.
type commTable struct {
	*writer[*communicatorRow]
	rows  []*communicatorRow
	index map[commKey]*communicatorRow
	n     int // processes
}

type commKey struct{ run, id string }

func newCommTable(w io.Writer) *commTable {
	return &commTable{writer: newWriter(w, tableComms, communicatorColumns()), index: map[commKey]*communicatorRow{}}
}

func (t *commTable) note(p *profile.Profile) {
	t.n++
	for i := range p.Comms {
		c := &p.Comms[i]
		row := t.index[commKey{p.Run, c.ID}]
		if row == nil {
			first := *c // alone, so that the rest of the profile can go
			row = &communicatorRow{run: p.Run, Comm: &first}
			row.parent, row.hasParent = parentLabel(p, c)
			t.index[commKey{p.Run, c.ID}] = row
			t.rows = append(t.rows, row)
		}
		if row.latest != t.n { // a process may have made it several times
			row.seenBy++
			if c.Freed {
				row.freedBy++
			}
			row.latest = t.n
		}
		row.folded = max(row.folded, c.Folded)
	}
}

func (t *commTable) add(*profile.Profile) error { return nil }

func (t *commTable) close() error {
	for _, row := range t.rows {
		t.writer.note(row)
	}
	for _, row := range t.rows {
		if err := t.writer.add(row); err != nil {
			return err
		}
	}
	return t.writer.close(new(facts.Header))
}

func parentLabel(p *profile.Profile, c *profile.Comm) (string, bool) {
	if c.Parent < 0 || int(c.Parent) >= len(p.Comms) {
		return "", false
	}
	return p.Comms[c.Parent].Label(), true
}

func (r *communicatorRow) size() int32 { return int32(r.Members.Len()) }

// communicatorColumns are the columns of comms.arrow, in order.
func communicatorColumns() []column[*communicatorRow] {
	type row = *communicatorRow
	return []column[row]{
		textColumn("run", "the MPI job, as its launcher names it", func(r row) string { return r.run }),
		textColumn("comm", "the communicator, as column comm of profile.arrow has it", func(r row) string { return r.Label() }),
		textColumn("id", "128-bit id that all members agree on, hexadecimal", func(r row) string { return r.ID }),
		optionalText("name", "MPI's or the program's name for it; null where it has none", true,
			func(r row) (string, bool) { return r.Name, r.Name != "" }),
		optionalText("constructor", "the call that made it; null for MPI's own", true,
			func(r row) (string, bool) { return r.Constructor, r.Constructor != "" }),
		optionalText("parent", "the communicator that it was made from; null where there is none", true,
			func(r row) (string, bool) { return r.parent, r.hasParent }),
		int32Column("size", "processes", "number of members; of an intercommunicator, of the local group", row.size),
		boolColumn("inter", "an intercommunicator", func(r row) bool { return r.Inter }),
		ranksColumn("members", "members in rank order; of an intercommunicator the local group of the lowest world rank that had it; -6 for a process of another world",
			func(r row) []int { return r.Members.Ranks() }),
		ranksColumn("remote", "the remote group of an intercommunicator, else empty", func(r row) []int { return r.Remote.Ranks() }),
		int32Column("seen_by", "processes", "number of recordings that have it", func(r row) int32 { return int32(r.seenBy) }),
		boolColumn("freed", "freed by every process that had it", func(r row) bool { return r.freedBy == r.seenBy }),
		uint64Column("folded", "communicators", "how many later ones, made at the same place with the same members, are counted under this one",
			func(r row) uint64 { return r.folded }),
	}
}
