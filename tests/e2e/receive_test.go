package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// conservations returns the conservation checks of the jobs in dir, as
// `mpitrace report --json` prints them.
func conservations(t *testing.T, dir string) []*aggregate.Conservation {
	t.Helper()
	var report struct {
		Jobs []struct{ Conservation *aggregate.Conservation }
	}
	if err := json.Unmarshal([]byte(succeed(t, nil, mpitrace, "report", "--json", dir).stdout), &report); err != nil {
		t.Fatal(err)
	}
	var out []*aggregate.Conservation
	for _, j := range report.Jobs {
		if j.Conservation == nil {
			t.Fatal("a job without the check")
		}
		out = append(out, j.Conservation)
	}
	return out
}

// conservation returns the check of the only job in dir.
func conservation(t *testing.T, dir string) *aggregate.Conservation {
	t.Helper()
	jobs := conservations(t, dir)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs in the report", len(jobs))
	}
	return jobs[0]
}

// abnormalOf returns the number of operations that did not complete normally,
// by kind. It omits kinds with none.
func abnormalOf(ranks []*profile.Profile) map[string]uint64 {
	sums := map[string]uint64{}
	for _, p := range ranks {
		for k := range profile.NumAbnormalKinds {
			if n := p.CountAbnormal(k); n > 0 {
				sums[k.String()] += n
			}
		}
	}
	return sums
}

// checkConserved requires that all of this number of pairs agree, and that some
// of them are explained by operations that did not complete normally.
func checkConserved(t *testing.T, j job, pairs, explained int) {
	t.Helper()
	c := conservation(t, j.dir)
	if c.Verdict != aggregate.Conserved || c.Pairs != pairs || c.Explained != explained {
		t.Errorf("conservation %q, %d pairs of which %d explained, want ok, %d and %d: %+v", c.Verdict, c.Pairs, c.Explained, pairs, explained, c)
	}
}

// TestConserved requires that the recordings of programs that receive all they
// send have equal sent and received volumes.
func TestConserved(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		jobs := map[string]job{"threads": m.recorded(t, "threads"), "handover": m.recorded(t, "handover")}
		for _, n := range togetherRanks {
			jobs[fmt.Sprint(n, " ranks")] = m.together(t, n)
		}
		for name, j := range jobs {
			c := conservation(t, j.dir)
			// Compute the same sums independently of the check.
			sent := pointToPoint(j.ranks)
			var messages, bytes uint64
			for _, v := range sent {
				messages, bytes = messages+v.Count, bytes+v.Bytes
			}
			total := matrix.Volume{Bytes: bytes, Messages: messages}
			if c.Verdict != aggregate.Conserved || c.Pairs != len(sent) || c.Explained != 0 || c.Sent != total || c.Received != total || messages == 0 {
				t.Errorf("%s: got %+v, want %+v in %d pairs", name, c, total, len(sent))
			}
			checkReceived(t, j.ranks)
			abnormal := map[string]uint64{}
			if name == "2 ranks" { // by cancel.c and errors.c, on each rank
				abnormal["cancelled_receives"] = 2
				if m.runsTogether(t, "errors") {
					abnormal["failed_receives"] = 2
				}
			}
			diff(t, name+": abnormal", abnormal, abnormalOf(j.ranks))
		}
	})
}

func TestTruncated(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "truncated"))
		// One receive is truncated in each of 13 rounds. In 8 others rank 1
		// asks for a message by one byte and receives it whole. The Sendrecv
		// that fails also sends 7 bytes in the other direction.
		diff(t, "abnormal", map[string]uint64{"truncated_receives": 13}, abnormalOf(j.ranks))
		for _, a := range j.ranks[1].Abnormal {
			if a.Comm < 0 || j.ranks[1].Comms[a.Comm].WorldRank(a.Peer) != 0 {
				t.Errorf("abnormal without the peer: %+v", a)
			}
		}
		diff(t, "received", map[string]volumes{
			"Irecv": messages(0, 1, 5).times(8), "Recv": messages(1, 0, 1).times(8).plus(message(1, 0, 7)),
		}, receivedBy(j.ranks))
		diff(t, "sent", messages(0, 1, 5).times(8).plus(messages(0, 1, 100).times(13)).plus(messages(1, 0, 1).times(8)).plus(message(1, 0, 7)), pointToPoint(j.ranks))
		checkConserved(t, j, 2, 1)
		want := "not completed normally: 13 receives truncated (rank 1); they explain 1 pair\n"
		if got := succeed(t, nil, mpitrace, "report", "--full", j.dir).stdout; !strings.Contains(got, want) {
			t.Errorf("the report has no %q:\n%s", want, got)
		}
	})
}

func TestFreed(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "freed"))
		diff(t, "abnormal", map[string]uint64{"freed_receives": 3}, abnormalOf(j.ranks))
		diff(t, "received", map[string]volumes{"Irecv": message(0, 1, 6)}, receivedBy(j.ranks))
		diff(t, "sent", messages(0, 1, 5, 10, 15, 6), pointToPoint(j.ranks))
		checkConserved(t, j, 1, 1)
	})
}

func TestUnfinished(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "unfinished"))
		diff(t, "abnormal", map[string]uint64{"unfinished_receives": 3}, abnormalOf(j.ranks))
		diff(t, "received", map[string]volumes{"Recv": message(0, 1, 8)}, receivedBy(j.ranks))
		checkConserved(t, j, 1, 1)
	})
}

// TestStranded kills a process. Its open receives must be found from its rows.
func TestStranded(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := record(t, nil, m.launch(2, m.compile(t, "stranded"))...)
		if j.code == 0 || len(j.ranks) != 2 {
			t.Fatalf("exit status %d, %d recordings\n%s", j.code, len(j.ranks), j.stderr)
		}
		diff(t, "abnormal", map[string]uint64{"unfinished_receives": 3 + 2 + 1, "cancelled_receives": 1}, abnormalOf(j.ranks[1:]))
		c := conservation(t, j.dir)
		if c.Verdict != aggregate.PartlyKnown || c.Pairs != 0 || len(c.NotCompared) != 1 || c.NotCompared[0].Reason != "not finalized" {
			t.Errorf("got %+v, want no pair compared", c)
		}
	})
}

func TestCancelled(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "cancelled")
		j := m.run(t, 2, program)
		diff(t, "abnormal", map[string]uint64{"cancelled_receives": 3*2 + 2 + 1}, abnormalOf(j.ranks))
		diff(t, "received", map[string]volumes{"Irecv": message(0, 1, 11)}, receivedBy(j.ranks))
		checkConserved(t, j, 1, 0)
		// Persistent receives are followed all the same. Cancelled receives
		// that are not followed must not be taken for sends.
		j = m.runAs(t, []string{"--receives", "off"}, 2, program)
		diff(t, "abnormal, receives off", map[string]uint64{"cancelled_receives": 2}, abnormalOf(j.ranks))
	})
}

func TestPaused(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "paused"))
		c := conservation(t, j.dir)
		want := []aggregate.NotCompared{{Reason: "recording was off part of the time", Ranks: "rank 0", Pairs: 1}}
		if c.Verdict != aggregate.PartlyKnown || c.Pairs != 0 {
			t.Errorf("got %+v", c)
		}
		diff(t, "not compared", want, c.NotCompared)
	})
}

func TestReceivesFromNobody(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 1, m.compile(t, "nobody"))
		want{
			sent: map[string]volumes{"Send": message(0, 0, 0)}, received: map[string]volumes{"Irecv": message(0, 0, 0)},
			calls: map[string][]uint64{"Recv": {1}, "Irecv": {3}, "Mrecv": {1}, "Imrecv": {1}, "Start": {1}, "Sendrecv": {1}},
		}.check(t, j.ranks)
		diff(t, "abnormal", map[string]uint64{}, abnormalOf(j.ranks))
		checkConserved(t, j, 1, 0)
	})
}

// removeRank replaces the recordings of a run by those of the other ranks.
func removeRank(t *testing.T, dir string, ranks []*profile.Profile, rank int) {
	t.Helper()
	dir = filepath.Join(dir, "recordings")
	err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755))
	for _, p := range ranks {
		if p.Rank != rank {
			err = errors.Join(err, recordingtest.WriteFile(filepath.Join(dir, filepath.Base(p.Source)), p))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestConservationOfPartOfAJob removes one recording. The check must name its
// rank and judge the other pairs.
func TestConservationOfPartOfAJob(t *testing.T) {
	testenv.At(t, testenv.Quick)
	m := implementations()[0]
	t.Run(m.name, func(t *testing.T) {
		j := m.run(t, 4, m.compile(t, "subcomm"))
		for _, p := range j.ranks {
			if p.Rank == 3 {
				part := filepath.Join(t.TempDir(), "part")
				succeed(t, nil, "cp", "-r", j.dir, part)
				removeRank(t, part, j.ranks, 3)
				c := conservation(t, part)
				// The pair 3 -> 2 is missing, 2 -> 1 and 1 -> 0 are there.
				if c.Verdict != aggregate.PartlyKnown || c.Pairs != 2 {
					t.Errorf("got %+v", c)
				}
				diff(t, "not compared", []aggregate.NotCompared{{Reason: "not recorded", Ranks: "rank 3", Pairs: 1}}, c.NotCompared)
			}
		}
	})
}
