package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sendrecvSites returns the number of calls of Sendrecv by stack. A stack lists
// its functions from the innermost outwards.
func sendrecvSites(sites []aggregate.CallSite) map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range sites {
		if c.Call != "Sendrecv" {
			continue
		}
		names := []string{c.Function}
		for _, caller := range c.Callers {
			names = append(names, caller.Function)
		}
		out[strings.Join(names, " < ")] += c.Calls
	}
	return out
}

func TestStacks(t *testing.T) {
	for depth, want := range map[string]map[string]uint64{
		"0": {"pass": 61},
		"2": {"pass < often": 60, "pass < seldom": 1},
		"3": {"pass < often < main": 30, "pass < often < seldom": 30, "pass < seldom < main": 1},
		// Stacks end at main.
		"9": {"pass < often < main": 30, "pass < often < seldom < main": 30, "pass < seldom < main": 1},
	} {
		t.Run(depth, func(t *testing.T) {
			withEach(t, anyMPI, func(t *testing.T, m implementation) {
				j := record(t, []string{"--stack", depth}, m.launch(1, m.compile(t, "stacks"))...)
				checkWhole(t, 1, j)
				diff(t, "calls", want, sendrecvSites(callSites(t, j.dir)))
				// Bytes are the same as without stacks: 30 times 2, once 5, 30
				// times 6.
				diff(t, "bytes", 30*2+5+30*6, sentBytes(j.ranks[0]))
				succeed(t, nil, toMatrix, j.dir, "-o", filepath.Join(t.TempDir(), "m"))
			})
		})
	}
}

// TestStackAuto checks that call sites are the callers of wrappers around MPI.
// It identifies calls by the numbers of calls in wrappers.c, for 2 ranks.
func TestStackAuto(t *testing.T) {
	want := map[string]uint64{
		"Allreduce solve app.c:10": 20, "Allreduce solve app.c:11": 2, "Allreduce norm app.c:21": 10,
		"Allgather solve app.c:13": 2, "Allgather norm app.c:23": 2, "Allgather norm app.c:24": 2,
		"Barrier solve app.c:14": 2, "Barrier main app.c:35": 2,
		"Sendrecv exchange app.c:3": 4,
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := record(t, []string{"--stack", "auto"}, m.launch(2, m.compile(t, "wrappers"))...)
		checkWhole(t, 2, j)
		if plain := record(t, nil, m.launch(2, m.compile(t, "wrappers"))...); strings.Contains(plain.stderr, "Allreduce solve") {
			t.Errorf("without --stack auto:\n%s", plain.stderr)
		}
		for _, again := range []string{"from recordings", "from profile.arrow"} {
			got := map[string]uint64{}
			for _, c := range callSites(t, j.dir) {
				if !profile.SetsUp(c.Call) {
					got[fmt.Sprintf("%s %s %s:%d", c.Call, c.Function, filepath.Base(c.File), c.Line)] += c.Calls
				}
			}
			diff(t, again, want, got)
			os.RemoveAll(filepath.Join(j.dir, "recordings"))
		}
	})
}

func sentBytes(p *profile.Profile) (sum uint64) {
	for i := range p.Rows {
		if p.Rows[i].Direction == profile.Send {
			sum += p.Rows[i].Bytes
		}
	}
	return sum
}

// TestStacksWithoutEnd makes more stacks than the library keeps: 2^17.
func TestStacksWithoutEnd(t *testing.T) {
	testenv.At(t, testenv.All)
	const levels, kept = 17, 1 << 16
	setenv(t, "MPITRACE_MAX_MB", "256") // room for as many rows
	m := implementations()[0]
	j := record(t, []string{"--no-report", "--stack", "32"}, m.launch(1, m.compile(t, "stacks"), "17")...)
	if j.code != 0 || len(j.ranks) != 1 {
		t.Fatalf("exit status %d, %d recordings\n%s", j.code, len(j.ranks), j.stderr)
	}
	p := j.ranks[0]
	// The stack of Finalize may be one of those for which there is no room.
	if len(p.Stacks) != kept || p.Losses.Stacks < 1<<levels-kept || p.Losses.Stacks > 1<<levels-kept+4 {
		t.Errorf("%d stacks and %d calls without, want %d and %d", len(p.Stacks), p.Losses.Stacks, kept, 1<<levels-kept)
	}
	var calls uint64
	for i := range p.Rows {
		if p.Rows[i].Call == "Sendrecv" {
			calls += p.Rows[i].Calls
		}
	}
	if calls != 1<<levels {
		t.Errorf("%d calls, want %d", calls, 1<<levels)
	}
	problems := aggregate.New(j.ranks).Problems()
	if len(problems) != 1 || !strings.Contains(problems[0], "not the callers that were asked for") {
		t.Errorf("the summary would contain %q", problems)
	}
	if deep := slices.MaxFunc(slices.Collect(maps.Values(p.Stacks)), func(a, b []uint64) int { return len(a) - len(b) }); len(deep) < levels+2 {
		t.Errorf("the deepest stack has %d frames, want %d and those above main", len(deep), levels+2)
	}
}
