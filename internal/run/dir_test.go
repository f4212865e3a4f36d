package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

func TestName(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, test := range []struct{ job, want string }{
		{"", "mpitrace-app-20260102-150405"},
		{"4711.0", "mpitrace-app-4711.0"},
	} {
		if got := Name("app", test.job, now); got != test.want {
			t.Errorf("job %q: got %s, want %s", test.job, got, test.want)
		}
	}
}

func TestCreateCountsUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mpitrace-app-1")
	for _, want := range []string{name, name + ".2", name + ".3"} {
		d, err := Create(name)
		if err != nil || string(d) != want {
			t.Fatalf("got %s, %v; want %s", d, err, want)
		}
		if info, err := os.Stat(d.Recordings()); err != nil || !info.IsDir() {
			t.Errorf("no place for recordings: %v", err)
		}
	}
}

func TestCreateAt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]", "run")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	d, err := CreateAt(dir)
	if err != nil {
		t.Fatalf("a directory without a run is refused: %v", err)
	}
	refused := func(used bool, want string) {
		t.Helper()
		var holds *ExistsError
		if _, err := CreateAt(dir); !errors.As(err, &holds) || holds.Used != used || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an ExistsError that says %q", err, want)
		}
	}
	refused(false, "in use by a run that is starting")
	if err := os.WriteFile(filepath.Join(d.Recordings(), "h-1-2.rec"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(true, "already holds a run")
	if again, err := Share(dir); err != nil || again != d {
		t.Errorf("shared: got %s, %v", again, err)
	}
}

// TestCreateAtOnce checks that one of many processes that ask for a directory
// at the same time gets it.
func TestCreateAtOnce(t *testing.T) {
	for range 50 {
		dir := filepath.Join(t.TempDir(), "run")
		const users = 16
		results := make(chan error, users)
		begin := make(chan struct{})
		for range users {
			go func() {
				<-begin
				_, err := CreateAt(dir)
				results <- err
			}()
		}
		close(begin)
		got := 0
		for range users {
			err := <-results
			var holds *ExistsError
			switch {
			case err == nil:
				got++
			case !errors.As(err, &holds):
				t.Errorf("got %v, want an ExistsError", err)
			}
		}
		if got != 1 {
			t.Fatalf("%d of %d got the directory, want 1", got, users)
		}
	}
}

func rank(run string, rank int, start int64) *profile.Profile {
	return &profile.Profile{Run: run, Rank: rank, Size: 2, Start: start, Program: "/opt/bin/" + run + "prog"}
}

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
	if err != nil {
		t.Fatal(err)
	}
	return ranks
}

func TestJobs(t *testing.T) {
	// Two jobs with the same name from their launcher and one with another name
	// between them, in no order. One process never learned its rank.
	ps := profile.List{rank("a", 1, 31), rank("b", 0, 20), rank("a", 0, 11), rank("a", 0, 30), rank("a", 1, 10), rank("a", -1, 32)}
	files := t.TempDir()
	var paths []string
	for i, p := range ps {
		path := filepath.Join(files, fmt.Sprintf("%d.rec", i))
		p.State = profile.State(1 + i%2)
		if err := recordingtest.WriteFile(path, p); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	source, err := OpenSource(ps, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]*Run{"source": source, "heads": OpenRecordings(paths, Heads, nil), "whole": OpenRecordings(paths, Whole, nil)} {
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
		if name == "source" {
			want = [][]int{{0, 1}, {0}, {1, 0, -1}} // in the order that they come in
		}
		if len(run.Damaged) > 0 || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: ranks %v, want %v; damaged: %v", name, got, want, run.Damaged)
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
	run, err := OpenSource(profile.List{rank("", 0, 1), rank("", 1, 1), rank("", 0, 5)}, nil)
	if err != nil || len(run.Jobs) != 2 || run.Jobs[0].Run != "job1" || run.Jobs[1].Run != "job2" {
		t.Errorf("got %d jobs, %v", len(run.Jobs), err)
	}
	if run, err = OpenSource(profile.List{rank("", 0, 1)}, nil); err != nil || run.Jobs[0].Stem != "prog" {
		t.Errorf("got %v, %v", run.Jobs, err)
	}
}

// Recordings of running processes are used as they are, and damaged ones are
// reported.
func TestOpenRecordings(t *testing.T) {
	dir := t.TempDir()
	live, cut, stray := filepath.Join(dir, "live.rec"), filepath.Join(dir, "cut.rec"), filepath.Join(dir, "stray.rec")
	p := rank("a", 0, 1)
	p.State = profile.Running
	for _, path := range []string{live, cut} {
		if err := recordingtest.WriteFile(path, p); err != nil {
			t.Fatal(err)
		}
		p.Rank++
	}
	if err := errors.Join(os.Truncate(cut, 5000), os.WriteFile(stray, []byte("hello"), 0o666)); err != nil {
		t.Fatal(err)
	}
	run := OpenRecordings([]string{live, cut, stray}, Whole, nil)
	if len(run.Damaged) != 2 || !strings.Contains(run.Damaged[0].Error(), cut) || !strings.Contains(run.Damaged[1].Error(), stray) {
		t.Errorf("damaged: %v", run.Damaged)
	}
	if err := os.Remove(live); err != nil {
		t.Fatal(err)
	}
	if len(run.Jobs) == 0 || ranksOf(t, run.Jobs[0])[0] != 0 {
		t.Errorf("got %v", run.Jobs)
	}
}

// newSpool makes a spool and returns its path.
func newSpool(t *testing.T) string {
	t.Helper()
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s.Dir
}

// A directory that NewSpool would not have made is not read, whoever names it in
// run.json.
func TestSpoolOfOthers(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(spool string) (string, error){
		"a directory of another name": func(spool string) (string, error) {
			other := filepath.Join(filepath.Dir(spool), "private")
			return other, os.Rename(spool, other)
		},
		"a link to a spool": func(spool string) (string, error) {
			link := filepath.Join(t.TempDir(), filepath.Base(spool))
			return link, os.Symlink(spool, link)
		},
		"others can write": func(spool string) (string, error) { return spool, os.Chmod(spool, 0o777) },
		"a relative path":  func(spool string) (string, error) { return filepath.Base(spool), os.Chdir(filepath.Dir(spool)) },
	} {
		t.Chdir(t.TempDir()) // back at the end of the test
		spool := newSpool(t)
		err := errors.Join(recordingtest.WriteFile(filepath.Join(spool, "a-1-1.rec"), rank("a", 0, 1)),
			os.Symlink("program\nlibrary", filepath.Join(spool, "n-1-1"+wrongMPISuffix)))
		named, changed := change(spool)
		if err = errors.Join(err, changed, d.WriteInfo(&Info{Spool: named})); err != nil {
			t.Fatal(err)
		}
		files, err := d.RecordingFiles()
		if dir, n := d.Spooled(); dir != "" || n != 0 || len(files) != 0 || err != nil || len(d.WrongMPI()) != 0 {
			t.Errorf("%s: %d recordings in %q, %q, %v, %v", what, n, dir, files, err, d.WrongMPI())
		}
	}
}

func TestRecordingsInSpool(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	spool := newSpool(t)
	home := filepath.Join(d.Recordings(), "c-1-1.rec")
	for _, file := range []string{home, filepath.Join(d.Recordings(), "a-1-1.rec"), filepath.Join(spool, "a-1-1.rec"), filepath.Join(spool, "b-1-1.rec")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.WriteInfo(&Info{Spool: spool}); err != nil {
		t.Fatal(err)
	}
	if dir, n := d.Spooled(); dir != spool || n != 2 {
		t.Errorf("%d recordings in %q, want 2 in %q", n, dir, spool)
	}
	// A recording in the spool is newer than its copy.
	want := []string{home, filepath.Join(spool, "a-1-1.rec"), filepath.Join(spool, "b-1-1.rec")}
	if got, err := d.RecordingFiles(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestReadInfo(t *testing.T) {
	d := Dir(t.TempDir())
	if info, err := d.ReadInfo(); err != nil || info == nil {
		t.Errorf("without a file: got %v, %v", info, err)
	}
	for _, text := range []string{"junk", `{"mpitrace": "0.1", "jobs": 3}`} {
		if err := os.WriteFile(d.Info(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := d.ReadInfo()
		if err == nil || !strings.Contains(err.Error(), d.Info()) || info == nil || info.Version != "" {
			t.Errorf("%s: got %v, %v; want an error that names the file, and an empty description", text, info, err)
		}
	}
}

// Communicators for which one process shares a record are one on all processes,
// whichever is read first.
func TestFoldedCommunicatorsAreOne(t *testing.T) {
	fold := strings.Repeat("f", 32)
	ps := profile.List{rank("a", 0, 1), rank("a", 1, 1)}
	for i, p := range ps {
		p.State = profile.Finalized
		p.Comms = []profile.Comm{{ID: strings.Repeat(strconv.Itoa(i+1), 32), Fold: fold, Folded: uint64(i), Parent: -1,
			Rank: i, Members: profile.Group{Stride: 1, N: 2}}}
	}
	var paths []string
	for i, p := range ps {
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprintf("%d.rec", i)))
		if err := recordingtest.WriteFile(paths[i], p); err != nil {
			t.Fatal(err)
		}
	}
	source, err := OpenSource(ps, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]*Run{"source": source, "heads": OpenRecordings(paths, Heads, nil), "whole": OpenRecordings(paths, Whole, nil)} {
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
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	spool := newSpool(t)
	p := rank("a", 0, 1)
	p.State = profile.Finalized
	path := filepath.Join(spool, "a-1-1.rec")
	if err := errors.Join(recordingtest.WriteFile(path, p), d.WriteInfo(&Info{Spool: spool})); err != nil {
		t.Fatal(err)
	}
	run, err := d.Open(Whole, nil)
	if err != nil || len(run.Jobs) != 1 {
		t.Fatalf("%v, %v", run, err)
	}
	if err := os.Rename(path, filepath.Join(d.Recordings(), "a-1-1.rec")); err != nil {
		t.Fatal(err)
	}
	if ranks := ranksOf(t, run.Jobs[0]); !slices.Equal(ranks, []int{0}) {
		t.Errorf("ranks %v", ranks)
	}
}

// FuzzInfo checks that any run.json is either read and written back unchanged,
// or is an error that names it.
func FuzzInfo(f *testing.F) {
	f.Add([]byte(`{"mpitrace": "0.1", "command": ["mpirun"], "mpi": {"flavour": "mpich"}, "spool": "/dev/shm/x", "exit_status": 3, "jobs": [{"run": "a", "size": 4}]}`))
	f.Add([]byte(`{"start": "2026-01-02T15:04:05Z", "jobs": null, "spool": "[\\"}`))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	d := Dir(f.TempDir())
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(d.Info(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := d.ReadInfo()
		if info == nil || err != nil && !strings.Contains(err.Error(), d.Info()) {
			t.Fatalf("got %v, %v", info, err)
		}
		if err != nil {
			return
		}
		one := rewritten(t, d, info)
		again, err := d.ReadInfo()
		if err != nil {
			t.Fatal(err)
		}
		if two := rewritten(t, d, again); one != two {
			t.Errorf("written as %s, read and written as %s", one, two)
		}
	})
}

func rewritten(t *testing.T, d Dir, info *Info) string {
	t.Helper()
	if err := d.WriteInfo(info); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(d.Info())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Readings of variables are merged if there are any, and are read back when the
// recordings are gone.
func TestMergeReadings(t *testing.T) {
	for name, ps := range map[string][]*profile.Profile{"read": tabletest.Readings("a"), "not read": tabletest.Job("a")} {
		t.Run(name, func(t *testing.T) {
			d, err := Create(filepath.Join(t.TempDir(), "run"))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range ps {
				p.Rows, p.Vectors, p.Abnormal = nil, nil, nil // not all of the fixture's are what recordings hold
				if err := recordingtest.WriteFile(filepath.Join(d.Recordings(), fmt.Sprintf("%d.rec", p.Rank)), p); err != nil {
					t.Fatal(err)
				}
			}
			first := merged(t, d)
			if (first != nil) != (name == "read") {
				t.Fatalf("%d bytes of readings", len(first))
			}
			if err := os.RemoveAll(d.Recordings()); err != nil {
				t.Fatal(err)
			}
			if again := merged(t, d); !bytes.Equal(first, again) {
				t.Errorf("%d bytes of readings once the recordings are gone, %d before", len(again), len(first))
			}
		})
	}
}

// merged merges a run and returns its pvars.arrow; nil if there is none.
func merged(t *testing.T, d Dir) []byte {
	t.Helper()
	run, err := d.Open(Whole, nil)
	if err == nil {
		err = d.Merge(run, nil, new(Info), trace.EstimateClocks)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(d.Pvars())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}
