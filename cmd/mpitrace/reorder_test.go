package main

import (
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// partners is a job in which rank r and rank Ranks-1-r send each other messages: the lower
// one 1,000 bytes in 10, the higher one 500 bytes in 5. Hosts holds the host of each rank.
type partners struct {
	run    string
	hosts  []string
	silent bool         // they send nothing
	change map[int]edit // by rank; nil leaves the rank out
}

type edit func(*profile.Profile)

// write writes the recordings of the job into a run directory.
func (j *partners) write(t *testing.T, dir string) string {
	t.Helper()
	n := len(j.hosts)
	for r, host := range j.hosts {
		send := profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: int32(n - 1 - r), SizeClass: 7,
			Calls: 10, Messages: 10, Bytes: 1000}
		if r >= n/2 {
			send.Calls, send.Messages, send.Bytes = 5, 5, 500
		}
		p := &profile.Profile{Run: j.run, Rank: r, Size: n, Host: host, Pid: r + 1, Program: "/bin/app", Command: []string{"./app", "-x 1"}, Start: 1, State: profile.Finalized,
			Threads: 1, Library: "Open MPI v4.1.4, package: x",
			Comms:  []profile.Comm{{ID: strings.Repeat("0", 32), Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: n}}},
			Slices: []profile.Slice{{Name: "run"}}}
		if !j.silent {
			p.Rows = []profile.Row{send}
		}
		changed, some := j.change[r]
		if some && changed == nil {
			continue
		} else if some {
			changed(p)
		}
		path := filepath.Join(dir, "recordings", fmt.Sprintf("%s-%d.rec", j.run, r))
		testenv.Mkdir(t, filepath.Dir(path))
		recordingtest.Record(t, path, p)
	}
	return dir
}

// blocks returns the hosts of ranks that fill nodes of four one after the other.
func blocks(ranks int) []string {
	var hosts []string
	for r := range ranks {
		hosts = append(hosts, string(rune('a'+r/4)))
	}
	return hosts
}

// answered is what the tests read of reorder --json.
type answered struct {
	Jobs []struct {
		placement.Answer
		Counted string
		LeftOut uint64 `json:"left_out"`
		File    string
	}
}

func reorder(t *testing.T, args ...string) (a answered, got output) {
	t.Helper()
	got = call(append([]string{"reorder", "--json"}, args...)...)
	if got.code != 0 {
		t.Fatalf("%q: status %d, %s", args, got.code, got.stderr)
	}
	testenv.NoError(t, json.Unmarshal([]byte(got.stdout), &a))
	return a, got
}

// Of 8 ranks on two nodes, all four pairs of partners are on different nodes in block order
// and round-robin. In the best order none is: distances are 50 between nodes and 5 in one.
func TestReorder(t *testing.T) {
	dir := (&partners{run: "one", hosts: blocks(8)}).write(t, t.TempDir())
	for _, c := range []struct {
		flags                   []string
		all, largest            uint64
		near, far, nodes, slots uint64
		by                      placement.CostUnit
	}{
		{nil, 4 * 1500, 4 * 1000, 5, 50, 2, 8, placement.Bytes},
		{[]string{"--by", "messages"}, 4 * 15, 4 * 10, 5, 50, 2, 8, placement.Messages},
		{[]string{"--distance", "1:7", "--class", "p2p"}, 4 * 1500, 4 * 1000, 1, 7, 2, 8, placement.Bytes},
		{[]string{"--topology", "node:2 core:4"}, 4 * 1500, 4 * 1000, 5, 50, 2, 8, placement.Bytes},
	} {
		found, got := reorder(t, append(c.flags, dir)...)
		if len(found.Jobs) != 1 || got.stderr != "" {
			t.Fatalf("%q: %d jobs, stderr %q", c.flags, len(found.Jobs), got.stderr)
		}
		a := found.Jobs[0]
		want := []placement.OrderCost{
			{Order: "as it ran", Cost: placement.Cost{Objective: c.all * c.far, Levels: []uint64{0, c.all}}, Ratio: 1, LeavesNode: c.all, Largest: placement.NodeFlow{From: "a", To: "b", Amount: c.largest}},
			{Order: "best found", Cost: placement.Cost{Objective: c.all * c.near, Levels: []uint64{c.all, 0}}, Ratio: float64(c.near) / float64(c.far)},
			{Order: "block", Cost: placement.Cost{Objective: c.all * c.far, Levels: []uint64{0, c.all}}, Ratio: 1, LeavesNode: c.all, Largest: placement.NodeFlow{From: "a", To: "b", Amount: c.largest}},
			// In turn, ranks 0, 2, 4 and 6 are on a.
			{Order: "round-robin", Cost: placement.Cost{Objective: c.all * c.far, Levels: []uint64{0, c.all}}, Ratio: 1, LeavesNode: c.all, Largest: placement.NodeFlow{From: "a", To: "b", Amount: c.largest * 3 / 4}},
		}
		if diff := cmp.Diff(want, a.Orders[:4]); diff != "" {
			t.Errorf("%q: %s", c.flags, diff)
		}
		if a.By != c.by || a.Nodes != int(c.nodes) || a.Slots != int(c.slots) || a.NearBest || a.Equal != "" {
			t.Errorf("%q: %+v", c.flags, a.Answer)
		}
		for r := range 4 {
			if a.Slot[r]/4 != a.Slot[7-r]/4 {
				t.Errorf("%q: ranks %d and %d are in slots %d and %d", c.flags, r, 7-r, a.Slot[r], a.Slot[7-r])
			}
		}
	}
}

func TestReorderText(t *testing.T) {
	dir := (&partners{run: "one", hosts: blocks(8)}).write(t, t.TempDir())
	t.Setenv("LC_ALL", "C")
	got := call("reorder", "--top", "1", dir)
	for _, want := range []string{
		"app on 8 ranks: 2 nodes with 8 slots\ncounted: point-to-point and one-sided\n",
		"x the distance of their slots: 5 in a node and 50 in the system\n",
		"\nas it ran             300,000  1.000      5.86 KiB        0 B            3.91 KiB, a -> b\n",
		"\nbest found             30,000  0.100           0 B   5.86 KiB                           -\n",
		"costs 90.0 % less than the present one: 0 B instead of 5.86 KiB leave a node.\n",
		"\nthe best order found  ranks\na                     0-", "\nand 1 more node (--top all, or --json)\n",
		"\n  mpitrace reorder " + dir + " -o FILE --format seq\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}

// A file of the launcher is written if it is worth it or forced, and overwritten only if
// forced.
func TestReorderFiles(t *testing.T) {
	dir := t.TempDir()
	bad := (&partners{run: "one", hosts: blocks(8)}).write(t, filepath.Join(dir, "bad"))
	good := (&partners{run: "one", hosts: strings.Fields("a b b a a b b a")}).write(t, filepath.Join(dir, "good"))
	t.Chdir(dir)
	got := call("reorder", "-o", "hosts", "--format", "seq", bad)
	if want := "The order is in hosts. Start the job with it:\n  mpirun --hostfile hosts --map-by seq -n 8 ./app '-x 1'\n"; got.code != 0 || !strings.HasSuffix(got.stdout, want) {
		t.Errorf("status %d, %s%s", got.code, got.stdout, got.stderr)
	}
	content, _ := os.ReadFile("hosts")
	hosts := strings.Fields(string(content))
	if len(hosts) != 8 {
		t.Fatalf("got %q", content)
	}
	for r := range 4 {
		if hosts[r] != hosts[7-r] {
			t.Errorf("ranks %d and %d are on %s and %s", r, 7-r, hosts[r], hosts[7-r])
		}
	}
	if got := call("reorder", "-o", "hosts", bad); got.code != exitUsage || !strings.Contains(got.stderr, "hosts exists") {
		t.Errorf("status %d, %s", got.code, got.stderr)
	}
	if got := call("reorder", "-o", "hosts", "-f", bad); got.code != 0 || !strings.Contains(got.stdout, "mpirun --hostfile hosts --map-by seq -n 8") {
		t.Errorf("status %d, %s%s", got.code, got.stdout, got.stderr)
	}
	got = call("reorder", "-o", "none", good)
	if _, err := os.Stat("none"); err == nil || got.code != 0 || !strings.Contains(got.stdout, "There is nothing to gain: no better order") || !strings.Contains(got.stdout, "none is not written") {
		t.Errorf("%v, status %d, %s%s", err, got.code, got.stdout, got.stderr)
	}
	if got := call("reorder", "-o", "none", "--force", "--format", "mpich", good); got.code != 0 {
		t.Errorf("status %d, %s", got.code, got.stderr)
	}
	if content, _ := os.ReadFile("none"); string(content) != "0,3,4,7\n1,2,5,6\n" {
		t.Errorf("got %q", content)
	}
	for _, name := range []string{"x.png", "x.svg", "x.PDF"} {
		if got := call("reorder", "--plot", name, bad); got.code != 0 {
			t.Errorf("%s: status %d, %s", name, got.code, got.stderr)
		}
	}
	checkPlots(t)
	got = call("reorder", "--plot", "one.svg", good)
	one, _ := os.ReadFile("one.svg")
	if got.code != 0 || strings.Count(string(one), "0 B between nodes; no better order") != 2 || strings.Contains(string(one), "best found") { // the title of the document, too
		t.Errorf("status %d, %s%.2000s", got.code, got.stderr, one)
	}
}

func checkPlots(t *testing.T) {
	t.Helper()
	f, err := os.Open("x.png")
	testenv.NoError(t, err)
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
	content, _ := os.ReadFile("x.svg")
	text := string(content)
	if !strings.Contains(text, "<title>0 on a → 7 on b: 1,000 B, 10 messages</title>") { // before
		t.Error("rank 0 on a does not send to rank 7 on b")
	}
	if !strings.Contains(text, "<title>0 on a → 7 on a: 1,000 B, 10 messages</title>") && !strings.Contains(text, "<title>0 on b → 7 on b: 1,000 B, 10 messages</title>") {
		t.Error("in the best order, rank 0 does not send to rank 7 on its own node")
	}
	if content, _ := os.ReadFile("x.PDF"); !strings.HasPrefix(string(content), "%PDF-1.4\n") {
		t.Errorf("x.PDF begins with %.20q", content)
	}
	// 4 ranks send 1,000 bytes to the other node, and get 500 from there.
	for _, title := range []string{"app, as it ran: bytes, 5.86 KiB between nodes", "app, best found: bytes, 0 B between nodes"} {
		if !strings.Contains(text, title) {
			t.Errorf("x.svg lacks %q", title)
		}
	}
}

// Jobs that cannot be reordered, or have nothing to gain, get an answer that says so.
func TestReorderHasReasons(t *testing.T) {
	killed := func(p *profile.Profile) { p.State = profile.Running }
	write := func(j partners) string { j.run = "one"; return j.write(t, t.TempDir()) }
	eight := write(partners{hosts: blocks(8)})
	several := write(partners{hosts: blocks(8)})
	(&partners{run: "two", hosts: blocks(4)}).write(t, several)
	for name, c := range map[string]struct {
		dir, flags string
		code       int
		want       string
	}{
		"missing rank":     {write(partners{hosts: blocks(8), change: map[int]edit{3: nil}}), "", exitError, "where rank 3 of 8 ranks ran is not recorded"},
		"unknown host":     {write(partners{hosts: blocks(8), change: map[int]edit{3: func(p *profile.Profile) { p.Host = "" }}}), "", exitError, "where rank 3 of 8 ranks ran is not recorded"},
		"killed rank":      {write(partners{hosts: blocks(8), change: map[int]edit{3: killed}}), "", 0, "incomplete: rank 3 did not reach MPI_Finalize"},
		"one rank":         {write(partners{hosts: blocks(1)}), "", 0, "nothing to gain: there is one rank"},
		"one node":         {write(partners{hosts: blocks(4)}), "", 0, "nothing to gain: all slots are equally far from each other"},
		"nothing was sent": {write(partners{hosts: blocks(8), silent: true}), "", 0, "nothing to gain: no rank sent any bytes to another"},
		"nothing selected": {eight, "--class coll", 0, "nothing to gain: no rank sent any bytes to another"},
		"too few slots":    {eight, "--topology node:2~core:3 --nodes 2", exitError, "the topology has nodes already"},
		"few slots":        {eight, "--topology node:2~core:3", exitError, "the topology has 6 slots, too few for 8 ranks"},
		"another machine":  {eight, "--topology node:8~core:2", 0, "host a ran 4 ranks, but its node in the topology has 2 slots; the present order is left out"},
		"unknown slice":    {eight, "--slice none", exitUsage, "none"},
		"several jobs":     {several, "", 0, "app-job2 on 4 ranks"},
		"one of them":      {several, "--job 2", 0, "app-job2 on 4 ranks"},
		"no such job":      {several, "--job 3", exitUsage, "has 2 jobs"},
		"file of several":  {several, "-o /tmp/none/x", exitUsage, "choose the one to write a file for with --job N"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"reorder", c.dir}
			for _, word := range strings.Fields(c.flags) {
				args = append(args, strings.ReplaceAll(word, "~", " "))
			}
			got := call(args...)
			if all := got.stdout + got.stderr; got.code != c.code || !strings.Contains(all, c.want) {
				t.Errorf("status %d, want %d; no %q in\n%s", got.code, c.code, c.want, all)
			}
		})
	}
}

func TestReorderWrongUse(t *testing.T) {
	t.Chdir(t.TempDir())
	for flags, want := range map[string]string{
		"--job 0": "jobs count from 1", "--nodes 0": "above 0", "--distance 10:1": "must not fall", "--effort most": "fast", "--by time": "messages",
		"--format seq": "--format needs -o", "-o x.png --plot ./x.png": "-o and --plot are both", "-o x --format lam": "not a format of a launcher's file", "--plot x.jpg": ".png, .svg or .pdf", "--plot=": ".png, .svg or .pdf", "--class some": "unknown class",
		"--output=": "-o needs the name of a file",
	} {
		got := call(append(strings.Fields("reorder run "+flags), []string{}...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: status %d, %s", flags, got.code, got.stderr)
		}
	}
}

// The best order of a ring on 20 nodes is in blocks, which may begin with any rank: 20 messages
// leave a node. A simple order that is nearly as good is named instead.
func TestReportNamesSimpleOrder(t *testing.T) {
	job, err := synth.NewFaulty("between-nodes", 1000, false)
	testenv.NoError(t, err)
	added, err := aggregate.Of(job, aggregate.Options{})
	testenv.NoError(t, err)
	s := added.Summary()
	if searchOrder(added, s) == nil || len(s.Orders) != 4 {
		t.Fatalf("%d orders", len(s.Orders))
	}
	block, best := s.Orders[1].Between, s.Orders[3].Between
	if best.Messages != 20*50 || best.Bytes > block.Bytes || best.Bytes < 20*50*4096 {
		t.Errorf("%+v leaves a node in the best order, %+v in blocks", best, block)
	}
	found := findings.Of(s, nil)
	if len(found) == 0 || string(found[0].Rule) != job.Fault.Rule || !strings.Contains(found[0].Text, job.Fault.Text) {
		t.Errorf("%+v, want %q", found, job.Fault.Text)
	}
}

// A report searches for a better order too, and names it if no simple one is as good.
func TestReportNamesBestOrder(t *testing.T) {
	dir := (&partners{run: "one", hosts: blocks(8)}).write(t, t.TempDir())
	got := call("report", "--full", dir)
	want := "100.0 % of the bytes between ranks leave their node. In the best order found it is 0.0 %."
	if flat := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(flat, want) || !strings.Contains(flat, "`mpitrace reorder RUN` finds this order") {
		t.Errorf("no %q in\n%s", want, got.stdout)
	}
	opened, err := source.Open([]string{dir}, source.Options{Depth: source.Whole})
	testenv.NoError(t, err)
	job, err := aggregate.Of(opened.Jobs[0], aggregate.Options{})
	testenv.NoError(t, err)
	s := job.Summary()
	searchOrder(job, s)
	names := []string{}
	for _, o := range s.Orders {
		names = append(names, fmt.Sprint(o.Name, " ", o.Between.Bytes, " ", o.Between.Messages))
	}
	if want := []string{"recorded 6000 60", "block 6000 60", "round-robin 6000 60", "best found 0 0"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
