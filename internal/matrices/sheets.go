package matrices

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// sheet is a matrix of a job, after selection and with the lines of --by.
type sheet struct {
	matrixfile.Sheet
	exact bool // Sheet.Pairs is exact, not a lower bound
	// number of lines in a .mat file; with --symmetric, the number that Open MPI's script would
	// write
	extent  int
	wanted  bool // written in formats other than .mat and pictures
	picture bool // written as a heatmap
	// whether it is written as .mat; with --symmetric, only if Open MPI's script writes it
	classic bool
}

// sheets returns the matrices of a job, one per class and matrix.Direct. It
// returns an error if there is a selection and no message matches it.
func (o *options) sheets(j *source.Traffic, log io.Writer) ([]*sheet, error) {
	if err := o.checkRanks(j); err != nil {
		return nil, err
	}
	unmatched, err := j.Builder.Unmatched()
	if err != nil {
		return nil, usageError{err}
	}
	for _, e := range unmatched {
		fmt.Fprintf(log, "%s: %s; continuing with the rest of the selection\n", o.program, text.Line(e.Error()))
	}
	ms := j.Builder.Matrices()
	if n := j.Builder.Unsplit; n > 0 {
		fmt.Fprintf(log, "%s: %s: %d calls of irregular collectives are left out: their messages are of several size classes, some of them not selected\n", o.program, j.Prefix, n)
	}
	if n := j.Builder.UnfollowedReceives; n > 0 {
		fmt.Fprintf(log, "%s: %s: %d nonblocking receives are left out: what they received was not recorded (--receives off)\n", o.program, j.Prefix, n)
	}
	if unknown := profile.RankSetOf(j.Builder.PhysicalUnknown...); len(unknown) > 0 {
		fmt.Fprintf(log, "%s: %s: the messages of the MPI library are not known for %s\n", o.program, j.Prefix, unknown)
	}
	lines, err := o.lines(j)
	if err != nil {
		return nil, err
	}
	if o.noSelf {
		ms.DropSelf()
	}
	out := o.sheetsOf(j, lines, ms)
	if o.selected() != "" && out[matrix.All].Pairs == 0 {
		return nil, fmt.Errorf("nothing that was sent matches %s%s", o.selected(), o.without())
	}
	for c, s := range out[:matrix.Direct] {
		s.wanted = c == int(matrix.All) || s.Pairs > 0
		s.classic = s.wanted
		if o.symmetric {
			s.classic = s.Pairs > 0 && (c <= int(matrix.External) || out[matrix.External].Pairs > 0)
			s.wanted = s.wanted && out[matrix.All].Pairs > 0
		}
	}
	o.choosePictures(out)
	return out, nil
}

// choosePictures chooses the classes that get a heatmap. Collectives get a heatmap of their own,
// because an Allreduce of 8 bytes added to the other messages would colour every cell. If classes,
// calls or directions were selected, one picture shows all that was selected, and one more shows
// each of its classes.
func (o *options) choosePictures(out []*sheet) {
	has := func(c matrix.TrafficClass) bool { return out[c].Pairs > 0 }
	if o.selection.Kinds() || !has(matrix.Direct) && !has(matrix.Collective) {
		for _, s := range out[:matrix.Direct] {
			s.picture = s.wanted
		}
		return
	}
	both := has(matrix.External) && has(matrix.OneSided)
	for c, show := range map[matrix.TrafficClass]bool{matrix.Direct: true, matrix.External: both, matrix.OneSided: both,
		matrix.Collective: true, matrix.Internal: true} {
		out[c].picture = show && has(c)
	}
}

// sheetsOf returns a sheet for each class, and for Direct. If all messages are
// of one class, its sheet shares the matrix of All.
func (o *options) sheetsOf(j *source.Traffic, lines lines, ms *matrix.ByClass) []*sheet {
	out, used := make([]*sheet, len(ms)+1), 0
	beside := func(c matrix.TrafficClass) bool { return c == matrix.Internal && j.Builder.InternalApart() }
	for c := matrix.External; c < matrix.NumClasses; c++ {
		if !ms[c].Empty() && !beside(c) {
			used++
		}
	}
	out[matrix.All] = o.sheet(j, lines, &ms[matrix.All], matrix.All)
	for c := matrix.External; c < matrix.NumClasses; c++ {
		if used > 1 || ms[c].Empty() || beside(c) {
			out[c] = o.sheet(j, lines, &ms[c], c)
			continue
		}
		same := *out[matrix.All]
		same.Class = c
		out[c] = &same
	}
	out[matrix.Direct] = o.sheet(j, lines, ms.Direct(), matrix.Direct)
	return out
}

// without returns a hint for a selection that matches nothing.
func (o *options) without() string {
	if o.selection.Physical {
		return ": the run must be recorded under Open MPI with mpitrace run --physical"
	}
	return ""
}

func (o *options) checkRanks(j *source.Traffic) error {
	for _, f := range o.rankFlags() {
		if len(f.set) > 0 && f.set[0].First >= j.Size() {
			return usagef("--%s %s: there are only ranks 0 to %d", f.name, f.text, j.Size()-1)
		}
	}
	return nil
}

// lines describes the lines of a matrix: ranks, blocks of ranks, or hosts.
type lines struct {
	n      int
	name   string
	labels []string
	of     func(rank int) int // line of a rank; nil if each rank has its own
}

// unknownHost is the label of the line for all ranks whose host is unknown.
const unknownHost = "(unknown)"

func (o *options) lines(j *source.Traffic) (lines, error) {
	switch {
	case o.hosts:
		names, of := j.Hosts()
		if len(names) == 0 {
			return lines{}, fmt.Errorf("%s: --by host needs the hosts of processes, and none is known", j.Prefix)
		}
		other := len(names)
		for rank := range j.Size() {
			if of(rank) < 0 {
				names = append(names, unknownHost)
				break
			}
		}
		return lines{len(names), "node", names, func(rank int) int {
			if host := of(rank); host >= 0 {
				return host
			}
			return other
		}}, nil
	case o.block > 1:
		n := (j.Size() + o.block - 1) / o.block
		return lines{n, fmt.Sprintf("block of %d ranks", o.block), nil, func(rank int) int { return rank / o.block }}, nil
	}
	return lines{n: j.Size(), name: "rank"}, nil
}

func (o *options) sheet(j *source.Traffic, by lines, m *matrix.Matrix, c matrix.TrafficClass) *sheet {
	if o.ranks.set != nil || o.from.set != nil || o.to.set != nil {
		m = m.Restrict(o.takes(o.from.set), o.takes(o.to.set))
	}
	if by.of != nil {
		m = m.Fold(by.of)
	}
	s := &sheet{Sheet: matrixfile.Sheet{N: by.n, Symmetric: o.symmetric, Program: j.Program, Run: j.Run, Class: c, Physical: o.selection.Physical, Selection: o.selected(),
		Line: by.name, Labels: by.labels}}
	most := o.maxPairs
	if most == 0 {
		most = 1 << 62
	}
	s.Pairs, s.exact = m.LenUpTo(int(most))
	s.extent = by.n
	if o.symmetric && by.of == nil {
		s.extent = m.Size()
	}
	s.Matrix = m // mirror adds the other direction when it is written
	return s
}

// takes returns a function that reports whether a rank is in both set and
// --ranks.
func (o *options) takes(set profile.RankSet) func(rank int) bool {
	return func(rank int) bool {
		return (o.ranks.set == nil || o.ranks.set.Contains(rank)) && (set == nil || set.Contains(rank))
	}
}
