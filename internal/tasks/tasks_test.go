package tasks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("task.%d", i)
	}
	return out
}

// write returns a function that writes the number of the task, and counts.
func write(count *atomic.Int64) func(int, io.Writer) error {
	return func(i int, w io.Writer) error {
		count.Add(1)
		_, err := fmt.Fprint(w, i)
		return err
	}
}

// checkFiles checks that the directory has exactly the files of n tasks.
func checkFiles(t *testing.T, path string, n int) {
	t.Helper()
	d := Open(path, All)
	defer d.Close()
	for i, name := range names(n) {
		err := d.Read(name, func(r *io.SectionReader) error {
			text, err := io.ReadAll(r)
			if want := fmt.Sprint(i); string(text) != want {
				t.Errorf("%s: %q, want %q", name, text, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(path); len(entries) != n {
		t.Errorf("%d files, want %d: %v", len(entries), n, entries)
	}
}

// Several processes do each task once.
func TestShared(t *testing.T) {
	for _, of := range []int{1, 2, 3, 8} {
		path, n := t.TempDir(), 40
		var count atomic.Int64
		var work sync.WaitGroup
		for part := range of {
			work.Go(func() {
				d := Open(path, Share{part, of})
				defer d.Close()
				if err := d.Do(names(n), 2, write(&count), nil); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		checkFiles(t, path, n)
		if count.Load() != int64(n) {
			t.Errorf("%d processes did %d tasks, want %d", of, count.Load(), n)
		}
	}
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		share Share
		want  []int
	}{
		{All, []int{0, 1, 2, 3, 4}},
		{Share{0, 2}, []int{0, 1, 4, 3, 2}},
		{Share{1, 2}, []int{2, 3, 4, 1, 0}},
		{Share{6, 7}, []int{4, 0, 1, 2, 3}},
		{Share{1 << 40, 1 << 41}, []int{2, 3, 4, 0, 1}},
	} {
		d := Open(t.TempDir(), c.share)
		if got := d.order(5); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.share, got, c.want)
		}
		d.Close()
	}
}

// A process that works alone does what others, which never start, do not.
func TestOthersNeverStart(t *testing.T) {
	path := t.TempDir()
	d := Open(path, Share{3, 4})
	defer d.Close()
	testenv.NoError(t, d.Do(names(9), 2, write(new(atomic.Int64)), nil))
	checkFiles(t, path, 9)
}

// After a failure, or the end of a process at any point, the next one does the
// rest only.
func TestContinued(t *testing.T) {
	const n = 6
	for done := range n {
		path := t.TempDir()
		stop := errors.New("stop")
		d := Open(path, All)
		var count atomic.Int64
		err := d.Do(names(n), 1, func(i int, w io.Writer) error {
			if i == done {
				fmt.Fprint(w, "part of ")
				return stop
			}
			return write(&count)(i, w)
		}, nil)
		d.Close()
		if err != stop {
			t.Fatal(err)
		}
		ended := endedProcess(t)
		host, _ := os.Hostname()
		testenv.WriteFile(t, filepath.Join(path, "task.5.claim"), claimText(host, ended))
		d = Open(path, All)
		testenv.NoError(t, d.Do(names(n), 2, write(&count), nil))
		d.Close()
		checkFiles(t, path, n)
		if count.Load() != n {
			t.Errorf("stopped in task %d: %d tasks were done, want %d", done, count.Load(), n)
		}
	}
}

// endedProcess returns the id of a process that has ended.
func endedProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	testenv.NoError(t, cmd.Run())
	return cmd.Process.Pid
}

// A claim of another node is respected while it is touched, and ignored when it
// was not touched for some time.
func TestClaimOfAnotherNode(t *testing.T) {
	path := t.TempDir()
	d := Open(path, All)
	defer d.Close()
	claim := filepath.Join(path, "task.0.claim")
	testenv.WriteFile(t, claim, claimText("elsewhere", 1))
	if ok, err := d.claim("task.0"); ok || err != nil {
		t.Fatalf("claimed: %v, %v", ok, err)
	}
	long := time.Now().Add(-2 * patience)
	d.seen[claim] = sighting{d.seen[claim].touched.Add(-time.Second), long}
	if ok, err := d.claim("task.0"); ok || err != nil {
		t.Fatalf("claimed although it was touched since: %v, %v", ok, err)
	}
	d.seen[claim] = sighting{d.seen[claim].touched, long}
	if ok, err := d.claim("task.0"); !ok || err != nil {
		t.Fatalf("not claimed although it was not touched for long: %v, %v", ok, err)
	}
}

// A process waits for the file of another, and then does nothing.
func TestWaits(t *testing.T) {
	path := t.TempDir()
	var count atomic.Int64
	started := make(chan bool)
	var work sync.WaitGroup
	work.Go(func() {
		d := Open(path, All)
		defer d.Close()
		err := d.Do(names(1), 1, func(i int, w io.Writer) error {
			close(started)
			time.Sleep(5 * firstPoll)
			return write(&count)(i, w)
		}, nil)
		if err != nil {
			t.Error(err)
		}
	})
	<-started
	d := Open(path, All)
	defer d.Close()
	if err := d.Do(names(1), 3, write(&count), nil); err != nil {
		t.Error(err)
	}
	work.Wait()
	if count.Load() != 1 {
		t.Errorf("done %d times", count.Load())
	}
}

// The first file stays.
func TestMadeTwice(t *testing.T) {
	path := t.TempDir()
	d := Open(path, All)
	defer d.Close()
	err := d.make("task.0", func(w io.Writer) error {
		if err := d.make("task.0", func(w io.Writer) error { _, err := fmt.Fprint(w, 0); return err }); err != nil {
			return err
		}
		_, err := fmt.Fprint(w, "another")
		return err
	})
	testenv.NoError(t, err)
	checkFiles(t, path, 1)
}

func TestGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks")
	testenv.Mkdir(t, path)
	d := Open(path, All)
	defer d.Close()
	err := d.Do(names(3), 1, func(i int, w io.Writer) error {
		if i == 1 {
			Remove(path)
		}
		return nil
	}, nil)
	if err != ErrGone {
		t.Errorf("in a task: %v", err)
	}
	if err := d.Do(names(1), 1, write(new(atomic.Int64)), nil); err != ErrGone {
		t.Errorf("before a task: %v", err)
	}
	if err := d.Read("task.0", nil); err != ErrGone {
		t.Errorf("reading: %v", err)
	}
}

// Damaged files are removed, so that they can be made again.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"zeros":   func(b []byte) []byte { clear(b); return b },
		"cut off": func(b []byte) []byte { return b[:len(b)-1] },
		"changed": func(b []byte) []byte { b[0] ^= 1; return b },
	} {
		path := t.TempDir()
		d := Open(path, All)
		defer d.Close()
		testenv.NoError(t, d.Do(names(1), 1, write(new(atomic.Int64)), nil))
		file := filepath.Join(path, "task.0")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, damage(text), 0o666)
		}
		testenv.NoError(t, err)
		err = d.Read("task.0", func(*io.SectionReader) error { return errors.New("read") })
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
		if d.Has("task.0") {
			t.Errorf("%s: still there", name)
		}
	}
}

// A directory of tasks is one that this user has made, and nobody else can write
// to.
func TestMake(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	testenv.NoError(t, errors.Join(os.Symlink(elsewhere, path("link")), os.Mkdir(path("open"), 0o755), os.WriteFile(path("file"), nil, 0o600)))
	for _, first := range []bool{true, false} {
		if made, err := Make(path("new")); err != nil || made != first {
			t.Errorf("made %v, %v", made, err)
		}
	}
	for _, name := range []string{"link", "open", "file"} {
		if _, err := Make(path(name)); err == nil || !strings.Contains(err.Error(), "is not a private directory of this user") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
