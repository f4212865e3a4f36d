package views_test

import (
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

func TestWatch(t *testing.T) {
	job := &views.Watched{
		Status:  &aggregate.JobStatus{Program: "app", Run: "r1", Expected: 4, Unknown: 2},
		Totals:  aggregate.Totals{Calls: 1200, Messages: 600, Bytes: 3 << 20},
		Rates:   &views.JobRates{Calls: 100, Messages: 50, Bytes: 1 << 19},
		Hanging: "ranks 0-1",
		Away:    profile.RankSetOf(2, 3), AwayS: 12.34,
		Heatmap: &aggregate.BinnedMatrix{Ranks: 2, RanksPerBin: 1, Bytes: [][]uint64{{0, 3 << 20}, {0, 0}}},
	}
	const want = `app on 4 ranks, run r1: 2 not finalized and not visible from here
hanging, in one call for more than 5 s: ranks 0-1
not visible from this node, last update up to 12.3 s ago: ranks 2-3
so far: 1,200 calls, 600 messages, 3.00 MiB; per second: 100 calls, 50 messages, 512 KiB

bytes between ranks so far (row: from, column: to)
    0 1
 0 |  ██|
 1 |    |
█ 3.00 MiB
`
	var out strings.Builder
	if err := write(&out, views.Watch(job), Options{}); err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}
