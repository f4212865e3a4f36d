package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/interpose"
)

// A life describes what one process does (src/peers.c), how often, and in which
// world.
type life struct {
	what     string
	n, world int
	held     memory // memory in addition to that without the library
	recorded int64  // size of the packed recording, bytes
}

// memory holds the memory of a process in KiB: its own; the resident pages of
// the library's file, which the processes of a node share; and what malloc has
// allocated.
type memory struct{ own, library, allocated int }

// lives lists the processes to measure: the usual process, which must be cheap at any size of the
// world, and processes that show what memory grows with.
var lives = []life{
	{what: "halo", n: 26, world: 27}, {what: "halo", n: 26, world: 100_000}, {what: "halo", n: 26, world: 1_000_000},
	{what: "shuffled", n: 26, world: 100_000},
	{what: "peers", n: 100, world: 100_000}, {what: "peers", n: 1_000, world: 100_000}, {what: "peers", n: 10_000, world: 100_000},
	{what: "dups", n: 1, world: 100_000}, {what: "dups", n: 10_000, world: 100_000},
	{what: "threads", n: 1, world: 100}, {what: "threads", n: 1_000, world: 100},
	{what: "together", n: 1, world: 100}, {what: "together", n: 64, world: 100},
	{what: "requests", n: 1_000, world: 100}, {what: "requests", n: 1_000_000, world: 100},
}

// measureLives runs the lives. The stand-in for an MPI has MPICH's handles.
func measureLives(ctx context.Context, dir string, out, log io.Writer) ([]life, error) {
	const cc = "mpicc.mpich"
	if _, err := exec.LookPath(cc); err != nil {
		fmt.Fprintf(log, "no %s: memory is not measured\n", cc)
		return nil, nil
	}
	program, err := buildLife(ctx, cc, dir)
	if err != nil {
		return nil, err
	}
	lib, err := interpose.Build(ctx, interpose.BuildOptions{CC: cc, Log: log})
	if err != nil {
		return nil, err
	}
	found := append([]life(nil), lives...)
	for i := range found {
		if err := found[i].measure(ctx, program, lib, dir); err != nil {
			return nil, err
		}
		l := &found[i]
		fmt.Fprintf(out, "BenchmarkLife/what=%s/n=%d/world=%d 1 %d own-KiB %d library-KiB %d malloc-KiB %d recording-B\n",
			l.what, l.n, l.world, l.held.own, l.held.library, l.held.allocated, l.recorded)
	}
	return found, nil
}

// buildLife compiles the program with the MPI's header and links it with the
// stand-in.
func buildLife(ctx context.Context, cc, dir string) (program string, err error) {
	program = filepath.Join(dir, "peers")
	for _, line := range [][]string{
		{cc, "-O1", "-fPIC", "-c", filepath.Join(dir, "src", "world.c"), "-o", filepath.Join(dir, "world.o")},
		{cc, "-O1", "-c", filepath.Join(dir, "src", "peers.c"), "-o", filepath.Join(dir, "peers.o")},
		{"cc", "-shared", filepath.Join(dir, "world.o"), "-o", filepath.Join(dir, "libworld.so")},
		{"cc", filepath.Join(dir, "peers.o"), "-o", program, "-L" + dir, "-lworld", "-Wl,-rpath," + dir, "-lpthread"},
	} {
		if err := command(ctx, line...); err != nil {
			return "", err
		}
	}
	return program, nil
}

func (l *life) measure(ctx context.Context, program, lib, dir string) error {
	record, err := os.MkdirTemp("/dev/shm", "mpitrace-life-")
	if err != nil {
		record, err = os.MkdirTemp(dir, "life-")
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(record)
	line := []string{program, l.what, strconv.Itoa(l.n)}
	world := "WORLD_SIZE=" + strconv.Itoa(l.world)
	alone, err := held(ctx, []string{world}, line)
	if err != nil {
		return err
	}
	with, err := held(ctx, []string{world, "MPITRACE_DIR=" + record, "MPITRACE_SPOOL_DIR=" + record, "LD_PRELOAD=" + lib}, line)
	if err != nil {
		return err
	}
	l.held = memory{with.own - alone.own, with.library - alone.library, with.allocated - alone.allocated}
	l.recorded, err = packedSize(record)
	return err
}

func held(ctx context.Context, env, line []string) (m memory, err error) {
	text, err := measure.Output(ctx, "", env, line...)
	if err == nil {
		_, err = fmt.Sscanf(string(text), "held: %d %d %d", &m.own, &m.library, &m.allocated)
	}
	return m, err
}

// packedSize returns the size in bytes of the only recording in a spool after packing.
func packedSize(spool string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(spool, "*.rec"))
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("%d recordings, want one (%v)", len(files), err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		return 0, err
	}
	var packed bytes.Buffer
	err = recording.Pack(&packed, filepath.Base(files[0]), bytes.NewReader(raw), int64(len(raw)), nil)
	return int64(packed.Len()), err
}

func writeLives(out io.Writer, all []life) error {
	fmt.Fprint(out, "\nHeld by a process at its end, and its recording as it is brought home, in KiB:\n\n"+
		"| what it did | world | own | library, shared | malloc | recording |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range all {
		fmt.Fprintf(out, "| %s %d | %d | %d | %d | %d | %.1f |\n", l.what, l.n, l.world, l.held.own, l.held.library, l.held.allocated, float64(l.recorded)/1024)
	}
	return nil
}
