package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// on returns a shell command that runs command on a node, in dir.
func on(c *testenv.Cluster, node, dir, command string) string {
	return fmt.Sprintf("exec %s %s", strings.Join(c.On(node, dir), " "), command)
}

// launchOn returns the command line of a launcher that starts n processes, half
// of them on each node.
func launchOn(c *testenv.Cluster, m mpi, n int) string {
	if m.name == "openmpi" {
		return fmt.Sprintf("mpirun.openmpi --host nodea:%d,nodeb:%d --map-by slot --mca plm_rsh_agent %s --mca oob_tcp_if_include %s --mca btl_tcp_if_include %[4]s -n %d", n/2, n/2, c.Agent, testenv.Link, n)
	}
	return fmt.Sprintf("mpiexec.mpich -hosts nodea,nodeb -ppn %d -iface %s -launcher ssh -launcher-exec %s -n %d", n/2, testenv.Link, c.Agent, n)
}

func TestTwoNodes(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		c, dir := testenv.NewCluster(t), t.TempDir()
		got := sh(t, dir, on(c, "nodea", dir, "$mpitrace run -o run -- "+launchOn(c, m, 4)+" "+m.ring(t)+" 1000"))
		if got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		jobs := load(t, filepath.Join(dir, "run"))
		if len(jobs) != 1 {
			t.Fatalf("%d jobs, want one over both nodes", len(jobs))
		}
		checkRing(t, jobs[0], 4, 1000)
		var hosts []string
		for _, p := range jobs[0].Profiles {
			hosts = append(hosts, p.Host)
		}
		if want := []string{"nodea", "nodea", "nodeb", "nodeb"}; !slices.Equal(hosts, want) {
			t.Errorf("the ranks were on %q, want %q", hosts, want)
		}
		for _, node := range testenv.Nodes() {
			if left := sh(t, dir, on(c, node, "/", "ls /dev/shm")); strings.Contains(left.stdout, "mpitrace") {
				t.Errorf("left on %s: %s", node, left.stdout)
			}
		}
	})
}

// A rank on the other node is killed while it sends.
func TestTwoNodesKilled(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		announce := m.compile(t, "../../tests/programs/announce.c")
		c, dir := testenv.NewCluster(t), t.TempDir()
		announced := filepath.Join(dir, "announced")
		killed := make(chan error, 1)
		go func() { killed <- killAfter(announced, 500) }()
		got := sh(t, dir, on(c, "nodea", dir, "$mpitrace run -o run -- "+launchOn(c, m, 2)+" "+announce+" "+announced))
		if err := <-killed; err != nil {
			t.Fatalf("%v\n%s", err, got.stderr)
		}
		if got.code == 0 {
			t.Error("status 0 although a rank was killed")
		}
		if !strings.Contains(got.stderr, "partial") {
			t.Errorf("the report does not say that it is partial\n%s", got.stderr)
		}
		checkAnnounced(t, load(t, filepath.Join(dir, "run"))[0], announced)
	})
}

// killAfter kills the process that announces its sends in a file, as soon as
// there are n of them.
func killAfter(announced string, n int64) error {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(announced); err == nil && info.Size() >= n {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d sends were never announced", n)
		}
	}
	text, err := os.ReadFile(announced + ".pid")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// checkAnnounced requires that rank 1 recorded as many messages of 100 bytes as
// it announced, or one more, which it had no time to announce.
func checkAnnounced(t *testing.T, j loaded, announced string) {
	t.Helper()
	info, err := os.Stat(announced)
	testenv.NoError(t, err)
	if len(j.Recorded()) != 2 {
		t.Fatalf("recordings of %d ranks, want 2", len(j.Recorded()))
	}
	last := j.Profiles[1]
	if last.Rank != 1 || last.Host != "nodeb" || last.State != profile.Running {
		t.Errorf("rank %d on %s is %s, want rank 1 on nodeb, running", last.Rank, last.Host, last.State)
	}
	n := uint64(info.Size())
	got := j.Matrices()[matrix.External].At(1, 0)
	if got.Messages != n && got.Messages != n+1 || got.Bytes != 100*got.Messages {
		t.Errorf("%+v, want %d messages of 100 bytes, or one more", got, n)
	}
}
