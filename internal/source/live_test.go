package source

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// File names with a space and a line break, and of a removed file.
func TestMapped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b\nc")
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"one.rec", "removed.rec", "other.txt"} {
		path := filepath.Join(dir, name)
		testenv.WriteFile(t, path, make([]byte, 4096))
		f, err := os.Open(path)
		testenv.NoError(t, err)
		defer f.Close()
		at, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
		testenv.NoError(t, err)
		defer syscall.Munmap(at)
	}
	os.Remove(filepath.Join(dir, "removed.rec"))
	files, err := rundir.Mapped(os.Getpid())
	testenv.NoError(t, err)
	got := map[string]bool{}
	for _, f := range files {
		got[f.Path] = true
	}
	if len(files) != 2 || !got[filepath.Join(dir, "one.rec")] || !got[filepath.Join(dir, "removed.rec")] {
		t.Errorf("got %v", got)
	}
	if p, err := readMapped(os.Getpid(), files[0]); p != nil || err == nil && files[0].Path == filepath.Join(dir, "removed.rec") {
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
	for namespace, want := range map[uint64]profile.EndState{0: profile.EndGone, rundir.InodeOf(own): profile.EndGone, rundir.InodeOf(own) + 1: profile.EndUnknown} {
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
