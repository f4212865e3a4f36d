package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A shortage is a resource that runs out while keys.c makes more and more rows.
type shortage struct {
	name    string
	mount   string   // arguments of mount, for the directory small
	flags   []string // flags of mpitrace run
	limit   string   // argument of the program; see keys.c
	enough  bool     // no data is lost
	message string   // reason that each rank prints
	fit     int      // largest number of ranks that fit, if not 2; the others use the next place and print nothing
}

var shortages = []shortage{
	{name: "a spool of 1 MiB", mount: "-t tmpfs -o size=1m", flags: []string{"--spool", "small"}, message: "No space left on device"},
	{name: "a spool of 64 KiB", mount: "-t tmpfs -o size=64k", flags: []string{"--spool", "small"}, message: "No space left on device", fit: 1},
	// There is room for the header, but not for the first table. The next place
	// has room.
	{name: "a spool of 48 KiB, sampled", mount: "-t tmpfs -o size=48k", flags: []string{"--spool", "small", "--timing", "sampled"}, message: "No space left on device", enough: true},
	{name: "a disk of 1 MiB", mount: "-t tmpfs -o size=1m", flags: []string{"--spool", "run", "-o", "small/run"}, message: "No space left on device"},
	{name: "a disk of 64 KiB", mount: "-t tmpfs -o size=64k", flags: []string{"--spool", "run", "-o", "small/run"}, message: "No space left on device", fit: 1},
	{name: "a file system that cannot reserve", mount: "-t ramfs", flags: []string{"--spool", "run", "-o", "small/run"}, enough: true},
	{name: "short files", limit: "fsize", message: "File too large"},
	{name: "a short container", flags: []string{"--spool", "run"}, limit: "fsize", message: "File too large"},
	{name: "little memory", limit: "as", message: "Cannot allocate memory"},
}

// TestShortages checks that the program runs as it does alone, that its own
// file on a full disk is unchanged, that each call and byte is counted, and
// that each rank and the report name the loss once.
func TestShortages(t *testing.T) {
	for _, s := range shortages {
		t.Run(s.name, func(t *testing.T) {
			withEach(t, debian, func(t *testing.T, m implementation) { s.test(t, m) })
		})
	}
}

func (s shortage) test(t *testing.T, m implementation) {
	dir := t.TempDir()
	small := filepath.Join(dir, "small")
	command := m.launch(2, m.compile(t, "keys"), "50", s.limit)
	flags := s.flags
	if !slices.Contains(flags, "-o") {
		flags = append(slices.Clip(flags), "-o", "run")
	}
	command = slices.Concat([]string{mpitrace, "run"}, flags, []string{"--"}, command)
	if s.mount != "" {
		if err := os.Mkdir(small, 0o755); err != nil {
			t.Fatal(err)
		}
		command = inNamespace(t, fmt.Sprintf("mount %s none %s && echo precious >%s/file", s.mount, small, small), dir,
			// The mount is visible only in this script.
			"status=0; \"$@\" || status=$?; cat small/file >&2; test ! -d small/run || cp -r small/run .; exit $status", command...)
	} else {
		command = append([]string{"env", "-C", dir}, command...)
	}
	tmp, err := os.MkdirTemp("", "small") // the name is short because Open MPI creates sockets there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	out := execute(t, []string{"TMPDIR=" + tmp}, command...)
	if out.code != 0 || !strings.HasPrefix(out.stdout, "ok\n") || s.mount != "" && !strings.Contains(out.stderr, "precious\n") {
		t.Errorf("status %d, output %q", out.code, out.stdout)
	}
	// Two ranks that reserve space at the same time can leave too little for
	// either.
	said := 0
	for r := range 2 {
		n := strings.Count(out.stderr, fmt.Sprintf("the recording of rank %d cannot grow: %s", r, s.message))
		if n > 1 || n == 0 && !s.enough && s.fit == 0 || n > 0 && s.enough {
			t.Errorf("rank %d reported it %d times", r, n)
		}
		said += n
	}
	if s.fit > 0 && said > s.fit {
		t.Errorf("%d ranks reported it, want at most %d", said, s.fit)
	}
	if told := strings.Contains(out.stderr, "what does not add up"); told != (said > 0) {
		t.Errorf("%d ranks reported it; the report lists losses: %v", said, told)
	}
	others, _ := filepath.Glob(filepath.Join(tmp, "mpitrace-*", "*.rec"))
	ranks := append(readRecordings(t, filepath.Join(dir, "run")), readFiles(t, others)...)
	checkKeys(t, ranks, 50)
	lost := 0
	for _, p := range ranks {
		if p.Losses.Folded > 0 {
			lost++
		}
	}
	if lost != said {
		t.Errorf("%d ranks counted calls without a row, %d reported it", lost, said)
	}
	if t.Failed() {
		t.Log(out.stderr)
	}
}

// checkKeys requires that each call of keys.c is recorded or counted as lost,
// and that the recorded calls have all their messages and bytes.
func checkKeys(t *testing.T, ranks []*profile.Profile, phases uint64) {
	t.Helper()
	if len(ranks) != 2 {
		t.Errorf("%d recordings of 2 ranks", len(ranks))
	}
	for _, p := range ranks {
		var sum profile.Row
		for i := range p.Rows {
			if r := &p.Rows[i]; r.Call == "Sendrecv" && r.Direction == profile.Send {
				sum.Calls, sum.Messages, sum.Bytes = sum.Calls+r.Calls, sum.Messages+r.Messages, sum.Bytes+r.Bytes
			}
		}
		// If a thread has no table at all, its Init is lost, too.
		n, lost := 256*phases, p.Losses.Calls
		if sum.Calls+lost != n && sum.Calls+lost != n+2 || sum.Messages != sum.Calls {
			t.Errorf("rank %d: %d calls recorded with %d messages, %d lost, of %d", p.Rank, sum.Calls, sum.Messages, lost, n)
		}
		if want := phases * 255 * 256 / 2; lost == 0 && sum.Bytes != want {
			t.Errorf("rank %d: %d bytes, want %d", p.Rank, sum.Bytes, want)
		}
	}
}

// inNamespace returns a command line that runs a script with a command in a
// mount namespace of its own, in which mount has mounted something.
func inNamespace(t *testing.T, mount, dir, script string, command ...string) []string {
	t.Helper()
	testenv.Need(t, "unshare", "mount")
	if os.Geteuid() != 0 {
		testenv.Skip(t, "mounting needs root")
	}
	text := fmt.Sprintf("mount --make-rprivate / && %s || exit 99; cd %s; %s", mount, dir, script)
	return append([]string{"unshare", "--mount", "bash", "-c", text, "bash"}, command...)
}

// TestPlaces runs with a run directory that cannot be written to. The recording
// must go to $TMPDIR, with a message. If $TMPDIR does not exist either, nothing
// is recorded. The program must not notice.
func TestPlaces(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "keys")
		for _, c := range []struct{ name, tmp, says string }{
			{"a read-only run directory", "tmp", "the recording stays in "},
			{"and no TMPDIR", "small/none", "nothing is recorded: "},
		} {
			t.Run(c.name, func(t *testing.T) {
				dir := t.TempDir()
				for _, name := range []string{"tmp", "small"} {
					if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				env := []string{"TMPDIR=" + filepath.Join(dir, c.tmp), "MPITRACE_DIR=" + filepath.Join(dir, "small", "run")}
				command := m.launch(2, preload(m.library(t), env, program, "5")...)
				out := execute(t, nil, inNamespace(t, "mount -t tmpfs -o ro none "+filepath.Join(dir, "small"), dir, `"$@"`, command...)...)
				if out.code != 0 || out.stdout != "ok\n" || strings.Count(out.stderr, c.says) != 2 || strings.Count(out.stderr, "\n") != 2 {
					t.Errorf("%+v", out)
				}
				files, _ := filepath.Glob(filepath.Join(dir, "tmp", "*", "*.rec"))
				if want := map[string]int{"tmp": 2}[c.tmp]; len(files) != want {
					t.Errorf("%d recordings in TMPDIR, want %d", len(files), want)
				}
			})
		}
		t.Run("no shared memory", func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			mount := "mount --bind " + filepath.Join(dir, "empty") + " /dev/shm && mount -o remount,bind,ro /dev/shm"
			command := m.launch(2, program, "5")
			alone := execute(t, nil, inNamespace(t, mount, dir, `"$@"`, command...)...)
			under := execute(t, nil, inNamespace(t, mount, dir, `"$@"`, slices.Concat([]string{mpitrace, "run", "-o", "run", "--"}, command)...)...)
			if under.code != alone.code {
				t.Errorf("status %d, alone %d\n%s", under.code, alone.code, under.stderr)
			}
			if alone.code == 0 { // MPICH fails without shared memory
				diff(t, "output", alone.stdout, under.stdout[:min(len(alone.stdout), len(under.stdout))])
				checkKeys(t, readRecordings(t, filepath.Join(dir, "run")), 5)
			}
		})
	})
}

// TestBound makes rows without end. The recording must not exceed its maximum
// size, and each call and byte must be counted.
func TestBound(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, c := range []struct {
			setting string
			phases  uint64
			mb      int64
		}{{"MPITRACE_MAX_MB=", 600, 64}, {"MPITRACE_MAX_MB=1", 40, 1}, {"MPITRACE_MAX_MB=2k", 600, 64}} {
			t.Run(c.setting, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				env := []string{"MPITRACE_DIR=" + dir, c.setting}
				out := succeed(t, nil, m.launch(2, preload(m.library(t), env, m.compile(t, "keys"), fmt.Sprint(c.phases))...)...)
				if n := strings.Count(out.stderr, "that MPITRACE_MAX_MB allows"); n != 2 || out.stdout != "ok\n" {
					t.Errorf("%d of 2 ranks reported it; %q\n%s", n, out.stdout, out.stderr)
				}
				if n := strings.Count(out.stderr, "2k is not a number of MiB"); n != 0 != strings.HasSuffix(c.setting, "k") {
					t.Errorf("a wrong bound was named %d times\n%s", n, out.stderr)
				}
				ranks := readRecordings(t, dir)
				checkKeys(t, ranks, c.phases)
				for _, p := range ranks {
					if p.Losses.Folded == 0 || p.Losses.Calls != 0 || len(p.Rows) < int(c.mb)*1000 {
						t.Errorf("rank %d: %d rows, %+v", p.Rank, len(p.Rows), p.Losses)
					}
				}
				// Both ranks are in one container. The last extent of each may end up to a granule later.
				most := int64(len(ranks))*(c.mb<<20+layout.Granule) + layout.Granule
				if info, err := os.Stat(recording.FileOf(ranks[0].Source)); err != nil || info.Size() > most {
					t.Errorf("a container of at most %d bytes expected: %+v, %v", most, info, err)
				}
			})
		}
	})
}

// TestManyCommunicators makes 100,000 communicators. About as many exist at a
// time as the MPI supports.
func TestManyCommunicators(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		const n = 100000
		kept := map[string]string{"openmpi": "60000", "mpich": "2000"}[m.name]
		dir := filepath.Join(t.TempDir(), "run")
		env := slices.Concat(alone, []string{"MPITRACE_DIR=" + dir, "MPITRACE_MAX_MB=256"})
		out := succeed(t, nil, preload(m.library(t), env, m.compile(t, "many_comms"), fmt.Sprint(n), kept)...)
		if out.stdout != "ok\n" || out.stderr != "" {
			t.Errorf("it printed %q %q", out.stdout, out.stderr)
		}
		ranks := readRecordings(t, dir)
		w := sendrecvs(toSelf(1, 4).times(n))
		w.calls = map[string][]uint64{"Comm_dup": {n}, "Comm_free": {n}, "Sendrecv": {n}}
		w.check(t, ranks)
		if got := len(ranks[0].Comms); got != n+2 || ranks[0].Losses.Any() {
			t.Errorf("%d communicators, want %d and two more; %+v", got, n, ranks[0].Losses)
		}
	})
}

// TestBillion makes 10^7 calls, or 10^9 at level sweep, which takes a minute on an idle
// machine and much longer beside other work.
// Memory must not grow after the first million calls, and each call must be
// counted.
func TestBillion(t *testing.T) {
	millions, level := uint64(10), testenv.Quick
	if testenv.Runs(testenv.Sweep) {
		millions, level = 1000, testenv.Sweep
	}
	withEachAt(t, level, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		env := slices.Concat(alone, []string{"MPITRACE_DIR=" + dir})
		out := executeWithin(t, time.Hour, nil, preload(m.library(t), env, m.compile(t, "billion"), fmt.Sprint(millions))...)
		var before, after int
		fmt.Sscan(out.stdout, &before, &after)
		if out.code != 0 || out.stderr != "" || before == 0 || after > before+64 {
			t.Errorf("status %d: %d KiB after 10^6 calls, %d in the end\n%s", out.code, before, after, out.stderr)
		}
		ranks := readRecordings(t, dir)
		want{calls: map[string][]uint64{"Send": {millions * 500000}, "Iprobe": {millions * 500000}}}.check(t, ranks)
		t.Logf("%d million calls: %d KiB after the first, %d in the end", millions, before, after)
	})
}

// TestClockOfProgram checks that the times in a recording come from the kernel,
// even if the program sees other times, as with libfaketime.
func TestClockOfProgram(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "clock_jumps", "-rdynamic")
		start := time.Now()
		ranks := m.run(t, 2, program).ranks
		limit := time.Since(start)
		for _, p := range ranks {
			wall, application := time.Duration(p.End-p.Start), time.Duration(p.FinalizeStart-p.InitEnd)
			if application < 100*time.Millisecond || wall < application || wall > limit || p.Clocks != (profile.ClockCheck{}) {
				t.Errorf("rank %d: %v in all, %v between MPI_Init and MPI_Finalize, clocks %+v; the run took %v", p.Rank, wall, application, p.Clocks, limit)
			}
			if begun := time.Unix(0, p.Start); begun.Before(start) || begun.After(start.Add(limit)) {
				t.Errorf("rank %d began at %v, not from %v on for %v", p.Rank, begun, start, limit)
			}
		}
	})
}

// TestClocks checks that the system's clock is read, and times are right, if
// the CPU's clock is unreliable. Calls during which the clock ran backwards
// must be counted, with no time.
func TestClocks(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		testenv.Skip(t, "the time stamp counter is x86's")
	}
	one := func(m implementation) bool { return m.name == "openmpi" } // the clock does not depend on the MPI
	withEachAlone(t, one, func(t *testing.T, m implementation) {
		run := func(t *testing.T, clock, program string, args ...string) (p *profile.Profile, dump, printed string) {
			dir := filepath.Join(t.TempDir(), "run")
			lib := m.libraryWith(t, "clocks.h", "-O0", "-D"+clock)
			out := succeed(t, nil, m.launch(2, preload(lib, []string{"MPITRACE_DIR=" + dir}, append([]string{m.compile(t, program)}, args...)...)...)...)
			ranks := readRecordings(t, dir)
			if len(ranks) != 2 {
				t.Fatalf("%d recordings\n%s", len(ranks), out.stderr)
			}
			return ranks[0], succeed(t, nil, mpitrace, "dump", ranks[0].Source).stdout, out.stderr
		}
		t.Run("not invariant", func(t *testing.T) {
			p, dump, printed := run(t, "CLOCK_OF_ANOTHER_CPU", "moments")
			var ticks, monotonic int64
			_, start, _ := strings.Cut(dump, "clock\tstart\t")
			if _, err := fmt.Sscanf(start, "ticks %d monotonic_ns %d", &ticks, &monotonic); err != nil || ticks-monotonic > 1e8 || monotonic-ticks > 1e8 {
				t.Errorf("%d ticks at %d ns, %v: this is not the system's clock", ticks, monotonic, err)
			}
			own := momentsOf(t, printed)[0].inAllreduce
			for _, r := range p.Rows {
				if r.Call == "Allreduce" && (r.TimeNs < 380e6 || r.TimeNs > own || r.TimeNs+500e6 < own) {
					t.Errorf("it waited %d ns for 100 ms and 300 ms, by the program's clock %d", r.TimeNs, own)
				}
			}
		})
		t.Run("jumping", func(t *testing.T) {
			p, _, _ := run(t, "CLOCK_THAT_JUMPS", "keys", "50")
			var spent uint64
			for _, r := range p.Rows {
				spent += r.TimeNs
			}
			if l := p.Losses; l.NegativeTicks == 0 || l.Calls+l.Folded != 0 || spent > uint64(p.End-p.Start) {
				t.Errorf("%d ns in calls of %d; %+v", spent, p.End-p.Start, l)
			}
			checkKeys(t, []*profile.Profile{p, p}, 50)
		})
	})
}
