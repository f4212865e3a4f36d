package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func ranksOf(t *testing.T, j *Job) []int {
	t.Helper()
	var ranks []int
	err := j.Each(func(p *profile.Profile) error {
		if p.Run != j.Run {
			t.Errorf("a process of %s in %s", p.Run, j.Run)
		}
		ranks = append(ranks, p.Rank)
		return nil
	})
	testenv.NoError(t, err)
	return ranks
}

// openedRecordings opens recordings, one of which may be none.
func openedRecordings(files []string, depth Depth) *Run {
	r := &Run{}
	r.openRecordings(files, &Options{Depth: depth, Room: NewRoom()})
	return r
}

func TestJobs(t *testing.T) {
	// Two jobs with the same name from their launcher and one with another name
	// between them, in no order. One process never learned its rank.
	ps := profile.List{jobs.Rank("a", 1, 31), jobs.Rank("b", 0, 20), jobs.Rank("a", 0, 11), jobs.Rank("a", 0, 30), jobs.Rank("a", 1, 10), jobs.Rank("a", -1, 32)}
	files := t.TempDir()
	var paths []string
	for i, p := range ps {
		path := filepath.Join(files, fmt.Sprintf("%d.rec", i))
		p.State = profile.State(1 + i%2)
		recordingtest.Record(t, path, p)
		paths = append(paths, path)
	}
	source, err := Split(ps, Options{})
	testenv.NoError(t, err)
	for name, run := range map[string]*Run{"source": source, "heads": openedRecordings(paths, Heads), "whole": openedRecordings(paths, Whole)} {
		var got [][]int
		var runs, stems []string
		for _, j := range run.Jobs {
			ranks := ranksOf(t, j)
			if again := ranksOf(t, j); !slices.Equal(ranks, again) {
				t.Errorf("%s: the second time %v, was %v", name, again, ranks)
			}
			got, runs, stems = append(got, ranks), append(runs, j.Run), append(stems, j.Stem)
			if j.Size != 2 || j.Processes != len(ranks) {
				t.Errorf("%s: %s has size %d and %d processes", name, j.Run, j.Size, j.Processes)
			}
		}
		want := [][]int{{0, 1}, {0}, {-1, 0, 1}}
		if len(run.Damage()) > 0 || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: ranks %v, want %v; damaged: %v", name, got, want, run.Damage())
		}
		if want := []string{"a", "b", "a-2"}; !slices.Equal(runs, want) {
			t.Errorf("%s: runs %q, want %q", name, runs, want)
		}
		if want := []string{"aprog-job1", "bprog-job2", "aprog-job3"}; !slices.Equal(stems, want) {
			t.Errorf("%s: stems %q, want %q", name, stems, want)
		}
	}
}

func TestJobWithoutName(t *testing.T) {
	run, err := Split(profile.List{jobs.Rank("", 0, 1), jobs.Rank("", 1, 1), jobs.Rank("", 0, 5)}, Options{})
	if err != nil || len(run.Jobs) != 2 || run.Jobs[0].Run != "job1" || run.Jobs[1].Run != "job2" {
		t.Errorf("got %d jobs, %v", len(run.Jobs), err)
	}
	if run, err = Split(profile.List{jobs.Rank("", 0, 1)}, Options{}); err != nil || run.Jobs[0].Stem != "prog" {
		t.Errorf("got %v, %v", run.Jobs, err)
	}
}

// Recordings of running processes are used as they are, and damaged ones are
// reported.
func TestOpenRecordings(t *testing.T) {
	dir := t.TempDir()
	live, cut, stray := filepath.Join(dir, "live.rec"), filepath.Join(dir, "cut.rec"), filepath.Join(dir, "stray.rec")
	p := jobs.Rank("a", 0, 1)
	p.State = profile.Running
	for _, path := range []string{live, cut} {
		recordingtest.Record(t, path, p)
		p.Rank++
	}
	testenv.NoError(t, errors.Join(os.Truncate(cut, 5000), os.WriteFile(stray, []byte("hello"), 0o666)))
	run := openedRecordings([]string{live, cut, stray}, Whole)
	if len(run.Damage()) != 2 || !strings.Contains(run.Damage()[0].Error(), cut) || !strings.Contains(run.Damage()[1].Error(), stray) {
		t.Errorf("damaged: %v", run.Damage())
	}
	testenv.NoError(t, os.Remove(live))
	if len(run.Jobs) == 0 || ranksOf(t, run.Jobs[0])[0] != 0 {
		t.Errorf("got %v", run.Jobs)
	}
}

// Communicators for which one process shares a record are one on all processes,
// whichever is read first.
func TestFoldedCommunicatorsAreOne(t *testing.T) {
	fold := strings.Repeat("f", 32)
	ps := profile.List{jobs.Rank("a", 0, 1), jobs.Rank("a", 1, 1)}
	for i, p := range ps {
		p.State = profile.Finalized
		p.Comms = []profile.Comm{{ID: strings.Repeat(strconv.Itoa(i+1), 32), Fold: fold, Folded: uint64(i), Parent: -1,
			Rank: i, Members: profile.Group{Stride: 1, N: 2}}}
	}
	var paths []string
	for i, p := range ps {
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprintf("%d.rec", i)))
		recordingtest.Record(t, paths[i], p)
	}
	listed, err := Split(ps, Options{})
	testenv.NoError(t, err)
	for name, run := range map[string]*Run{"source": listed, "heads": openedRecordings(paths, Heads), "whole": openedRecordings(paths, Whole)} {
		n := 0
		err := run.Each(func(p *profile.Profile) error {
			if n++; p.Comms[0].ID != fold {
				t.Errorf("%s: rank %d has communicator %s", name, p.Rank, p.Comms[0].ID)
			}
			return nil
		})
		if err != nil || n != 2 {
			t.Errorf("%s: %d processes, %v", name, n, err)
		}
	}
}

// A recording that is collected while a report is made is read from its new
// place.
func TestRecordingComesHome(t *testing.T) {
	d := runs.New(t)
	spool := runs.NewSpool(t).Dir
	p := jobs.Rank("a", 0, 1)
	p.State = profile.Finalized
	path := filepath.Join(spool, "a-1-1.rec")
	testenv.NoError(t, errors.Join(recordingtest.WriteFile(path, p), d.WriteInfo(&rundir.Info{Spool: spool})))
	run, err := Open([]string{string(d)}, Options{Depth: Whole})
	if err != nil || len(run.Jobs) != 1 {
		t.Fatalf("%v, %v", run, err)
	}
	testenv.NoError(t, os.Rename(path, filepath.Join(d.Recordings(), "a-1-1.rec")))
	if ranks := ranksOf(t, run.Jobs[0]); !slices.Equal(ranks, []int{0}) {
		t.Errorf("ranks %v", ranks)
	}
}
