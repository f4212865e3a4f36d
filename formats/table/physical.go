package table

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Internal is the value of the columns class, direction and call in rows of
// messages that the MPI library sent on its own behalf. A process has one such
// row for each peer, after its other rows, with messages and bytes. Its number
// of calls is 0: it does not change sums of calls, or sums over another class
// or direction.
const Internal = "internal"

// internalRows returns the rows of class internal of a process. Their peers are world ranks.
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

// flow is a row of flows.arrow.
type flow struct {
	*profile.Flow
	of *profile.Profile
}

// flows returns the rows of a profile.
func flows(p *profile.Profile) iter.Seq[flow] {
	return func(yield func(flow) bool) {
		if p.Physical == nil {
			return
		}
		for i := range p.Physical.Flows {
			if !yield(flow{&p.Physical.Flows[i], p}) {
				return
			}
		}
	}
}

// External is the value of the column kind for messages of the program.
const External = "external"

// FlowColumns are the columns of flows.arrow, in order.
var FlowColumns = []Column[flow]{
	Run(func(f flow) string { return f.of.Run }),
	Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the sender", func(f flow) int32 { return int32(f.of.Rank) }).absent(Required),
	Words("kind", "external: messages that the program sent point to point; internal: messages that the MPI library sent on its own behalf, which profile.arrow has, too", func(f flow) string {
		if f.Kind == profile.Internal {
			return Internal
		}
		return External
	}).absent(Required),
	Numbers("peer", "world rank", "rank in MPI_COMM_WORLD of the receiver", func(f flow) int32 { return int32(f.To) }).absent(Required),
	Numbers("messages", "messages", "number of messages", func(f flow) uint64 { return f.Messages }).absent(Required),
	Numbers("bytes", "bytes", "data in these messages", func(f flow) uint64 { return f.Bytes }).absent(Required),
	OptionalTexts("histogram", "messages by size class, as 5:3 12:1; null if it is not known", func(f flow) (string, bool) {
		return histogramText(f.Histogram), f.Histogram != nil
	}),
}

func histogramText(h *profile.Histogram) string {
	if h == nil {
		return ""
	}
	var out []string
	for class, n := range h {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d:%d", class, n))
		}
	}
	return strings.Join(out, " ")
}

// ParseHistogram is the inverse of the text in the column histogram.
func ParseHistogram(text string) (*profile.Histogram, error) {
	h := new(profile.Histogram)
	for part := range strings.FieldsSeq(text) {
		class, count, _ := strings.Cut(part, ":")
		k, err := strconv.ParseUint(class, 10, 8)
		n, err2 := strconv.ParseUint(count, 10, 64)
		if err != nil || err2 != nil || int(k) >= len(h) {
			return nil, fmt.Errorf("%q is not a histogram such as 5:3 12:1", text)
		}
		h[k] = n
	}
	return h, nil
}
