package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// cluster is two simulated nodes, nodea and nodeb. Each has its own host name,
// /dev/shm and network. Processes are started on the other node by an agent
// that gives them an empty environment.
type cluster struct {
	dir string
	pid map[string]int
}

// The addresses exist only in the nodes' network namespaces.
var addresses = map[string]string{"nodea": "10.99.0.1", "nodeb": "10.99.0.2"}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	testenv.Need(t, "ip", "unshare", "nsenter", "mount", "hostname")
	if os.Geteuid() != 0 {
		testenv.Skip(t, "simulated nodes need root: they are namespaces with a network and mounts of their own")
	}
	c := &cluster{dir: t.TempDir(), pid: map[string]int{}}
	c.write(t, "hosts", fmt.Sprintf("127.0.0.1 localhost\n%s nodea\n%s nodeb\n", addresses["nodea"], addresses["nodeb"]))
	for _, script := range []string{"node.sh", "agent.sh"} {
		text, err := os.ReadFile(filepath.Join("testdata", script))
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, script, string(text))
	}
	for name := range addresses {
		c.start(t, name)
	}
	c.connect(t)
	return c
}

func (c *cluster) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// start starts a node. It ends when its standard input is closed, at the latest
// when this process ends.
func (c *cluster) start(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "--mount", "--uts", "sh", filepath.Join(c.dir, "node.sh"), name, filepath.Join(c.dir, "hosts"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		stdin.Close()
		io.Copy(io.Discard, stdout)
		testenv.Skip(t, fmt.Sprintf("namespaces cannot be made here (%v): %s", err, stderr.String()))
	}
	c.pid[name] = cmd.Process.Pid
	c.write(t, name+".pid", strconv.Itoa(cmd.Process.Pid))
}

// connect connects the networks of the two nodes.
func (c *cluster) connect(t *testing.T) {
	t.Helper()
	run := func(words ...string) {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			testenv.Skip(t, fmt.Sprintf("%s: %v: %s", strings.Join(words, " "), err, out))
		}
	}
	a, b := strconv.Itoa(c.pid["nodea"]), strconv.Itoa(c.pid["nodeb"])
	run("ip", "link", "add", "veth0", "netns", a, "type", "veth", "peer", "name", "veth0", "netns", b)
	for name, address := range addresses {
		node := strconv.Itoa(c.pid[name])
		run("nsenter", "-t", node, "-n", "ip", "address", "add", address+"/24", "dev", "veth0")
		run("nsenter", "-t", node, "-n", "ip", "link", "set", "veth0", "up")
	}
}

// on returns a shell command that runs command on a node, in dir.
func (c *cluster) on(node, dir, command string) string {
	return fmt.Sprintf("exec nsenter -t %d -n -m -u --wdns=%s %s", c.pid[node], dir, command)
}

// launch returns the command line of a launcher that starts n processes, half
// of them on each node.
func (c *cluster) launch(m mpi, n int) string {
	agent := filepath.Join(c.dir, "agent.sh")
	if m.name == "openmpi" {
		return fmt.Sprintf("mpirun.openmpi --host nodea:%d,nodeb:%d --map-by slot --mca plm_rsh_agent %s --mca oob_tcp_if_include veth0 --mca btl_tcp_if_include veth0 -n %d", n/2, n/2, agent, n)
	}
	return fmt.Sprintf("mpiexec.mpich -hosts nodea,nodeb -ppn %d -iface veth0 -launcher ssh -launcher-exec %s -n %d", n/2, agent, n)
}

func TestTwoNodes(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		c, dir := newCluster(t), t.TempDir()
		got := sh(t, dir, c.on("nodea", dir, "$mpitrace run -o run -- "+c.launch(m, 4)+" "+m.ring(t)+" 1000"))
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
		for node := range addresses {
			if left := sh(t, dir, c.on(node, "/", "ls /dev/shm")); strings.Contains(left.stdout, "mpitrace") {
				t.Errorf("left on %s: %s", node, left.stdout)
			}
		}
	})
}

// A rank on the other node is killed while it sends.
func TestTwoNodesKilled(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		announce := m.compile(t, "../../tests/programs/announce.c")
		c, dir := newCluster(t), t.TempDir()
		announced := filepath.Join(dir, "announced")
		killed := make(chan error, 1)
		go func() { killed <- killAfter(announced, 500) }()
		got := sh(t, dir, c.on("nodea", dir, "$mpitrace run -o run -- "+c.launch(m, 2)+" "+announce+" "+announced))
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
	if err != nil {
		t.Fatal(err)
	}
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
