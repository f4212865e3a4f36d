package report

import (
	"fmt"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

// logicalNames holds the printed names of the classes of logical volume.
var logicalNames = map[string]string{matrix.All.String(): "all that the program asked for", matrix.External.String(): "point-to-point",
	matrix.OneSided.String(): "one-sided", matrix.Collective.String(): "collectives"}

// physicalText prints what the program asked for, and below it what the MPI library sent.
func (s *summaryText) physicalText() {
	p := s.Physical
	if p == nil || p.Known == 0 {
		return
	}
	head := "logical and physical"
	if len(p.Unknown) > 0 {
		head += fmt.Sprintf(" (of %d of %d ranks)", p.Known, s.RanksExpected)
	}
	t := text.NewTable(head, "pairs", "msgs", "bytes")
	line := func(name, pairs string, v matrix.Volume) {
		t.Add(name, pairs, text.Count(v.Messages), text.Bytes(v.Bytes))
	}
	for i := range p.Logical {
		l := p.Logical[(i+1)%len(p.Logical)] // the sum is the first entry and printed last
		line("logical: "+logicalNames[l.Class], text.Count(l.Pairs), l.Volume)
	}
	line("physical: point-to-point", text.Count(p.External.Pairs), p.External.Volume)
	line("physical: the library's own", text.Count(p.Internal.Pairs), p.Internal.Volume)
	line("physical: all that the library sent", "", p.Sum)
	s.table(t, 0, "", "")
	if p.External.Volume != p.Asked {
		s.printf("the library's count of point-to-point differs from the program's, %s (%s): it does not see persistent sends, and takes some of its own messages for the program's\n",
			text.CountOf(p.Asked.Messages, "message"), text.Bytes(p.Asked.Bytes))
	}
}
