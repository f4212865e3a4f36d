package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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
