package collect

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
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestSpoolCollect(t *testing.T) {
	s := runs.NewSpool(t)
	testenv.NoError(t, atomicfile.CheckOwnDirectory(s.Dir))
	want := map[string]*profile.Profile{"n1-1-5.rec": {Rank: 0, Size: 2, State: profile.Finalized, Threads: 1, Run: "job"},
		"n1-2-6.rec": {Rank: 1, Size: 2, State: profile.Running, Threads: 1, Run: "job"}}
	for name, p := range want {
		recordingtest.Record(t, filepath.Join(s.Dir, name), p)
	}
	testenv.WriteFile(t, filepath.Join(s.Dir, "other"), "x")
	d := runs.New(t)
	if left, err := Spool(s, d.Recordings(), 0); len(left) > 0 || err != nil {
		t.Fatalf("left %q, %v", left, err)
	}
	files, err := d.RecordingFiles()
	if containers := filesIn(t, d.Recordings()); err != nil || len(files) != 2 || len(containers) != 1 {
		t.Fatalf("collected %q in %q, %v; want two recordings in one container", files, containers, err)
	}
	for _, file := range files {
		p, err := recording.ReadFile(file)
		testenv.NoError(t, err)
		if w := want[filepath.Base(file)]; w == nil || p.Rank != w.Rank || p.State != w.State || p.Run != "job" {
			t.Errorf("%s: %+v", file, p)
		}
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("the spool is still there: %v", err)
	}
}

// filesIn returns the names of the files in a directory.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testenv.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// If the container cannot be written, or a recording not be read, nothing is
// lost: what is not in the run directory is still in the spool.
func TestSpoolCollectKeepsWhatItCannotCopy(t *testing.T) {
	s := runs.NewSpool(t)
	for _, name := range []string{"a-1-1.rec", "b-1-1.rec"} {
		testenv.WriteFile(t, filepath.Join(s.Dir, name), "")
	}
	dst := filepath.Join(t.TempDir(), "later")
	left, err := Spool(s, dst, 0)
	if want := []string{filepath.Join(s.Dir, "a-1-1.rec"), filepath.Join(s.Dir, "b-1-1.rec")}; err == nil ||
		!strings.Contains(err.Error(), s.Dir) || strings.Count(err.Error(), "no such file") != 1 || !slices.Equal(left, want) {
		t.Fatalf("left %q, %v; want both and one error that names the spool", left, err)
	}
	if names := filesIn(t, s.Dir); len(names) != 2 {
		t.Errorf("%q are left", names)
	}
	testenv.NoError(t, os.Mkdir(dst, 0o700))
	const odd = "c-x-1.rec" // not the name of a recording
	testenv.WriteFile(t, filepath.Join(s.Dir, odd), "")
	left, err = Spool(s, dst, 0)
	if want := filepath.Join(s.Dir, odd); err == nil || !strings.Contains(err.Error(), s.Dir) || !slices.Equal(left, []string{want}) {
		t.Fatalf("left %q, %v; want %s and an error that names the spool", left, err, want)
	}
	if names := filesIn(t, dst); len(names) != 1 {
		t.Errorf("%q in the run directory, want one container", names)
	}
}

func TestSpoolKeepsRecordingInUse(t *testing.T) {
	s := runs.NewSpool(t)
	name := fmt.Sprintf("host-with-dash-%d-1.rec", os.Getpid())
	path, unmap := mapFile(t, s, name)
	const wait = 200 * time.Millisecond
	start, dst := time.Now(), t.TempDir()
	left, err := Spool(s, dst, wait)
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
	if left, err := Spool(s, dst, 0); len(left) > 0 || err != nil {
		t.Errorf("left %q, %v after the process was done", left, err)
	}
	if names := filesIn(t, dst); len(names) != 1 || !strings.HasSuffix(names[0], recording.ContainerSuffix) {
		t.Errorf("%q in the run directory, want the container only: the copy is older", names)
	}
}

// mapFile makes a file in the spool and maps it.
func mapFile(t *testing.T, s *rundir.Spool, name string) (path string, unmap func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(s.Dir, name))
	testenv.NoError(t, err)
	defer f.Close()
	testenv.NoError(t, f.Truncate(4096))
	mem, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	testenv.NoError(t, err)
	return f.Name(), func() { syscall.Munmap(mem) }
}

// A process in a container has another process id there than here.
func TestSpoolKeepsRecordingOfContainer(t *testing.T) {
	s := runs.NewSpool(t)
	path, unmap := mapFile(t, s, "host-1-7.rec")
	defer unmap()
	for range 2 { // the first takes nothing away
		if left, err := Spool(s, t.TempDir(), 0); err != nil || !slices.Equal(left, []string{path}) {
			t.Errorf("left %q, %v; want what is mapped", left, err)
		}
	}
}

// A recording that begins after the spool was read stays in it. So does a spool
// that cannot be read.
func TestSpoolRemove(t *testing.T) {
	s := runs.NewSpool(t)
	late, other := filepath.Join(s.Dir, "host-5-9.rec"), filepath.Join(s.Dir, "other")
	for _, path := range []string{late, other} {
		testenv.WriteFile(t, path, "")
	}
	if left, err := removeSpool(s); err != nil || !slices.Equal(left, []string{late}) {
		t.Errorf("left %q, %v; want %s", left, err, late)
	}
	os.Remove(late)
	if left, err := removeSpool(s); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v of nothing", left, err)
	}
	if left, err := Spool(s, t.TempDir(), 0); !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
		t.Errorf("left %q, %v of a spool that is not there; want nothing, and an error that it is gone", left, err)
	}
}

func TestNewSpool(t *testing.T) {
	if s, err := rundir.NewSpool("run"); s != nil || err != nil {
		t.Errorf("run: got %v, %v, want no spool", s, err)
	}
	if _, err := rundir.NewSpool("/no/such"); err == nil {
		t.Error("a spool in a missing directory")
	}
	s, err := rundir.NewSpool("shm")
	if err != nil {
		testenv.Skip(t, "no shared memory here: "+err.Error())
	}
	if !strings.HasPrefix(s.Dir, "/dev/shm/mpitrace-") {
		t.Errorf("spool is %s", s.Dir)
	}
	if _, err := Spool(s, t.TempDir(), 0); err != nil {
		t.Error(err)
	}
}

// Recordings of ended processes that were made in the run directory are packed
// into a container. Those still in use stay unchanged, and none is packed twice.
func TestPackAll(t *testing.T) {
	dir := t.TempDir()
	var ended int64
	for name, state := range map[string]profile.State{"ended.rec": profile.Finalized, "too.rec": profile.Finalized, "runs.rec": profile.Running} {
		path := filepath.Join(dir, name)
		recordingtest.Record(t, path, &profile.Profile{Size: 1, State: state, Threads: 1})
		info, err := os.Stat(path)
		testenv.NoError(t, err)
		ended = info.Size()
	}
	PackAll(dir)
	once := filesIn(t, dir)
	PackAll(dir)
	if again := filesIn(t, dir); len(once) != 2 || !slices.Contains(once, "runs.rec") || !slices.Equal(once, again) {
		t.Fatalf("%q, then %q; want one container and what runs", once, again)
	}
	packed := rundir.Contained(dir)
	if len(packed) != 2 {
		t.Fatalf("%q in the container", packed)
	}
	for _, path := range packed {
		if p, err := recording.ReadFile(path); err != nil || p.State != profile.Finalized || len(p.Problems) > 0 {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if info, err := os.Stat(recording.FileOf(packed[0])); err != nil || info.Size()*10 > ended {
		t.Errorf("%d bytes of a recording, packed %d, %v", ended, info.Size(), err)
	}
}

// mpitrace may be killed after it wrote the container and before it removed the
// spool: each recording is found once, and the next Collect ends the work.
func TestSpoolCollectInterrupted(t *testing.T) {
	s := runs.NewSpool(t)
	d := runs.New(t)
	testenv.NoError(t, d.WriteInfo(&rundir.Info{Host: "n1", Spool: s.Dir}))
	for rank := range 3 {
		p := &profile.Profile{Rank: rank, Size: 3, State: profile.Running, Threads: 1, Run: "job"}
		recordingtest.Record(t, filepath.Join(s.Dir, fmt.Sprintf("n1-%d-5.rec", rank+1<<22)), p)
	}
	ranks := func() []int {
		files, err := d.RecordingFiles()
		testenv.NoError(t, err)
		return ranksIn(t, files)
	}
	for removed := range 3 { // the number of recordings that were removed from the spool before it was killed
		kept := map[string][]byte{}
		for i, name := range filesIn(t, s.Dir) {
			raw := testenv.ReadFile(t, filepath.Join(s.Dir, name))
			if i >= removed {
				kept[name] = raw
			}
		}
		if left, err := Spool(s, d.Recordings(), 0); len(left) > 0 || err != nil {
			t.Fatalf("left %q, %v", left, err)
		}
		testenv.NoError(t, os.Mkdir(s.Dir, 0o700))
		for name, raw := range kept {
			testenv.WriteFile(t, filepath.Join(s.Dir, name), raw)
		}
		if got := ranks(); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%d were removed: ranks %v", removed, got)
		}
	}
	if left, err := Spool(s, d.Recordings(), 0); len(left) > 0 || err != nil || !slices.Equal(ranks(), []int{0, 1, 2}) {
		t.Errorf("left %q, %v, ranks %v", left, err, ranks())
	}
}
