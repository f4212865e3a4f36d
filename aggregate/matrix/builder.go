package matrix

import "github.com/mpitrace/mpitrace/profile"

// Tally adds up what processes sent, one process after the other: the matrices
// of a job on the way. It keeps nothing of a process but its part of the sums.
// Tallies of parts of a job can be merged in any order to that of the job.
type Builder struct {
	selection *Selection
	classes   [NumClasses]Matrix // of their own entries: that of all stays empty
	inRows    Volume             // that were selected, as the rows themselves have it
	inFlows   Volume             // of .prof files, in no row
	names     selectionNames
	interReduceScatters
	// beside is what the MPI library sent on its own behalf, where the rows have
	// what the program asked for: the sum of both would count the same data twice.
	internal Matrix
	// Unknown are the ranks of which nobody knows what the library sent.
	PhysicalUnknown []int
	// Unsplit is how many calls of irregular collectives are in no matrix: some
	// of them are of a size class that was selected and others not, and which
	// sent what to whom is not recorded.
	Unsplit uint64
	// Unfollowed is how many calls posted receives of which nobody knows what they
	// received, where receives are what was selected.
	Unfollowed uint64
}

// NewTally makes an empty one that takes what is selected; nil is everything.
func NewBuilder(s *Selection) *Builder {
	if s == nil {
		s = new(Selection)
	}
	return &Builder{selection: s}
}

// Add adds what a process sent.
func (t *Builder) Add(p *profile.Profile) {
	if p.Rank < 0 {
		return // it has no line
	}
	t.addPhysical(p)
	if t.selection.Physical {
		return
	}
	chosen := t.selection.filter(p)
	t.names.add(chosen)
	fans := make(map[patternOf]*groupPattern, len(p.Comms))
	for i := range p.Rows {
		r := &p.Rows[i]
		if chosen.matches(r) {
			t.addRow(p, r, fans)
		}
		if p.Unfollowed && t.selection.Received && profile.PostsReceive(r.Call) {
			t.Unfollowed += r.Calls
		}
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		all, some := chosen.matchesVector(v)
		switch {
		case !some:
		case !all:
			t.Unsplit += v.Calls
		case v.Comm >= 0 && int(v.Comm) < len(p.Comms) && v.OwnGroup(&p.Comms[v.Comm]):
			t.interReduceScatters.add(p, v)
		default:
			p.VectorFlows(v, t.addFlow)
		}
	}
}

// addPhysical adds what the MPI library sent: all of it if that is selected, else
// what it sent on its own behalf.
func (t *Builder) addPhysical(p *profile.Profile) {
	if p.Physical == nil || !t.selection.Physical && !t.selection.everything() {
		return
	}
	if p.Physical.Unknown != "" {
		t.PhysicalUnknown = append(t.PhysicalUnknown, p.Rank)
	}
	for i := range p.Physical.Flows {
		switch f := &p.Physical.Flows[i]; {
		case t.selection.Physical:
			t.AddFlow(f)
		case f.Kind == profile.Internal:
			t.internal.Add(Pair{f.From, f.To}, Volume{f.Bytes, f.Messages})
		}
	}
}

// AddFlow adds a line of a .prof file.
func (t *Builder) AddFlow(f *profile.Flow) {
	if f.From < 0 || f.To < 0 || !t.selection.matchesFlow(f) {
		return
	}
	t.inFlows.Add(Volume{f.Bytes, f.Messages})
	t.addFlow(*f)
}

// addPart adds to one entry. A remote read is turned round: its data goes from
// the target to the one who reads.
func (t *Builder) addFlow(f profile.Flow) {
	p := Pair{f.From, f.To}
	if f.Kind == profile.RemoteRead {
		p = Pair{f.To, f.From}
	}
	t.classes[classOf(f.Kind)].Add(p, Volume{f.Bytes, f.Messages})
}

// fanOf tells apart the fans of a process.
type patternOf struct {
	comm   int32
	higher bool
}

func (t *Builder) addRow(p *profile.Profile, r *profile.Row, fans map[patternOf]*groupPattern) {
	if t.selection.Received {
		t.addReceive(p, r)
		return
	}
	if _, ok := profile.KindOf(r.Class, r.Direction); !ok {
		return
	}
	t.inRows.AddRow(r)
	known := r.Comm >= 0 && int(r.Comm) < len(p.Comms)
	if !known || r.Spread != profile.ToOthers && r.Spread != profile.ToHigher {
		p.RowFlows(r, t.addFlow)
		return
	}
	c := &p.Comms[r.Comm]
	n := uint64(c.FanOut(r.Spread))
	if n == 0 || r.Messages == 0 {
		return
	}
	key := patternOf{r.Comm, r.Spread == profile.ToHigher}
	f := fans[key]
	if f == nil {
		from, to := newGroup(c.Members), newGroup(c.Peers())
		f = t.classes[Collective].pattern(&groupPattern{from: from, to: to, higherOnly: key.higher})
		fans[key] = f
	}
	f.each.add(int32(c.Rank), Volume{r.Bytes / n, r.Messages / n})
	t.classes[Collective].parts = nil
}

// addReceive adds a message to the entry of its sender, as its receiver saw it.
func (t *Builder) addReceive(p *profile.Profile, r *profile.Row) {
	if r.Class != profile.P2P || r.Direction != profile.Recv || r.Messages == 0 {
		return
	}
	t.inRows.AddRow(r)
	if from := p.WorldRank(r.Comm, r.Peer); from >= 0 {
		t.classes[External].Add(Pair{from, p.Rank}, Volume{r.Bytes, r.Messages})
	}
}

// Merge adds what o has.
func (t *Builder) Merge(o *Builder) {
	for c := range t.classes {
		t.classes[c].Merge(&o.classes[c])
	}
	t.internal.Merge(&o.internal)
	t.PhysicalUnknown = append(t.PhysicalUnknown, o.PhysicalUnknown...)
	t.inRows.Add(o.inRows)
	t.inFlows.Add(o.inFlows)
	t.Unsplit += o.Unsplit
	t.Unfollowed += o.Unfollowed
	t.names.merge(&o.names)
	t.interReduceScatters.merge(&o.interReduceScatters)
}

// Matrices are those of all that was added. The tally is not to be added to
// after that.
func (t *Builder) Matrices() *ByClass {
	t.interReduceScatters.spread(t.addFlow)
	t.interReduceScatters = interReduceScatters{}
	ms := new(ByClass)
	used := 0
	for c := range t.classes {
		if t.classes[c].Empty() {
			continue
		}
		ms[c] = t.classes[c]
		used++
	}
	for c := External; c < NumClasses; c++ {
		switch {
		case used == 1 && !ms[c].Empty():
			ms[All] = ms[c] // and no second copy of what may be millions of entries
		case used > 1:
			ms[All].Merge(&ms[c])
		}
	}
	if t.InternalApart() {
		ms[Internal] = t.internal
	}
	return ms
}

// Beside tells whether the Internal matrix is no part of that of All.
func (t *Builder) InternalApart() bool { return !t.internal.Empty() }

// unplaced is how much of what the rows say was sent is in none of the
// matrices: it went to processes that are no rank of this job, or to peers that
// were not kept.
func (t *Builder) Unplaced(ms *ByClass) (rows, placed Volume) {
	placed = ms[All].Total()
	placed.Subtract(t.inFlows)
	return t.inRows, placed
}
