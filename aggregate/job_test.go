package aggregate

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// Values that only some processes know, or that differ between two recordings
// of one rank, do not depend on the order of the processes.
func TestJobIgnoresOrder(t *testing.T) {
	ps := []*profile.Profile{{Rank: 0, Host: "b", Start: 5}, {Rank: 1}, {Rank: 0, Host: "a", Start: 3}}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		j := NewJob(Options{})
		for _, i := range order {
			j.Add(ps[i])
		}
		hosts, _ := j.Ranks.Hosts()
		if len(hosts) != 1 || hosts[0] != "a" || j.Start() != 3 {
			t.Errorf("in order %v: hosts %q, start %d", order, hosts, j.Start())
		}
	}
}
