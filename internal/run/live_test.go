package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
)

func TestStopped(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if stopped(child.Process.Pid) {
		t.Error("it runs, and is said to be stopped")
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if stopped(child.Process.Pid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it is not seen to be stopped")
}

// File names with a space and a line break, and of a removed file.
func TestMapped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b\nc")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one.rec", "removed.rec", "other.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		at, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Munmap(at)
	}
	os.Remove(filepath.Join(dir, "removed.rec"))
	files, err := mapped(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range files {
		got[f.path] = true
	}
	if len(files) != 2 || !got[filepath.Join(dir, "one.rec")] || !got[filepath.Join(dir, "removed.rec")] {
		t.Errorf("got %v", got)
	}
	if p, err := readMapped(os.Getpid(), files[0]); p != nil || err == nil && files[0].path == filepath.Join(dir, "removed.rec") {
		t.Errorf("zeros are a recording: %v, %v", p, err)
	}
}

// A process whose id does not exist has ended only if it would be visible from
// here.
func TestOtherNamespace(t *testing.T) {
	own, err := os.Stat("/proc/self/ns/pid")
	host, err2 := os.Hostname()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for namespace, want := range map[uint64]profile.EndState{0: profile.EndGone, inodeOf(own): profile.EndGone, inodeOf(own) + 1: profile.EndUnknown} {
		p := &profile.Profile{Host: host, Pid: 1 << 30, State: profile.Running, PidNamespace: namespace, Source: "none.rec"}
		err := LiveSource{Of: profile.List{p}, Read: time.Now()}.Each(func(p *profile.Profile) error {
			if got := p.Exit.State(); got != want {
				t.Errorf("namespace %d: %s, want %s", namespace, got, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A recording that a process has open for writing is not moved, even if that
// process is not visible.
func TestWrittenStays(t *testing.T) {
	spool, dst := newSpool(t), t.TempDir()
	path := filepath.Join(spool, "n-1-1.rec")
	p := rank("a", 0, 1)
	p.State = profile.Running
	if err := recordingtest.WriteFile(path, p); err != nil {
		t.Fatal(err)
	}
	open, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, running := range []bool{true, false} {
		if !running {
			open.Close()
		}
		if got := fetch([]string{path}, dst, nil); got[0].err != nil || got[0].stays != running || exists(path) != running {
			t.Errorf("open: %v; got %+v, the original exists: %v", running, got, exists(path))
		}
	}
}
