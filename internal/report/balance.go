package report

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

// localityText prints what was sent within and between nodes. It prints nothing
// for a job on one node.
func (s *summaryText) localityText() {
	if len(s.Hosts) < 2 || len(s.Localities) == 0 {
		return
	}
	l := s.Localities[0] // of matrix.All
	all := float64(l.Within.Bytes + l.Between.Bytes + l.Unknown.Bytes)
	if all == 0 {
		return
	}
	s.printf("sent within nodes: %s (%s), between nodes: %s (%s)", text.Bytes(l.Within.Bytes), text.Percent(float64(l.Within.Bytes)/all),
		text.Bytes(l.Between.Bytes), text.Percent(float64(l.Between.Bytes)/all))
	if l.Unknown != (matrix.Volume{}) {
		s.printf(", not known: %s", text.Bytes(l.Unknown.Bytes))
	}
	s.println()
}

// balanceText prints the imbalance of a job with several ranks, and which ranks
// differ most from the others.
func (s *summaryText) balanceText() {
	if len(s.Ranks) < 2 {
		return
	}
	name := map[string]string{"mpi_time_ns": "MPI time", "sent_bytes": "bytes sent", "received_bytes": "bytes received"}
	var parts, standing []string
	for i := range s.Balances {
		b := &s.Balances[i]
		if b.Max == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s +%s (rank %d)", name[b.Quantity], text.Percent(b.Imbalance), b.MaxRank))
		if b.Outlying > 0 {
			standing = append(standing, fmt.Sprintf("%s: %s", name[b.Quantity], s.standoutText(b)))
		}
	}
	if len(parts) > 0 {
		s.printf("imbalance, largest over mean: %s\n", strings.Join(parts, ", "))
	}
	for _, words := range standing {
		s.printf("stand out in %s\n", words)
	}
}

func (o *printer) standoutText(b *aggregate.Balance) string {
	value := func(v float64) string {
		if b.Quantity == "mpi_time_ns" {
			return o.duration(v)
		}
		return text.Bytes(uint64(v))
	}
	parts := []string{}
	for _, s := range b.Standouts[:min(len(b.Standouts), textStandouts)] {
		parts = append(parts, fmt.Sprintf("rank %d %s", s.Rank, value(s.Value)))
	}
	words := strings.Join(parts, ", ")
	if more := b.Outlying - len(parts); more > 0 {
		words += fmt.Sprintf(" and %s", text.CountOf(more, "more rank"))
	}
	return words + "; median " + value(b.Median)
}
