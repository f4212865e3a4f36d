package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The job: stencil.c, in which 10 pairs of neighbours exchange messages.
const (
	gainRanks = 8
	gainBytes = 60000 // below the eager limit of 64 KiB, so that the link is never idle
	gainSteps = 200
	// Of the pairs, 6 are of one row. In round-robin order, odd columns are on one node
	// and even columns on the other: all 6 cross the link. If each node has two
	// adjacent columns, which no simple order gives, 2 do.
	gainBefore = 6 * 2 * gainBytes * gainSteps
	gainAfter  = 2 * 2 * gainBytes * gainSteps
)

// linkRate is the rate of the link between the nodes, in bytes a second each way.
const linkRate = 100e6 / 8

// headerBytes are those of a TCP packet: Ethernet, IPv4, and TCP with timestamps.
const headerBytes = 14 + 20 + 32

// A slowLink is two simulated nodes, connected by a link of 100 Mbit/s.
type slowLink struct{ *testenv.Cluster }

func newSlowLink(t *testing.T) slowLink {
	t.Helper()
	testenv.Need(t, "tc")
	l := slowLink{testenv.NewCluster(t)}
	for _, node := range testenv.Nodes() {
		// A burst is less than what TCP sends at once, so that it is sent, and counted, in
		// packets as on a real link. The queue is long enough for what TCP has under way:
		// no packet is lost and sent again.
		command := l.On(node, "/", "tc", "qdisc", "add", "dev", testenv.Link, "root", "tbf", "rate", "100mbit", "burst", "16kb", "limit", "4mb")
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			testenv.Skip(t, fmt.Sprintf("links cannot be shaped here: %s: %v: %s", strings.Join(command, " "), err, out))
		}
	}
	return l
}

// A linkCount is what crossed the link in both directions, as its interfaces count it.
type linkCount struct{ Bytes, Packets int }

// data returns the bytes without the headers of packets.
func (c linkCount) data() int { return c.Bytes - headerBytes*c.Packets }

// seconds returns the least time that the link takes.
func (c linkCount) seconds() float64 { return float64(c.Bytes) / 2 / linkRate }

func (l slowLink) count(t *testing.T) (sum linkCount) {
	t.Helper()
	for _, node := range testenv.Nodes() {
		out := succeed(t, nil, l.On(node, "/", "ip", "-statistics", "-json", "link", "show", testenv.Link)...)
		var links []struct {
			Stats64 struct {
				Tx linkCount
			}
		}
		if err := json.Unmarshal([]byte(out.stdout), &links); err != nil || len(links) != 1 {
			t.Fatalf("%v\n%s", err, out.stdout)
		}
		sum.Bytes += links[0].Stats64.Tx.Bytes
		sum.Packets += links[0].Stats64.Tx.Packets
	}
	return sum
}

// A linkRun is a run of the stencil over the link.
type linkRun struct {
	dir     string
	hosts   []string // by rank
	link    linkCount
	seconds float64 // of all steps
}

// run records the stencil with messages of some bytes. mapping is the launcher's flags
// that place the ranks. On a node they have no shared memory, only TCP.
func (l slowLink) run(t *testing.T, m implementation, bytes int, mapping ...string) linkRun {
	t.Helper()
	r := linkRun{dir: filepath.Join(t.TempDir(), "run")}
	before := l.count(t)
	command := slices.Concat([]string{mpitrace, "run", "-o", r.dir, "--", "mpirun.openmpi"}, mapping, []string{
		"--bind-to", "none", "--mca", "plm_rsh_agent", l.Agent, "--mca", "oob_tcp_if_include", testenv.Link,
		"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", testenv.Link,
		"-n", strconv.Itoa(gainRanks), m.compile(t, "stencil"), strconv.Itoa(bytes), strconv.Itoa(gainSteps)})
	out := succeed(t, nil, l.On("nodea", filepath.Dir(r.dir), command...)...)
	after := l.count(t)
	r.link = linkCount{after.Bytes - before.Bytes, after.Packets - before.Packets}
	if _, err := fmt.Sscanf(out.stdout, "ok\n%g\n", &r.seconds); err != nil {
		t.Fatalf("%v\n%s", err, out.stdout)
	}
	for _, p := range readRecordings(t, r.dir) {
		r.hosts = append(r.hosts, p.Host)
	}
	return r
}

// predicted returns how many bytes leave a node in an order of `mpitrace reorder`.
func predicted(t *testing.T, dir, order string) int {
	t.Helper()
	out := succeed(t, nil, mpitrace, "reorder", "--json", dir)
	var found struct {
		Jobs []struct {
			Orders []struct {
				Order      string
				LeavesNode int `json:"leaves_node"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out.stdout), &found); err != nil || len(found.Jobs) != 1 {
		t.Fatalf("%v\n%s", err, out.stdout)
	}
	for _, o := range found.Jobs[0].Orders {
		if o.Order == order {
			return o.LeavesNode
		}
	}
	t.Fatalf("no order %q\n%s", order, out.stdout)
	return 0
}

// TestReorderGain runs a job on two nodes in round-robin order, then in the order that
// `mpitrace reorder` finds. What crosses the link must be what was predicted.
func TestReorderGain(t *testing.T) {
	testenv.At(t, testenv.All)
	m := implementations()[0]
	testenv.Need(t, "gcc", m.cc, m.launcher[0])
	l := newSlowLink(t)
	turn := []string{"--host", fmt.Sprintf("nodea:%d,nodeb:%[1]d", gainRanks/2), "--map-by", "node"}
	before := l.run(t, m, gainBytes, turn...)
	if want := strings.Fields("nodea nodeb nodea nodeb nodea nodeb nodea nodeb"); !slices.Equal(before.hosts, want) {
		t.Fatalf("the ranks were on %q, want %q", before.hosts, want)
	}
	if got := predicted(t, before.dir, placement.AsItRan); got != gainBefore {
		t.Errorf("as it ran, %d bytes leave a node, want %d", got, gainBefore)
	}
	if got := predicted(t, before.dir, placement.BestFound); got != gainAfter {
		t.Errorf("in the best order, %d bytes leave a node, want %d", got, gainAfter)
	}
	file := filepath.Join(t.TempDir(), "hosts")
	succeed(t, nil, mpitrace, "reorder", "-o", file, "--format", "seq", before.dir)
	columns := []string{"--hostfile", file, "--map-by", "seq"}
	after := l.run(t, m, gainBytes, columns...)
	if h := after.hosts; len(h) != gainRanks || h[0] == h[2] || !slices.Equal(h, []string{h[0], h[0], h[2], h[2], h[0], h[0], h[2], h[2]}) {
		t.Errorf("the ranks were on %q, want columns 0 and 1 on one node, 2 and 3 on the other", h)
	}
	l.checkData(t, m, before, gainBefore, turn...)
	l.checkData(t, m, after, gainAfter, columns...)
	checkGainTimes(t, before, after)
}

// checkData requires that the bytes on the link are the expected ones, within 5 %. A run
// with empty messages shows what all but the data takes: set-up, connections, and what
// Open MPI sends with each message.
func (l slowLink) checkData(t *testing.T, m implementation, r linkRun, want int, mapping ...string) {
	t.Helper()
	empty := l.run(t, m, 0, mapping...).link
	got := r.link.data() - empty.data()
	t.Logf("%d bytes on the link in %d packets; without headers and the %d bytes of a run with empty messages %d, predicted %d: %+.3f %%",
		r.link.Bytes, r.link.Packets, empty.data(), got, want, 100*(float64(got)/float64(want)-1))
	if got < want*95/100 || got > want*105/100 {
		t.Errorf("%d bytes on the link, predicted %d", got, want)
	}
}

// checkGainTimes requires that the time follows: with a third of the bytes it is less than
// two thirds, even on a busy machine. It cannot be less than the link takes.
func checkGainTimes(t *testing.T, before, after linkRun) {
	t.Helper()
	t.Logf("the steps took %.2f s, of which the link takes %.2f s; reordered %.2f s, %.2f s",
		before.seconds, before.link.seconds(), after.seconds, after.link.seconds())
	for _, r := range []linkRun{before, after} {
		if least := r.link.seconds(); r.seconds < 0.95*least {
			t.Errorf("the steps took %.2f s, but the link takes %.2f s", r.seconds, least)
		}
	}
	if after.seconds > before.seconds*2/3 {
		t.Errorf("the steps took %.2f s, reordered %.2f s", before.seconds, after.seconds)
	}
}
