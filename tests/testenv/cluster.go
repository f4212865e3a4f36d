package testenv

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Cluster is two simulated nodes, nodea and nodeb, that are connected by a link. Each
// has its own host name, /dev/shm and network, and shares the disks with the other.
type Cluster struct {
	// Agent is the path of a launch agent, used like ssh: it runs a command on a node,
	// with an empty environment.
	Agent string
	dir   string
	pid   map[string]int
}

// Link is the name of the network interface, on each node, that leads to the other.
const Link = "veth0"

// addresses are those of the nodes. They exist only in the nodes' network namespaces.
var addresses = map[string]string{"nodea": "10.99.0.1", "nodeb": "10.99.0.2"}

// Nodes returns the names of the nodes.
func Nodes() []string { return slices.Sorted(maps.Keys(addresses)) }

//go:embed nodes
var nodeScripts embed.FS

// NewCluster starts two nodes, which end with the test, or with the process if that is
// killed. It skips the test if it may not.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	Need(t, "ip", "unshare", "nsenter", "mount", "hostname")
	if os.Geteuid() != 0 {
		Skip(t, "simulated nodes need root: they are namespaces with a network and mounts of their own")
	}
	c := &Cluster{dir: t.TempDir(), pid: map[string]int{}}
	c.Agent = filepath.Join(c.dir, "agent.sh")
	c.write(t, "hosts", fmt.Sprintf("127.0.0.1 localhost\n%s nodea\n%s nodeb\n", addresses["nodea"], addresses["nodeb"]))
	for _, script := range []string{"node.sh", "agent.sh"} {
		text, err := nodeScripts.ReadFile("nodes/" + script)
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, script, string(text))
	}
	for _, name := range Nodes() {
		c.start(t, name)
	}
	c.connect(t)
	return c
}

func (c *Cluster) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// start starts a node. It ends when its standard input is closed, at the latest
// when this process ends.
func (c *Cluster) start(t testing.TB, name string) {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "--mount", "--uts", "sh", filepath.Join(c.dir, "node.sh"), name, filepath.Join(c.dir, "hosts"))
	if err := startReady(t, cmd); err != nil {
		Skip(t, fmt.Sprintf("namespaces cannot be made here: %v", err))
	}
	c.pid[name] = cmd.Process.Pid
	c.write(t, name+".pid", strconv.Itoa(cmd.Process.Pid))
}

// connect connects the networks of the two nodes.
func (c *Cluster) connect(t testing.TB) {
	t.Helper()
	run := func(words ...string) {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			Skip(t, fmt.Sprintf("%s: %v: %s", strings.Join(words, " "), err, out))
		}
	}
	run("ip", "link", "add", Link, "netns", strconv.Itoa(c.pid["nodea"]), "type", "veth",
		"peer", "name", Link, "netns", strconv.Itoa(c.pid["nodeb"]))
	for name, address := range addresses {
		run(c.On(name, "/", "ip", "address", "add", address+"/24", "dev", Link)...)
		run(c.On(name, "/", "ip", "link", "set", Link, "up")...)
	}
}

// On returns the command line that runs a command on a node, in a directory.
func (c *Cluster) On(node, dir string, command ...string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(c.pid[node]), "-n", "-m", "-u", "--wdns=" + dir}, command...)
}
