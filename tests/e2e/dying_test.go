package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// These jobs die: by their own action, by a signal from outside, or at random.
// Each must end as it does without mpitrace, and its recordings must be
// complete up to its end.

var updateDocs = flag.Bool("update-docs", false, "write the table of docs/reliability.md anew")

// dyingCalls is the number of calls that each rank makes before dyingVictim
// dies.
const dyingCalls, dyingRanks, dyingVictim = 200, 3, 1

// A way is a way to die. Its name is that of docs/reliability.md.
type way struct {
	name string
	word string // argument of tests/programs/dying.c
	// lasts is the signal that the test sends to mpitrace, or SIGKILL to the
	// launcher, if the job does not end by itself.
	lasts syscall.Signal
	// absent replaces the last rank by a program that never calls MPI_Init.
	absent bool
	quick  bool   // runs at level quick too
	says   string // pattern that the report must match, about the rank that dies
}

var ways = []way{
	{name: "MPI_Abort", word: "MPI_Abort", quick: true, says: `rank 1: .*\n +MPI_Abort\(7\) in MPI_COMM_WORLD, at die dying\.c:`},
	{name: "abort()", word: "abort", says: `rank 1: killed by SIGABRT at .*, outside MPI; the last call returned`},
	{name: "SIGSEGV", word: "SIGSEGV", quick: true, says: `rank 1: killed by SIGSEGV at .*, outside MPI; the last call returned`},
	{name: "stack overflow", word: "stack overflow", says: `rank 1: killed by SIGSEGV at .*, outside MPI; the last call returned`},
	{name: "SIGFPE", word: "SIGFPE", says: `rank 1: killed by SIGFPE at .*, outside MPI; the last call returned`},
	{name: "SIGINT to one rank", word: "SIGINT", says: `rank 1: killed by SIGINT at .*, outside MPI; the last call returned`},
	{name: "SIGTERM to one rank", word: "SIGTERM", says: `rank 1: killed by SIGTERM at .*, outside MPI; the last call returned`},
	{name: "SIGXCPU", word: "SIGXCPU", says: `rank 1: killed by SIGXCPU at .*, outside MPI; the last call returned`},
	{name: "SIGKILL, as when memory is out", word: "SIGKILL", quick: true, says: `rank 1: killed by SIGKILL at .*, outside MPI; the last call returned`},
	{name: "exit() without MPI_Finalize", word: "exit", says: `rank 1: exited with status 3 at .*, outside MPI; the last call returned`},
	{name: "return from main without MPI_Finalize", word: "return", says: `rank 1: exited with status 5 at .*, outside MPI; the last call returned`},
	{name: "_exit()", word: "_exit", says: `rank 1: exited with status 3 at .*, outside MPI; the last call returned`},
	{name: "exec of another program", word: "exec", says: `rank 1: exited with status 4 at .*, outside MPI; the last call returned`},
	{name: "one rank that never starts", word: "hang", absent: true},
	{name: "a hang, then SIGTERM to the launcher", word: "hang", lasts: syscall.SIGTERM, says: `rank 1: .*outside MPI`},
	{name: "MPI_Finalize that hangs, then SIGTERM", word: "Finalize", lasts: syscall.SIGTERM},
	{name: "SIGTERM to the launcher at work", word: "go", lasts: syscall.SIGTERM},
	{name: "SIGKILL of the launcher", word: "go", lasts: syscall.SIGKILL},
}

// outcome is what can be observed of a job's end from outside.
type outcome struct {
	code  int  // exit status as in a shell: 128 plus the signal if one ended it; 0 if it hangs
	hangs bool // it did not end in time
	left  int  // number of ranks that outlive it
}

func (o outcome) String() string {
	return fmt.Sprintf("exit status %d, over in time %t, %d processes left", o.code, !o.hangs, o.left)
}

// TestDying lets jobs die in each way, with and without mpitrace. Launchers do
// not always end in the same way: hydra combines the statuses of the ranks that
// it has seen, and Open MPI's mpirun may crash or hang during cleanup. Both are
// therefore tried up to six times, until an end with mpitrace has also been
// seen without it. Level quick tries only some of the ways.
func TestDying(t *testing.T) {
	table := map[string]map[string]string{"openmpi": {}, "mpich": {}}
	withEachAt(t, testenv.Highest(), debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "dying")
		for _, w := range ways {
			if !w.quick && testenv.Highest() == testenv.Quick {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				table[m.name][w.name] = dieOften(t, m, program, w)
			})
		}
	})
	checkTable(t, table)
}

// dieOften returns the table's cells for a way to die.
func dieOften(t *testing.T, m implementation, program string, w way) string {
	const tries = 6
	var bare, recorded []string
	seen := map[outcome]bool{}
	for range tries {
		without := w.die(t, m, program, nil)
		dir := filepath.Join(t.TempDir(), "run")
		with := w.die(t, m, program, []string{mpitrace, "run", "-o", dir, "--"})
		with.check(t, dir, w)
		if t.Failed() {
			t.Fatalf("mpitrace said\n%s", with.talk)
		}
		with.talk += execute(t, nil, mpitrace, "report", "--full", dir).stdout
		bare, recorded = append(bare, without.String()), append(recorded, with.String()+"\n"+with.talk)
		seen[without.outcome] = true
		if seen[with.outcome] && with.says(w) {
			return "yes | 0 | yes"
		}
	}
	t.Errorf("the job never ended as without mpitrace, with a report that says %q: without\n%s\nwith\n%s", w.says,
		strings.Join(bare, "\n"), strings.Join(recorded, "\n"))
	return "no | 0 | no"
}

// A death is what a job has left.
type death struct {
	outcome
	announced [dyingRanks]uint64 // number of calls that each rank has announced
	talk      string             // stdout and stderr, and then the full report
}

// says reports whether the report describes how the rank ended.
func (d *death) says(w way) bool {
	if !kernelTellsExits() {
		return true
	}
	return regexp.MustCompile(w.says).MatchString(d.talk)
}

// die runs a job to its end. prefix comes before the launcher in its command
// line.
func (w way) die(t *testing.T, m implementation, program string, prefix []string) death {
	t.Helper()
	dir := t.TempDir()
	job := func(n int, program ...string) []string {
		return slices.Concat([]string{"-n", strconv.Itoa(n)}, program)
	}
	argv := []string{program, dir, w.word, strconv.Itoa(dyingVictim), strconv.Itoa(dyingCalls)}
	command := slices.Concat(prefix, m.launcher, job(dyingRanks, argv...))
	if w.absent {
		command = slices.Concat(prefix, m.launcher, job(dyingRanks-1, argv...), []string{":"}, job(1, "/bin/false"))
	}
	var talk bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &talk, &talk
	cmd.WaitDelay = 5 * time.Second
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	d := death{}
	d.hangs = !w.finish(t, cmd, ended, dir)
	if d.code = cmd.ProcessState.ExitCode(); d.hangs {
		d.code = 0 // its status only shows how the test ended it
	} else if d.code < 0 {
		d.code = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	d.left = killLeft(dir)
	for r := range d.announced {
		if info, err := os.Stat(filepath.Join(dir, strconv.Itoa(r))); err == nil {
			d.announced[r] = uint64(info.Size())
		}
	}
	d.talk = talk.String()
	return d
}

// finish waits for the end of a job, and ends it if it does not end by itself:
// first by SIGTERM, then by SIGKILL to the launcher, because Open MPI's mpirun
// sometimes ignores SIGTERM while it hangs. It reports whether the job ended in
// time, before finish had to terminate it.
func (w way) finish(t *testing.T, cmd *exec.Cmd, ended <-chan error, dir string) bool {
	t.Helper()
	if w.lasts != 0 {
		awaitCalls(t, dir)
		time.Sleep(300 * time.Millisecond) // until they hang
		target := cmd.Process.Pid
		if w.lasts == syscall.SIGKILL {
			target = launcherOf(t, target)
		}
		if err := syscall.Kill(target, w.lasts); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-ended:
		return true
	case <-time.After(w.limit()):
	}
	cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		syscall.Kill(launcherOf(t, cmd.Process.Pid), syscall.SIGKILL)
		<-ended
	}
	return false
}

// limit returns how long a job may take. If a rank never starts, hydra waits
// forever.
func (w way) limit() time.Duration {
	if w.absent {
		return 5 * time.Second
	}
	return 45 * time.Second
}

// awaitCalls waits until each rank has made dyingCalls calls.
func awaitCalls(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for r := 0; r < dyingRanks; {
		if info, err := os.Stat(filepath.Join(dir, strconv.Itoa(r))); err == nil && info.Size() >= dyingCalls {
			r++
			continue
		}
		if ctx.Err() != nil {
			t.Fatal("the calls were never made")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// launcherOf returns the process id of the launcher: pid itself, or its child
// if pid is mpitrace.
func launcherOf(t *testing.T, pid int) int {
	t.Helper()
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); exe != mpitrace {
		return pid
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err == nil && len(bytes.Fields(children)) == 0 {
		err = errors.New("no child")
	}
	if err != nil { // /proc lists a child under the thread that started it
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, path := range tasks {
			more, _ := os.ReadFile(path)
			children = append(children, more...)
		}
	}
	fields := strings.Fields(string(children))
	if len(fields) == 0 {
		t.Fatalf("process %d has no child", pid)
	}
	child, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// killLeft waits briefly for the end of all ranks that belong to a directory.
// It kills the remaining ones and returns their number.
func killLeft(dir string) int {
	var left []int
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if left = processesOf(dir); len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, pid := range left {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(left)
}

// processesOf returns the ids of the processes whose first argument is this
// directory.
func processesOf(dir string) []int {
	var out []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		argv := strings.Split(string(raw), "\x00")
		if err != nil || len(argv) < 2 || argv[1] != dir {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// check requires that the recordings have the calls that each rank announced,
// or one more that was not announced yet, and that the report says that it is
// partial.
func (d *death) check(t *testing.T, dir string, w way) {
	t.Helper()
	started := dyingRanks
	if w.absent {
		started-- // if the launcher makes MPI_Init wait for all ranks, the others are still in it
	}
	ranks := recordingsOf(t, dir)
	if len(ranks) != started && !w.absent {
		t.Errorf("%d recordings, want %d", len(ranks), started)
	}
	for _, p := range ranks {
		if p.Rank < 0 && w.absent {
			continue
		}
		checkAnnounced(t, p, d.announced[p.Rank])
	}
	if !strings.Contains(d.talk, "partial") && !w.absent {
		t.Error("the report does not say that it is partial")
	}
}

func checkAnnounced(t *testing.T, p *profile.Profile, announced uint64) {
	t.Helper()
	var calls, bytes uint64
	for _, r := range p.Rows {
		if r.Call == "Sendrecv" && r.Direction == profile.Send {
			calls, bytes = calls+r.Calls, bytes+r.Bytes
		}
	}
	checkSends(t, p.Rank, calls, bytes, announced)
}

// checkSends checks what was recorded of a rank that was killed while it sent
// messages of 100 bytes: the number of sends and their bytes. One more send than
// the announced ones may have started. The library adds the bytes of a send before
// it counts the send, and the rank may have been killed in between.
func checkSends(t *testing.T, rank int, calls, bytes, announced uint64) {
	t.Helper()
	if started := bytes / 100; bytes%100 != 0 || announced > calls || calls > started || started > announced+1 {
		t.Errorf("rank %d: %d sends of %d bytes in all are recorded; %d of 100 bytes were announced", rank, calls, bytes, announced)
	}
}

// recordingsOf reads the recordings of a job. It reports an error for each that
// cannot be read or is damaged.
func recordingsOf(t *testing.T, dir string) []*profile.Profile {
	t.Helper()
	var out []*profile.Profile
	for _, path := range recordingFiles(t, dir) {
		p, err := recording.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(p.Problems) > 0 {
			t.Errorf("%s: %q", path, p.Problems)
		}
		out = append(out, p)
	}
	return out
}

// TestChaos kills all ranks of jobs, one after the other, in random order and
// at random times.
func TestChaos(t *testing.T) {
	// With three ranks and two MPIs these are 12, 48 or 204 kills.
	killJobs(t, map[testenv.Level]int{testenv.Quick: 2, testenv.All: 8, testenv.Sweep: 34}, false)
}

// killJobs kills as many jobs as the level allows.
func killJobs(t *testing.T, jobs map[testenv.Level]int, rankMode bool) {
	withEachAt(t, testenv.Highest(), debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "dying")
		for i := range jobs[testenv.Highest()] {
			seed := rand.Uint64()
			if !t.Run(strconv.Itoa(i), func(t *testing.T) { killAll(t, m, program, rand.New(rand.NewPCG(seed, 0)), rankMode) }) {
				t.Fatalf("seed %#x", seed)
			}
		}
	})
}

// killAll kills the ranks of a job. In rank mode the launcher is one more victim.
func killAll(t *testing.T, m implementation, program string, random *rand.Rand, rankMode bool) {
	dir, run := t.TempDir(), filepath.Join(t.TempDir(), "run")
	argv := []string{program, dir, "go", "0", "0"}
	command := slices.Concat([]string{mpitrace, "run", "-o", run, "--"}, m.launch(dyingRanks, argv...))
	if rankMode {
		command = m.inRanks(dyingRanks, run, nil, argv...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var talk bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &talk, &talk
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitCalls(t, dir)
	pids := processesOf(dir)
	if len(pids) != dyingRanks {
		t.Fatalf("%d ranks, want %d", len(pids), dyingRanks)
	}
	if rankMode {
		pids = append(pids, cmd.Process.Pid)
	}
	random.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
	for _, pid := range pids {
		time.Sleep(time.Duration(random.Int64N(int64(3 * time.Millisecond))))
		syscall.Kill(pid, syscall.SIGKILL) // the launcher may have killed it first
	}
	err := cmd.Wait()
	if left := killLeft(dir); left > 0 || err == nil || ctx.Err() != nil {
		t.Errorf("%d ranks left, the job ended with %v", left, err)
	}
	ranks := recordingsOf(t, run)
	if len(ranks) != dyingRanks {
		t.Errorf("%d recordings", len(ranks))
	}
	for _, p := range ranks {
		checkAnnounced(t, p, uint64(len(readAll(t, filepath.Join(dir, strconv.Itoa(p.Rank))))))
	}
	if t.Failed() {
		t.Logf("mpitrace said\n%s", &talk)
	}
}

// Marks around the table in docs/reliability.md.
const tableStart, tableEnd = "<!-- by TestDying -->\n", "<!-- end -->\n"

// checkTable requires that the table in the documentation agrees with the
// results.
func checkTable(t *testing.T, seen map[string]map[string]string) {
	if t.Failed() || len(seen) < 2 {
		return
	}
	var b strings.Builder
	b.WriteString("| what ends the job | Open MPI: ends as without | calls lost | report | MPICH: ends as without | calls lost | report |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, w := range ways {
		if seen["openmpi"][w.name] == "" || seen["mpich"][w.name] == "" {
			return // not all ways or MPIs have run
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", w.name, seen["openmpi"][w.name], seen["mpich"][w.name])
	}
	path := filepath.Join(root, "docs", "reliability.md")
	text := string(readAll(t, path))
	before, rest, ok := strings.Cut(text, tableStart)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		t.Fatalf("%s has no markers for the table", path)
	}
	want := before + tableStart + b.String() + tableEnd + after
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != want {
		t.Errorf("%s differs from what was observed (-update-docs rewrites it):\n%s", path, &b)
	}
}
