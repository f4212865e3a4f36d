package views_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

func TestStandoutsAreTold(t *testing.T) {
	ps := []*profile.Profile{}
	for r := range 12 {
		p := jobs.FixtureRank(0)
		p.Rank, p.Size = r, 12
		p.Comms[0].Members.N, p.Comms[0].Rank = 12, r
		p.Rows = p.Rows[2:3] // Send to rank 1
		p.Rows[0].Messages = 3
		if p.Rows[0].Bytes = 1 << 20; r == 7 {
			p.Rows[0].Bytes = 9 << 20
		}
		ps = append(ps, p)
	}
	var b bytes.Buffer
	if err := Summary(&b, aggregate.New(ps).Summary(), Options{Top: -1}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"stand out in bytes sent: rank 7 9.00 MiB; median 1.00 MiB\n",
		"stand out in bytes received: rank 1 20.0 MiB; median 0 B\n",
		"imbalance, largest over mean: MPI time +0.0 % (rank 0), bytes sent +440.0 % (rank 7), bytes received +1100.0 % (rank 1)\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, &b)
		}
	}
}
