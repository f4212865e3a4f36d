package rundir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	d, err := CreateAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateAt(dir); err != nil {
		t.Errorf("a directory without a run is refused: %v", err)
	}
	if err := os.WriteFile(filepath.Join(d.Recordings(), "h-1-2.rec"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var holds *ExistsError
	if _, err := CreateAt(dir); !errors.As(err, &holds) {
		t.Errorf("got %v, want an ExistsError", err)
	}
	if again, err := Share(dir); err != nil || again != d {
		t.Errorf("shared: got %s, %v", again, err)
	}
}

func TestWriteFileWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	broken := errors.New("broken")
	err := writeFile(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Errorf("%d files are left", len(entries))
	}
}

func rank(run string, rank int, start int64) *profile.Profile {
	return &profile.Profile{Run: run, Rank: rank, Size: 2, Start: start, Program: "/opt/bin/" + run + "prog"}
}

func TestJobs(t *testing.T) {
	// Two jobs that their launcher calls the same, one of another name in
	// between, given in no order. One process never knew its rank.
	ps := []*profile.Profile{rank("a", 1, 31), rank("b", 0, 20), rank("a", 0, 11), rank("a", 0, 30), rank("a", 1, 10), rank("a", -1, 32)}
	jobs := Jobs(ps)
	var got [][]int
	var runs []string
	for _, j := range jobs {
		var ranks []int
		for _, p := range j.Profiles {
			ranks = append(ranks, p.Rank)
		}
		got, runs = append(got, ranks), append(runs, j.Run)
	}
	want := [][]int{{0, 1}, {0}, {-1, 0, 1}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	if want := []string{"a", "b", "a-2"}; !slices.Equal(runs, want) {
		t.Errorf("runs %q, want %q", runs, want)
	}
}

func TestJobWithoutName(t *testing.T) {
	jobs := Jobs([]*profile.Profile{rank("", 0, 1), rank("", 1, 1), rank("", 0, 5)})
	if len(jobs) != 2 || jobs[0].Run != "job1" || jobs[1].Run != "job2" {
		t.Errorf("got %d jobs", len(jobs))
	}
}

func TestRecordingsInSpool(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	spool := t.TempDir()
	for _, file := range []string{filepath.Join(d.Recordings(), "a-1-1.rec"), filepath.Join(spool, "a-1-1.rec"), filepath.Join(spool, "b-1-1.rec")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.WriteInfo(&Info{Spool: spool}); err != nil {
		t.Fatal(err)
	}
	if dir, n := d.Spooled(); dir != spool || n != 1 {
		t.Errorf("%d recordings in %q, want 1 in %q", n, dir, spool)
	}
	want := []string{filepath.Join(d.Recordings(), "a-1-1.rec"), filepath.Join(spool, "b-1-1.rec")}
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
