package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
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
	for _, want := range []string{name, name + "-2", name + "-3"} {
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
	testenv.Mkdir(t, dir)
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
	testenv.WriteFile(t, filepath.Join(d.Recordings(), "h-1-2.rec"), "")
	refused(true, "already holds a run")
	if again, err := Share(dir); err != nil || again != d {
		t.Errorf("shared: got %s, %v", again, err)
	}
}

// A run of which nothing was recorded is replaced once it has ended, and only then.
func TestCreateAtEmptyRun(t *testing.T) {
	for _, test := range []struct {
		name, info, file string
		replaced         bool
	}{
		{"ended", `{"exit_status":1}`, "", true},
		{"ended, with a note", `{"exit_status":0}`, "recordings/h-1-2.wrong-mpi", true},
		{"not ended", `{}`, "", false},
		{"lost", `{"exit_status":1,"lost":["h-1-2.rec"]}`, "", false},
		{"on another node", `{"exit_status":1,"spool":"/tmp/s","uncollected":["n1:/tmp/s/h-1-2.rec"]}`, "", false},
		{"recorded", `{"exit_status":1}`, "recordings/h-1-2.rec", false},
		{"only merged files are left", `{"exit_status":0}`, "profile.arrow", false},
	} {
		dir := t.TempDir()
		testenv.Mkdir(t, Dir(dir).Recordings())
		testenv.WriteFile(t, filepath.Join(dir, "run.json"), test.info)
		if test.file != "" {
			testenv.WriteFile(t, filepath.Join(dir, test.file), "")
		}
		d, err := CreateAt(dir)
		if (err == nil) != test.replaced {
			t.Errorf("%s: got %v", test.name, err)
		}
		if entries, _ := os.ReadDir(d.Recordings()); test.replaced && len(entries) > 0 {
			t.Errorf("%s: %v is left", test.name, entries)
		}
		if Exists(filepath.Join(dir, "run.json")) == test.replaced {
			t.Errorf("%s: run.json of the earlier run: %v", test.name, !test.replaced)
		}
	}
}

// TestCreateAtOnce checks that one of many processes that ask for a directory
// at the same time gets it.
func TestCreateAtOnce(t *testing.T) {
	for round := range 50 {
		dir := filepath.Join(t.TempDir(), "run")
		if round%2 == 1 {
			testenv.Mkdir(t, Dir(dir).Recordings())
			testenv.WriteFile(t, filepath.Join(dir, "run.json"), `{"exit_status":1}`)
		}
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

// newSpool makes a spool and returns its path.
func newSpool(t *testing.T) string {
	t.Helper()
	s, err := NewSpool(t.TempDir())
	testenv.NoError(t, err)
	return s.Dir
}

// A directory that NewSpool would not have made is not read, whoever names it in
// run.json.
func TestSpoolOfOthers(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	testenv.NoError(t, err)
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
		err := errors.Join(recordingtest.WriteFile(filepath.Join(spool, "a-1-1.rec"), jobs.Rank("a", 0, 1)),
			os.Symlink("program\nlibrary", filepath.Join(spool, "n-1-1"+wrongMPISuffix)))
		named, changed := change(spool)
		if err = errors.Join(err, changed, d.WriteInfo(&Info{Spool: named})); err != nil {
			t.Fatal(err)
		}
		files, err := d.RecordingFiles()
		if dir, n := d.spooled(); dir != "" || n != 0 || len(files) != 0 || err != nil || len(d.WrongMPI()) != 0 {
			t.Errorf("%s: %d recordings in %q, %q, %v, %v", what, n, dir, files, err, d.WrongMPI())
		}
	}
}

func TestRecordingsInSpool(t *testing.T) {
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	testenv.NoError(t, err)
	spool := newSpool(t)
	home := filepath.Join(d.Recordings(), "c-1-1.rec")
	for _, file := range []string{home, filepath.Join(d.Recordings(), "a-1-1.rec"), filepath.Join(spool, "a-1-1.rec"), filepath.Join(spool, "b-1-1.rec")} {
		testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	testenv.NoError(t, d.WriteInfo(&Info{Spool: spool}))
	if dir, n := d.spooled(); dir != spool || n != 2 {
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
		testenv.WriteFile(t, d.Info(), text)
		info, err := d.ReadInfo()
		if err == nil || !strings.Contains(err.Error(), d.Info()) || info == nil || info.Version != "" {
			t.Errorf("%s: got %v, %v; want an error that names the file, and an empty description", text, info, err)
		}
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
		testenv.NoError(t, os.WriteFile(d.Info(), text, 0o600))
		info, err := d.ReadInfo()
		if info == nil || err != nil && !strings.Contains(err.Error(), d.Info()) {
			t.Fatalf("got %v, %v", info, err)
		}
		if err != nil {
			return
		}
		one := rewritten(t, d, info)
		again, err := d.ReadInfo()
		testenv.NoError(t, err)
		if two := rewritten(t, d, again); one != two {
			t.Errorf("written as %s, read and written as %s", one, two)
		}
	})
}

func rewritten(t *testing.T, d Dir, info *Info) string {
	t.Helper()
	testenv.NoError(t, d.WriteInfo(info))
	text := testenv.ReadFile(t, d.Info())
	return string(text)
}
