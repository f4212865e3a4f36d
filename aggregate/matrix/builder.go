package matrix

import "github.com/mpitrace/mpitrace/profile"

// Builder builds the matrices of a job from the profiles of its processes, or from
// the lines of their .prof files, given one after the other. It keeps sums only.
// Builders of parts of a job can be merged, in any order, into that of the job.
type Builder struct {
	// PhysicalUnknown lists the ranks whose profiles should say what the MPI library
	// sent, but do not.
	PhysicalUnknown []int
	// Unsplit is the number of calls of irregular collectives that are in no matrix,
	// because only some of their messages are of a selected size class, and profiles
	// do not record which.
	Unsplit uint64
	// UnfollowedReceives is, if receives are selected, the number of calls that
	// posted receives whose completion was not recorded.
	UnfollowedReceives uint64

	selection      *Selection
	classes        [NumClasses]Matrix // classes[All] stays empty
	inRows         Volume             // volume of the selected rows
	inFlows        Volume             // volume of the lines of .prof files
	names          selectionNames
	reduceScatters interReduceScatters
	// internal is what the MPI library sent on its own behalf, if the matrices are
	// made of rows. It is kept out of All: its messages carry the same data as the
	// collectives in the rows.
	internal Matrix
}

// NewBuilder returns an empty Builder that counts what s selects; nil selects
// everything.
func NewBuilder(s *Selection) *Builder {
	if s == nil {
		s = new(Selection)
	}
	return &Builder{selection: s}
}

// Spill makes the matrices keep entries that need more memory than the budget of a Scratch
// in its file. It is called before anything is added.
func (b *Builder) Spill(s *Scratch) {
	for c := range b.classes {
		b.classes[c].Spill(s)
	}
	b.internal.Spill(s)
}

// Add adds what a process sent. A profile without a rank (Rank < 0) is ignored. The
// profiles of a job must have been unified (profile.Unify) for their irregular
// collectives over intercommunicators to be found.
func (b *Builder) Add(p *profile.Profile) {
	if p.Rank < 0 {
		return
	}
	b.addPhysical(p)
	if b.selection.Physical {
		return
	}
	filter := b.selection.filter(p)
	b.names.add(filter)
	patterns := make(map[patternOf]*groupPattern, len(p.Comms))
	for i := range p.Rows {
		r := &p.Rows[i]
		if filter.matches(r) {
			b.addRow(p, r, patterns)
		}
		if p.Unfollowed && b.selection.Received && profile.PostsReceive(r.Call) {
			b.UnfollowedReceives += r.Calls
		}
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		all, some := filter.matchesVector(v)
		switch {
		case !some:
		case !all:
			b.Unsplit += v.Calls
		case v.Comm >= 0 && int(v.Comm) < len(p.Comms) && v.OwnGroup(&p.Comms[v.Comm]):
			b.reduceScatters.add(p, v)
		default:
			p.VectorFlows(v, b.addEntry)
		}
	}
}

// addPhysical adds what the MPI library sent: everything if that is selected,
// otherwise what it sent on its own behalf.
func (b *Builder) addPhysical(p *profile.Profile) {
	if p.Physical == nil || !b.selection.Physical && !b.selection.everything() {
		return
	}
	if p.Physical.Unknown != "" {
		b.PhysicalUnknown = append(b.PhysicalUnknown, p.Rank)
	}
	for i := range p.Physical.Flows {
		switch f := &p.Physical.Flows[i]; {
		case b.selection.Physical:
			b.AddFlow(f)
		case f.Kind == profile.Internal:
			b.internal.Add(Pair{f.From, f.To}, Volume{f.Bytes, f.Messages})
		}
	}
}

// AddFlow adds a line of a .prof file. It ignores flows from or to processes
// that are not ranks of the job.
func (b *Builder) AddFlow(f *profile.Flow) {
	if f.From < 0 || f.To < 0 || !b.selection.matchesFlow(f) {
		return
	}
	b.inFlows.Add(Volume{f.Bytes, f.Messages})
	b.addEntry(*f)
}

// addEntry adds a flow to one entry.
func (b *Builder) addEntry(f profile.Flow) {
	b.classes[classOf(f.Kind)].Add(FlowPair(f), Volume{f.Bytes, f.Messages})
}

// FlowPair returns the pair between which the data of a flow moves: those of a remote
// read move from the target to the reader.
func FlowPair(f profile.Flow) Pair {
	if f.Kind == profile.RemoteRead {
		return Pair{f.To, f.From}
	}
	return Pair{f.From, f.To}
}

// patternOf identifies a group pattern of one process: the pattern of one
// communicator, given by its index in the profile.
type patternOf struct {
	comm       int32
	higherOnly bool
}

// addRow adds a selected row. patterns holds the group patterns that the
// process has contributed to.
func (b *Builder) addRow(p *profile.Profile, r *profile.Row, patterns map[patternOf]*groupPattern) {
	if b.selection.Received {
		b.addReceive(p, r)
		return
	}
	if _, ok := profile.KindOf(r.Class, r.Direction); !ok {
		return
	}
	b.inRows.AddRow(r)
	known := r.Comm >= 0 && int(r.Comm) < len(p.Comms)
	if !known || r.Spread != profile.ToOthers && r.Spread != profile.ToHigher {
		p.RowFlows(r, b.addEntry)
		return
	}
	c := &p.Comms[r.Comm]
	n := uint64(c.FanOut(r.Spread))
	if n == 0 || r.Messages == 0 {
		return
	}
	key := patternOf{r.Comm, r.Spread == profile.ToHigher}
	g := patterns[key]
	if g == nil {
		from, to := newGroup(c.Members), newGroup(c.Peers())
		g = b.classes[Collective].pattern(&groupPattern{from: from, to: to, higherOnly: key.higherOnly})
		patterns[key] = g
	}
	g.each.add(int32(c.Rank), Volume{r.Bytes / n, r.Messages / n})
	b.classes[Collective].parts = nil
}

// addReceive adds a row of receives to the entry of its sender.
func (b *Builder) addReceive(p *profile.Profile, r *profile.Row) {
	if r.Class != profile.P2P || r.Direction != profile.Recv || r.Messages == 0 {
		return
	}
	b.inRows.AddRow(r)
	if from := p.WorldRank(r.Comm, r.Peer); from >= 0 {
		b.classes[External].Add(Pair{from, p.Rank}, Volume{r.Bytes, r.Messages})
	}
}

// Merge adds what was added to o.
func (b *Builder) Merge(o *Builder) {
	for c := range b.classes {
		b.classes[c].Merge(&o.classes[c])
	}
	b.internal.Merge(&o.internal)
	b.PhysicalUnknown = append(b.PhysicalUnknown, o.PhysicalUnknown...)
	b.inRows.Add(o.inRows)
	b.inFlows.Add(o.inFlows)
	b.Unsplit += o.Unsplit
	b.UnfollowedReceives += o.UnfollowedReceives
	b.names.merge(&o.names)
	b.reduceScatters.merge(&o.reduceScatters)
}

// Matrices returns the matrices of everything that was added. Nothing may be
// added to the Builder afterwards.
func (b *Builder) Matrices() *ByClass {
	b.reduceScatters.spread(b.addEntry)
	b.reduceScatters = interReduceScatters{}
	ms := new(ByClass)
	used := 0
	for c := range b.classes {
		if b.classes[c].Empty() {
			continue
		}
		ms[c] = b.classes[c]
		used++
	}
	for c := External; c < NumClasses; c++ {
		switch {
		case used == 1 && !ms[c].Empty():
			ms[All] = ms[c] // saves a copy of what may be millions of entries
		case used > 1:
			ms[All].mergeEntries(&ms[c])
		}
	}
	if used > 1 { // likewise; no other class has patterns
		ms[All].patterns, ms[All].like = ms[Collective].patterns, &ms[Collective]
	}
	if b.InternalApart() {
		ms[Internal] = b.internal
	}
	return ms
}

// InternalApart reports whether the matrix of class All excludes that of class
// Internal. It does where All has the logical volume of collectives, which the
// internal messages carry.
func (b *Builder) InternalApart() bool { return !b.internal.Empty() }

// InAll reports whether the matrix of class All includes that of another class.
func (b *Builder) InAll(c TrafficClass) bool { return c != Internal || !b.InternalApart() }

// Placed returns the volume of the selected rows, and how much of it is in the
// matrices ms of the Builder. The rest went to processes of other jobs, or to
// peers that were not recorded.
func (b *Builder) Placed(ms *ByClass) (rows, placed Volume) {
	placed = ms[All].Total()
	placed.Subtract(b.inFlows)
	return b.inRows, placed
}
