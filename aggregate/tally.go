package aggregate

import "github.com/mpitrace/mpitrace/profile"

// Tally adds up what processes sent, one process after the other: the matrices
// of a job on the way. It keeps nothing of a process but its part of the sums.
// Tallies of parts of a job can be merged in any order to that of the job.
type Tally struct {
	selection *Selection
	kinds     [NumMatrixClasses]Matrix // of their own entries: that of all stays empty
	rows      Volume                   // that were selected, as the rows themselves have it
	traffic   Volume                   // of .prof files, in no row
	met       met
	crossings
	// beside is what the MPI library sent on its own behalf, where the rows have
	// what the program asked for: the sum of both would count the same data twice.
	beside Matrix
	// Unknown are the ranks of which nobody knows what the library sent.
	Unknown []int
	// Unsplit is how many calls of irregular collectives are in no matrix: some
	// of them are of a size class that was selected and others not, and which
	// sent what to whom is not recorded.
	Unsplit uint64
	// Unfollowed is how many calls posted receives of which nobody knows what they
	// received, where receives are what was selected.
	Unfollowed uint64
}

// NewTally makes an empty one that takes what is selected; nil is everything.
func NewTally(s *Selection) *Tally {
	if s == nil {
		s = new(Selection)
	}
	return &Tally{selection: s}
}

// Add adds what a process sent.
func (t *Tally) Add(p *profile.Profile) {
	if p.Rank < 0 {
		return // it has no line
	}
	t.addPhysical(p)
	if t.selection.Physical {
		return
	}
	chosen := t.selection.of(p)
	t.met.add(chosen)
	fans := make(map[fanOf]*fan, len(p.Comms))
	for i := range p.Rows {
		r := &p.Rows[i]
		if chosen.row(r) {
			t.addRow(p, r, fans)
		}
		if p.Unfollowed && t.selection.Received && profile.PostsReceive(r.Call) {
			t.Unfollowed += r.Calls
		}
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		all, some := chosen.vector(v)
		switch {
		case !some:
		case !all:
			t.Unsplit += v.Calls
		case v.Comm >= 0 && int(v.Comm) < len(p.Comms) && v.OwnGroup(&p.Comms[v.Comm]):
			t.crossings.add(p, v)
		default:
			p.VectorFlows(v, t.addPart)
		}
	}
}

// addPhysical adds what the MPI library sent: all of it if that is selected, else
// what it sent on its own behalf.
func (t *Tally) addPhysical(p *profile.Profile) {
	if p.Physical == nil || !t.selection.Physical && !t.selection.whole() {
		return
	}
	if p.Physical.Unknown != "" {
		t.Unknown = append(t.Unknown, p.Rank)
	}
	for i := range p.Physical.Flows {
		switch f := &p.Physical.Flows[i]; {
		case t.selection.Physical:
			t.AddFlow(f)
		case f.Kind == profile.Internal:
			t.beside.Add(Pair{f.From, f.To}, Volume{f.Bytes, f.Messages})
		}
	}
}

// AddFlow adds a line of a .prof file.
func (t *Tally) AddFlow(f *profile.Flow) {
	if f.From < 0 || f.To < 0 || !t.selection.flow(f) {
		return
	}
	t.traffic.plus(Volume{f.Bytes, f.Messages})
	t.addPart(*f)
}

// addPart adds to one entry. A remote read is turned round: its data goes from
// the target to the one who reads.
func (t *Tally) addPart(f profile.Flow) {
	p := Pair{f.From, f.To}
	if f.Kind == profile.RemoteRead {
		p = Pair{f.To, f.From}
	}
	t.kinds[ClassOf(f.Kind)].Add(p, Volume{f.Bytes, f.Messages})
}

// fanOf tells apart the fans of a process.
type fanOf struct {
	comm   int32
	higher bool
}

func (t *Tally) addRow(p *profile.Profile, r *profile.Row, fans map[fanOf]*fan) {
	if t.selection.Received {
		t.addReceive(p, r)
		return
	}
	if _, ok := profile.KindOf(r.Class, r.Direction); !ok {
		return
	}
	t.rows.add(r)
	known := r.Comm >= 0 && int(r.Comm) < len(p.Comms)
	if !known || r.Spread != profile.ToOthers && r.Spread != profile.ToHigher {
		p.RowFlows(r, t.addPart)
		return
	}
	c := &p.Comms[r.Comm]
	n := uint64(c.FanOut(r.Spread))
	if n == 0 || r.Messages == 0 {
		return
	}
	key := fanOf{r.Comm, r.Spread == profile.ToHigher}
	f := fans[key]
	if f == nil {
		from, to := newMembers(c.Members), newMembers(c.Peers())
		f = t.kinds[Collective].fan(&fan{from: from, to: to, higher: key.higher})
		fans[key] = f
	}
	f.each.add(int32(c.Rank), Volume{r.Bytes / n, r.Messages / n})
	t.kinds[Collective].parts = nil
}

// addReceive adds a message to the entry of its sender, as its receiver saw it.
func (t *Tally) addReceive(p *profile.Profile, r *profile.Row) {
	if r.Class != profile.P2P || r.Direction != profile.Recv || r.Messages == 0 {
		return
	}
	t.rows.add(r)
	if from := p.WorldRank(r.Comm, r.Peer); from >= 0 {
		t.kinds[External].Add(Pair{from, p.Rank}, Volume{r.Bytes, r.Messages})
	}
}

// Merge adds what o has.
func (t *Tally) Merge(o *Tally) {
	for c := range t.kinds {
		t.kinds[c].Merge(&o.kinds[c])
	}
	t.beside.Merge(&o.beside)
	t.Unknown = append(t.Unknown, o.Unknown...)
	t.rows.plus(o.rows)
	t.traffic.plus(o.traffic)
	t.Unsplit += o.Unsplit
	t.Unfollowed += o.Unfollowed
	t.met.merge(&o.met)
	t.crossings.merge(&o.crossings)
}

// Matrices are those of all that was added. The tally is not to be added to
// after that.
func (t *Tally) Matrices() *Matrices {
	t.crossings.spread(t.addPart)
	t.crossings = crossings{}
	ms := new(Matrices)
	used := 0
	for c := range t.kinds {
		if t.kinds[c].Empty() {
			continue
		}
		ms[c] = t.kinds[c]
		used++
	}
	for c := External; c < NumMatrixClasses; c++ {
		switch {
		case used == 1 && !ms[c].Empty():
			ms[All] = ms[c] // and no second copy of what may be millions of entries
		case used > 1:
			ms[All].Merge(&ms[c])
		}
	}
	if t.Beside() {
		ms[Internal] = t.beside
	}
	return ms
}

// Beside tells whether the Internal matrix is no part of that of All.
func (t *Tally) Beside() bool { return !t.beside.Empty() }

// unplaced is how much of what the rows say was sent is in none of the
// matrices: it went to processes that are no rank of this job, or to peers that
// were not kept.
func (t *Tally) unplaced(ms *Matrices) (rows, placed Volume) {
	placed = ms[All].Total()
	placed.minus(t.traffic)
	return t.rows, placed
}
