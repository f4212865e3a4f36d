package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// receiving makes a run directory of three ranks that entered MPI_Recv ten
// seconds ago. Rank 0 is this process, rank 1 has ended, and rank 2 is on
// another host.
func receiving(t *testing.T) rundir.Dir {
	t.Helper()
	dir := runs.New(t)
	gone := exec.Command("true")
	testenv.NoError(t, gone.Run())
	host, err := os.Hostname()
	testenv.NoError(t, err)
	now := time.Now().UnixNano()
	for rank, pid := range []int{os.Getpid(), gone.Process.Pid, os.Getpid()} {
		p := &profile.Profile{Run: "stuck", Rank: rank, Size: 3, Host: host, Pid: pid, Program: "/opt/ring", State: profile.Running,
			Start: now - 15e9, InitEnd: now - 14e9, End: now - 11e9, Threads: 1, Library: "MPI",
			Comms: []profile.Comm{{ID: strings.Repeat("0", 31) + "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: profile.Group{Stride: 1, N: 3}}},
			Open: []profile.OpenCall{{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: int32(rank+1) % 3, Source: profile.PeerNone,
				Bytes: 64, Sized: true, Callsite: 0x1000, Start: now - 10e9}}}
		if rank == 2 {
			p.Host = "elsewhere"
		}
		recordingtest.Record(t, filepath.Join(dir.Recordings(), fmt.Sprintf("%s-%d-%d.rec", p.Host, pid, rank)), p)
	}
	return dir
}

// mapFile maps a file into memory, as the library does.
func mapFile(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	testenv.NoError(t, err)
	defer f.Close()
	at, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	testenv.NoError(t, err)
	t.Cleanup(func() { syscall.Munmap(at) })
}

func TestStatus(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	dir := receiving(t)
	before := contents(t, dir)
	got := call("status", string(dir))
	if want := "ring on 3 ranks, run stuck: 1 not finalized and not visible from here, 2 ended without MPI_Finalize\n"; got.code != 0 || !strings.HasPrefix(got.stdout, want) {
		t.Errorf("before it is mapped: got %+v, want %s", got, want)
	}
	files, err := dir.RecordingFiles()
	testenv.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "-0.rec") {
			mapFile(t, file)
		}
	}
	got = call("status", string(dir))
	for _, want := range []string{
		"ago: 1 running, 1 not finalized and not visible from here, 1 ended without MPI_Finalize\n",
		"  rank 1: ended\n    MPI_Recv from 2 in MPI_COMM_WORLD, up to 64 B, at 0x1000, since 5.000 s\n",
		"  rank 0: still in MPI\n    MPI_Recv from 1 in MPI_COMM_WORLD, up to 64 B, at 0x1000, for 10",
		"  rank 2: not finalized; it is not known whether it runs\n    MPI_Recv from 0 in MPI_COMM_WORLD, up to 64 B, at 0x1000, for 10",
		" s if still there\n",
	} {
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	if after := contents(t, dir); after != before {
		t.Errorf("status changed the directory from %q to %q", before, after)
	}
	if got = call("report", "--full", string(dir)); !strings.Contains(got.stdout, "  rank 0: still in MPI\n") || !strings.Contains(got.stdout, "  rank 1: ended\n") {
		t.Errorf("report: got %+v", got)
	}
}

// contents lists all files of a run with their times, to detect any change.
func contents(t *testing.T, dir rundir.Dir) string {
	t.Helper()
	var out strings.Builder
	err := filepath.Walk(string(dir), func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&out, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
		return err
	})
	testenv.NoError(t, err)
	return out.String()
}

func TestStatusOfNode(t *testing.T) {
	dir := receiving(t)
	files, err := dir.RecordingFiles()
	testenv.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file, "-2.rec") {
			mapFile(t, file) // rank 1's recording names another process
		}
	}
	got := call("status", "--node", "--json")
	var out struct{ Jobs []aggregate.JobStatus }
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	for _, s := range out.Jobs {
		if s.Run != "stuck" {
			continue // a job outside of this test
		}
		if s.Running != 1 || s.Expected != 3 || s.Recorded != 1 || s.Missing != "ranks 1-2" || len(s.Processes) != 1 {
			t.Errorf("got %+v", s)
		}
		if c := s.Processes[0].Calls[0]; c.Call != "Recv" || c.WorldPeer != 1 || c.ForS < 10 || c.ForS > 100 {
			t.Errorf("got %+v", c)
		}
		return
	}
	t.Errorf("the job is missing: %+v", got)
}

func TestStatusOfNothing(t *testing.T) {
	empty := t.TempDir()
	for want, args := range map[string][]string{
		"give the directory of a run, or --node": {"--node", empty},
		"accepts at most 1 arg":                  {"a", "b"},
		"no such file or directory":              {filepath.Join(empty, "none")},
		empty + " holds no recording:":           {empty},
	} {
		if got := call(append([]string{"status"}, args...)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: got %+v, want %s", args, got, want)
		}
	}
	if got := call("status", "--node", empty); got.code != exitUsage {
		t.Errorf("both: got %+v", got)
	}
}
