package table

import (
	"math/bits"

	"github.com/mpitrace/mpitrace/profile"
)

// Internal is the value of the columns class, direction and call in rows of
// messages that the MPI library sent on its own behalf. A process has one such
// row for each peer, after its other rows, with messages and bytes. Its number
// of calls is 0: it does not change sums of calls, or sums over another class
// or direction.
const Internal = "internal"

// internalRows returns these rows of a process. Their peers are world ranks.
func internalRows(p *profile.Profile) []profile.Row {
	if p.Physical == nil {
		return nil
	}
	var out []profile.Row
	for i := range p.Physical.Flows {
		f := &p.Physical.Flows[i]
		if f.Kind != profile.Internal {
			continue
		}
		mean := f.Bytes / max(f.Messages, 1)
		out = append(out, profile.Row{Thread: -1, Call: Internal, Comm: -1, Peer: int32(f.To), SizeClass: uint8(bits.Len64(mean)),
			Messages: f.Messages, Bytes: f.Bytes})
	}
	return out
}
