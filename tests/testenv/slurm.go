package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Slurm is a real Slurm with simulated nodes n1, n2, … Each node has its own host name, /dev/shm and
// /tmp. All have a network of their own together, so that clusters of several tests do not meet.
type Slurm struct {
	// Shared is the directory that all nodes and the login node share.
	Shared string
	init   string // process ID of the first process
}

// NewSlurm starts a cluster with nodes of some cores each, which see some directories as they are
// here. The cluster ends, with all processes that it started, with the test, or with this process if
// that is killed. NewSlurm skips the test if it may not start one.
func NewSlurm(t testing.TB, nodes, cores int, directories ...string) *Slurm {
	t.Helper()
	Need(t, "slurmctld", "slurmd", "srun", "munged", "unshare", "nsenter", "ip")
	if os.Geteuid() != 0 {
		Skip(t, "a simulated Slurm needs root: its nodes are namespaces")
	}
	script, err := nodeScripts.ReadFile("nodes/slurm.sh")
	if err != nil {
		t.Fatal(err)
	}
	s := &Slurm{Shared: t.TempDir()}
	if err := os.Chmod(s.Shared, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.Shared, "slurm.sh")
	if err := os.WriteFile(file, script, 0o755); err != nil {
		t.Fatal(err)
	}
	words := []string{"--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", file, s.Shared, fmt.Sprint(nodes), fmt.Sprint(cores)}
	cmd := exec.Command("unshare", append(words, directories...)...)
	if err := startReady(t, cmd); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.Shared, ".slurm", "ctld.log"))
		t.Fatalf("Slurm does not start: %v\n%s", err, log)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	s.init = strings.TrimSpace(string(children))
	return s
}

// OnLogin returns the command line that runs a command on the login node, in the shared directory.
func (s *Slurm) OnLogin(command ...string) []string {
	return append([]string{"nsenter", "-t", s.init, "-n", "-m", "-u", "-p", "--wdns=" + s.Shared,
		"env", "SLURM_CONF=" + filepath.Join(s.Shared, ".slurm", "slurm.conf")}, command...)
}
