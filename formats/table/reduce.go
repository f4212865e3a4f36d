package table

import (
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// A Reducer removes from profiles what Dictionaries already knows from earlier
// ones: a job of many similar processes is reduced to a few rows. It does not
// need the names of call sites, nor which communicators are unified.
type Reducer struct {
	seen  map[reducedKey]bool
	comms map[foldedComm]bool
	calls map[string]bool   // stacks with their call
	known map[rowWords]bool // of the rows of the present process
}

// reducedKey is a value that a column has: a text, or several, or a number.
type reducedKey struct {
	kind    int // a constant below, or -1 minus the index of a column of ranks.arrow
	a, b, c string
	n       uint64
}

const (
	reducedCall = iota
	reducedSite
	reducedSlice
	reducedRowComm
	reducedPlace
	reducedOpen
	reducedPvar
	reducedReading
	reducedPhysical
)

// foldedComm is a communicator of the pool, with the id that it gets if it is
// unified.
type foldedComm struct {
	commKey
	fold string
}

// NewReducer returns a Reducer that has seen no profile.
func NewReducer() *Reducer {
	return &Reducer{seen: map[reducedKey]bool{}, comms: map[foldedComm]bool{}, calls: map[string]bool{}, known: map[rowWords]bool{}}
}

// Reduce returns a profile with the parts of p that hold something new; nil if
// nothing is. Its indices into lists of p stay valid.
func (r *Reducer) Reduce(p *profile.Profile) *profile.Profile {
	out := *p
	out.Vectors, out.Abnormal, out.Late, out.Problems, out.Symbols = nil, nil, nil, nil, nil
	words := r.processWords(p)
	changed := r.open(p)
	changed = r.pool(p) || changed
	out.Rows = r.rows(p)
	if r.places(p, out.Rows) {
		out.Vectors, out.Abnormal, out.Late, changed = slices.Clone(p.Vectors), p.Abnormal, p.Late, true
		for i := range out.Vectors {
			out.Vectors[i].Bytes = nil
		}
	}
	out.Readings = r.readings(p)
	var internal bool
	out.Physical, internal = r.physical(p)
	if !changed && len(out.Rows) == 0 && len(out.Readings) == 0 {
		if !words && !internal {
			return nil
		}
		out.Comms, out.Modules, out.Stacks, out.Open = nil, nil, nil, nil
	}
	return &out
}

// unseen reports whether a key is new, and notes it.
func (r *Reducer) unseen(key reducedKey) bool {
	if r.seen[key] {
		return false
	}
	r.seen[key] = true
	return true
}

// processWords reports whether ranks.arrow gets a new word from a process. Run
// is left out, and so is the source, which is different in each process.
func (r *Reducer) processWords(p *profile.Profile) (changed bool) {
	for i := range RankColumns {
		c := &RankColumns[i]
		if c.Type != Word || c.Words != nil || c.Name == runColumn || c.Name == sourceColumn {
			continue
		}
		if text, ok := c.Text(p); ok && r.unseen(reducedKey{kind: -1 - i, a: text}) {
			changed = true
		}
	}
	return changed
}

// open reports whether ranks.arrow gets a new word from the open call.
func (r *Reducer) open(p *profile.Profile) bool {
	o, ok := opened(p)
	if !ok {
		return false
	}
	key := reducedKey{kind: reducedOpen, a: o.Call + "\x00" + r.site(p, o.Callsite)}
	if c := o.communicator(); c != nil {
		key.b, key.c = c.ID+c.Fold, c.Label()
	}
	return r.unseen(key)
}

// pool reports whether the header's pool gets a new communicator.
func (r *Reducer) pool(p *profile.Profile) (changed bool) {
	for i := range p.Comms {
		c := &p.Comms[i]
		if own(c) {
			continue
		}
		if key := (foldedComm{keyOfComm(c), c.Fold}); !r.comms[key] {
			r.comms[key], changed = true, true
		}
	}
	return changed
}

// rowWords are the fields of a row that determine its words.
type rowWords struct {
	call      string
	class     profile.Class
	direction profile.Direction
	comm      int32
	slice     uint32
	callsite  uint64
}

// rows returns the rows with a new call, call site, communicator or slice.
func (r *Reducer) rows(p *profile.Profile) (out []profile.Row) {
	clear(r.known)
	for i := range p.Rows {
		row := &p.Rows[i]
		words := rowWords{row.Call, row.Class, row.Direction, row.Comm, row.Slice, row.Callsite}
		if r.known[words] {
			continue
		}
		r.known[words] = true
		keep := r.unseen(reducedKey{kind: reducedCall, a: row.Call, n: uint64(row.Class)<<8 | uint64(row.Direction)})
		keep = r.newCall(p, row) || keep
		keep = r.newComm(p, row.Comm) || keep
		keep = r.unseen(reducedKey{kind: reducedSlice, a: sliceName(p, row.Slice)}) || keep
		if keep {
			out = append(out, *row)
		}
	}
	return out
}

func (r *Reducer) newCall(p *profile.Profile, row *profile.Row) bool {
	if row.Callsite&profile.StackSite == 0 {
		at := p.Place(row.Callsite)
		return r.unseen(reducedKey{kind: reducedSite, a: row.Call, b: at.Path, c: at.BuildID, n: at.Offset})
	}
	key := row.Call + "\x00" + r.site(p, row.Callsite)
	if r.calls[key] {
		return false
	}
	r.calls[key] = true
	return true
}

func (r *Reducer) newComm(p *profile.Profile, comm int32) bool {
	if comm < 0 || int(comm) >= len(p.Comms) {
		return false
	}
	c := &p.Comms[comm]
	return r.unseen(reducedKey{kind: reducedRowComm, a: c.ID, b: c.Fold, c: c.Label()})
}

// site returns a text that is the same for the same call site in all processes.
func (r *Reducer) site(p *profile.Profile, site uint64) string {
	addresses := []uint64{site}
	if site&profile.StackSite != 0 {
		addresses = p.Stacks[site]
	}
	var key strings.Builder
	for _, a := range addresses {
		place := p.Place(a)
		key.WriteString(place.Path + "\x00" + place.BuildID + "\x00" + place.Address() + "\x00")
	}
	return key.String()
}

// places reports whether a place outside of the given rows is new.
func (r *Reducer) places(p *profile.Profile, rows []profile.Row) (changed bool) {
	kept := profile.Profile{Rows: rows, Stacks: p.Stacks}
	for _, a := range kept.Addresses() {
		place := p.Place(a)
		r.unseen(reducedKey{kind: reducedPlace, a: place.Path, b: place.BuildID, n: place.Offset})
	}
	for _, a := range p.Addresses() {
		place := p.Place(a)
		changed = r.unseen(reducedKey{kind: reducedPlace, a: place.Path, b: place.BuildID, n: place.Offset}) || changed
	}
	return changed
}

// readings returns the readings with a new word, or of a variable with a new
// description.
func (r *Reducer) readings(p *profile.Profile) (out []profile.Reading) {
	for i := range p.Readings {
		reading := &p.Readings[i]
		h := p.PvarHandles[reading.Handle]
		v := &p.Pvars[h.Pvar]
		keep := r.unseen(reducedKey{kind: reducedPvar, a: v.Name, b: v.Description, n: uint64(v.Class)<<16 | uint64(v.Bound)<<8 | uint64(reading.Moment)})
		key := reducedKey{kind: reducedReading, a: sliceName(p, reading.Slice)}
		if h.Comm >= 0 && int(h.Comm) < len(p.Comms) {
			c := &p.Comms[h.Comm]
			key.b = c.ID + c.Fold + c.Label()
		}
		if v.Type == profile.PvarText {
			key.c, key.n = reading.Text(), 1
		}
		if r.unseen(key) || keep {
			out = append(out, *reading)
		}
	}
	return out
}

// physical returns what is known of the library's own messages, with one of
// them if none was seen before. isNew reports whether it has one.
func (r *Reducer) physical(p *profile.Profile) (out *profile.Physical, isNew bool) {
	if p.Physical == nil {
		return nil, false
	}
	out = &profile.Physical{Unknown: p.Physical.Unknown}
	i := slices.IndexFunc(p.Physical.Flows, func(f profile.Flow) bool { return f.Kind == profile.Internal })
	if i < 0 || !r.unseen(reducedKey{kind: reducedPhysical}) {
		return out, false
	}
	out.Flows = p.Physical.Flows[i : i+1]
	return out, true
}
