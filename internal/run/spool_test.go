package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestSpoolCollect(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := OwnDirectory(s.Dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"n1-1-5.rec": "one", "n1-2-6.rec": "two", "other": "x"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dst := t.TempDir()
	if left, err := s.Collect(dst, 0); len(left) > 0 || err != nil {
		t.Fatalf("left %q, %v", left, err)
	}
	if files, _ := filepath.Glob(filepath.Join(dst, "*")); len(files) != 2 {
		t.Errorf("collected %q, want two recordings", files)
	}
	if got, _ := os.ReadFile(filepath.Join(dst, "n1-2-6.rec")); string(got) != "two" {
		t.Errorf("recording holds %q", got)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("the spool is still there: %v", err)
	}
}

func TestSpoolCollectKeepsWhatItCannotCopy(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a-1-1.rec", "b-1-1.rec"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dst := t.TempDir()
	if err := os.Mkdir(filepath.Join(dst, "a-1-1.rec"), 0o755); err != nil {
		t.Fatal(err)
	}
	left, err := s.Collect(dst, 0)
	if want := filepath.Join(s.Dir, "a-1-1.rec"); err == nil || !strings.Contains(err.Error(), s.Dir) || !slices.Equal(left, []string{want}) {
		t.Fatalf("left %q, %v; want %s and an error that names the spool", left, err, want)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "a-1-1.rec")); err != nil {
		t.Error("the recording that could not be copied is lost")
	}
	if entries, _ := os.ReadDir(dst); len(entries) != 2 {
		t.Errorf("%d files in the run directory, want no partial one", len(entries))
	}
}

func TestSpoolKeepsRecordingInUse(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("host-with-dash-%d-1.rec", os.Getpid())
	path, unmap := mapFile(t, s, name)
	const wait = 200 * time.Millisecond
	start, dst := time.Now(), t.TempDir()
	left, err := s.Collect(dst, wait)
	if err != nil || !slices.Equal(left, []string{path}) {
		t.Errorf("left %q, %v; want what is mapped", left, err)
	}
	if waited := time.Since(start); waited < wait {
		t.Errorf("waited %v only", waited)
	}
	if _, err := os.Stat(filepath.Join(dst, name)); err != nil {
		t.Errorf("no copy: %v", err)
	}
	unmap()
	if left, err := s.Collect(dst, 0); len(left) > 0 || err != nil {
		t.Errorf("left %q, %v after the process was done", left, err)
	}
}

// mapFile makes a file in the spool and maps it.
func mapFile(t *testing.T, s *Spool, name string) (path string, unmap func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(s.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	return f.Name(), func() { syscall.Munmap(mem) }
}

// A process in a container has another process id there than here.
func TestSpoolKeepsRecordingOfContainer(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, unmap := mapFile(t, s, "host-1-7.rec")
	defer unmap()
	for range 2 { // the first takes nothing away
		if left, err := s.Collect(t.TempDir(), 0); err != nil || !slices.Equal(left, []string{path}) {
			t.Errorf("left %q, %v; want what is mapped", left, err)
		}
	}
}

// A recording that begins after the spool was read stays in it. So does a spool
// that cannot be read.
func TestSpoolRemove(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	late, other := filepath.Join(s.Dir, "host-5-9.rec"), filepath.Join(s.Dir, "other")
	for _, path := range []string{late, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := s.remove(); err != nil || !slices.Equal(left, []string{late}) {
		t.Errorf("left %q, %v; want %s", left, err, late)
	}
	os.Remove(late)
	if left, err := s.remove(); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v of nothing", left, err)
	}
	if left, err := s.Collect(t.TempDir(), 0); !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
		t.Errorf("left %q, %v of a spool that is not there; want nothing, and an error that it is gone", left, err)
	}
}

func TestNewSpool(t *testing.T) {
	if s, err := NewSpool("run"); s != nil || err != nil {
		t.Errorf("run: got %v, %v, want no spool", s, err)
	}
	if _, err := NewSpool("/no/such"); err == nil {
		t.Error("a spool in a missing directory")
	}
	s, err := NewSpool("shm")
	if err != nil {
		testenv.Skip(t, "no shared memory here: "+err.Error())
	}
	if !strings.HasPrefix(s.Dir, sharedMemory+"/mpitrace-") {
		t.Errorf("spool is %s", s.Dir)
	}
	if _, err := s.Collect(t.TempDir(), 0); err != nil {
		t.Error(err)
	}
}

// Recordings of ended processes of other nodes are packed in place. Those still
// in use stay unchanged, and none is packed twice.
func TestPackAll(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"ended.rec": "", "runs.rec": ""}
	for name, state := range map[string]profile.State{"ended.rec": profile.Finalized, "runs.rec": profile.Running} {
		path := filepath.Join(dir, name)
		if err := recordingtest.WriteFile(path, &profile.Profile{Size: 1, State: state, Threads: 1}); err != nil {
			t.Fatal(err)
		}
		files[name] = path
	}
	size := func(name string) int64 {
		info, err := os.Stat(files[name])
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	ended, runs := size("ended.rec"), size("runs.rec")
	PackAll(dir)
	once := size("ended.rec")
	PackAll(dir)
	if once*10 > ended || size("ended.rec") != once || size("runs.rec") != runs {
		t.Errorf("ended: %d bytes, packed %d, again %d; running: %d, then %d", ended, once, size("ended.rec"), runs, size("runs.rec"))
	}
	if p, err := recording.ReadFile(files["ended.rec"]); err != nil || p.State != profile.Finalized || len(p.Problems) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
