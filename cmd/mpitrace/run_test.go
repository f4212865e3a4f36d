package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestRunJob(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		got := sh(t, dir, "$mpitrace run -o run --format prof,arrow -- "+m.launcher+" -n 3 "+m.ring(t)+" 100")
		if got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
		if slices.Sort(lines); !slices.Equal(lines, []string{"rank 0 of 3", "rank 1 of 3", "rank 2 of 3"}) {
			t.Errorf("the program's output is %q", got.stdout)
		}
		if !strings.Contains(got.stderr, "3 of 3 ranks") {
			t.Errorf("no summary:\n%s", got.stderr)
		}
		runDir := filepath.Join(dir, "run")
		jobs := load(t, runDir)
		if len(jobs) != 1 {
			t.Fatalf("%d jobs, want 1", len(jobs))
		}
		checkRing(t, jobs[0], 3, 100)
		checkFiles(t, runDir, "ring-"+m.name)
		checkInfo(t, runDir)
		checkSpoolGone(t, runDir)
	})
}

// checkFiles requires that the files contain the messages of the ring: rank 2
// sends 3 messages of 100 bytes to rank 0.
func checkFiles(t *testing.T, runDir, stem string) {
	t.Helper()
	f, err := os.Open(filepath.Join(runDir, "prof", stem+".2.prof"))
	testenv.NoError(t, err)
	defer f.Close()
	traffic, err := prof.Read(f, f.Name())
	if err != nil || len(traffic.Flows) == 0 {
		t.Fatalf("no flows: %v", err)
	}
	if e := traffic.Flows[0]; e.Kind != profile.External || e.From != 2 || e.To != 0 || e.Messages != 3 || e.Bytes != 300 {
		t.Errorf("first line is %+v", e)
	}
	for _, name := range []string{"profile.arrow", "arrow/" + stem + ".0.arrow"} {
		ps, err := readback.Profiles(filepath.Join(runDir, name))
		if err != nil || len(ps) == 0 {
			t.Errorf("%s: %d profiles, %v", name, len(ps), err)
		}
	}
	parts, _ := filepath.Glob(filepath.Join(runDir, "*.part"))
	if len(parts) > 0 {
		t.Errorf("partial files are left: %q", parts)
	}
}

func checkInfo(t *testing.T, runDir string) {
	t.Helper()
	info, err := rundir.Dir(runDir).ReadInfo()
	testenv.NoError(t, err)
	if info.ExitStatus == nil || *info.ExitStatus != 0 || info.WallNs <= 0 || len(info.Jobs) != 1 || info.Jobs[0].Size != 3 {
		t.Errorf("run.json holds %+v", info)
	}
	if !slices.Contains(info.Launched, "rank") || slices.Contains(info.Command, "rank") {
		t.Errorf("command %q was launched as %q", info.Command, info.Launched)
	}
}

func checkSpoolGone(t *testing.T, runDir string) {
	t.Helper()
	info, err := rundir.Dir(runDir).ReadInfo()
	testenv.NoError(t, err)
	if !strings.HasPrefix(info.Spool, "/dev/shm/mpitrace-") {
		t.Skipf("spool was %q: /dev/shm has no room here", info.Spool)
	}
	if _, err := os.Stat(info.Spool); !os.IsNotExist(err) {
		t.Errorf("the spool is still there: %v", err)
	}
}

func TestRunWithoutLauncher(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		if got := sh(t, dir, "$mpitrace run -o run --spool run -- "+m.ring(t)+" 100"); got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		checkRing(t, load(t, filepath.Join(dir, "run"))[0], 1, 100)
	})
}

func TestRunScript(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		script := "#!/bin/sh\nset -e\n"
		for _, n := range []string{"1", "2", "3"} {
			script += m.launcher + " -n " + n + " " + m.ring(t) + " 10" + n + "\n"
		}
		testenv.WriteProgram(t, filepath.Join(dir, "job.sh"), script)
		got := sh(t, dir, "$mpitrace run -o run --format prof --mpi "+m.name+" -- ./job.sh")
		if got.code != 0 || !strings.Contains(got.stderr, "is a script") {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		jobs := load(t, filepath.Join(dir, "run"))
		if len(jobs) != 3 {
			t.Fatalf("%d jobs, want 3", len(jobs))
		}
		report := sh(t, dir, "$mpitrace report --full run").stdout
		for _, text := range []string{got.stderr, report} { // a table of the jobs precedes the summaries
			table, _, _ := strings.Cut(text[max(strings.Index(text, "job  program"), 0):], "\n\n")
			lines := strings.Split(table, "\n")
			if len(lines) != 4 || strings.Index(text, table) > strings.Index(text, " ranks, ") {
				t.Fatalf("no table of 3 jobs first:\n%s", text)
			}
			for n := 1; n <= 3; n++ {
				if !regexp.MustCompile(fmt.Sprintf(`^%d +ring-%s +%d +.* complete$`, n, m.name, n)).MatchString(lines[n]) {
					t.Errorf("job %d: %q", n, lines[n])
				}
			}
		}
		for i, j := range jobs {
			checkRing(t, j, i+1, uint64(101+i))
		}
		files, _ := filepath.Glob(filepath.Join(dir, "run", "prof", "ring-"+m.name+"-job*.prof"))
		if len(files) != 6 {
			t.Errorf("files %q, want one for each of 1 + 2 + 3 ranks", files)
		}
	})
}

func TestRunUnderLauncher(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		if got := call("build", "--mpi", m.name); got.code != 0 {
			t.Fatal(got.stderr)
		}
		dir := t.TempDir()
		got := sh(t, dir, m.launcher+" -n 3 $mpitrace run -- "+m.ring(t)+" 100")
		if got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		runs, _ := filepath.Glob(filepath.Join(dir, "mpitrace-ring-*"))
		if len(runs) != 1 {
			t.Fatalf("run directories %q, want one that all ranks share", runs)
		}
		report := call("report", "--json", runs[0])
		if report.code != 0 {
			t.Fatal(report.stderr)
		}
		checkJSON(t, report.stdout)
		checkRing(t, load(t, runs[0])[0], 3, 100)
		for _, name := range []string{"profile.arrow", "comms.arrow", "ranks.arrow", "run.json"} {
			if _, err := os.Stat(filepath.Join(runs[0], name)); err != nil {
				t.Errorf("report did not merge: %v", err)
			}
		}
	})
}

// checkJSON requires the totals of the ring on 3 ranks: 1 + 2 + 3 messages of
// 100 bytes.
func checkJSON(t *testing.T, text string) {
	t.Helper()
	var report struct {
		Jobs []struct {
			Recorded int `json:"ranks_recorded"`
			Traffic  []struct {
				Class    string
				Bytes    uint64
				Messages uint64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(report.Jobs) != 1 || report.Jobs[0].Recorded != 3 {
		t.Fatalf("got %+v", report)
	}
	for _, m := range report.Jobs[0].Traffic {
		if m.Class == "external" && (m.Bytes != 600 || m.Messages != 6) {
			t.Errorf("external traffic %+v, want 600 bytes in 6 messages", m)
		}
	}
}

func TestRunExitStatus(t *testing.T) {
	m := mpis[1]
	ring := m.ring(t)
	for _, test := range []struct {
		name, command string
		want          int
	}{
		{"success", "$mpitrace run --strict -- " + ring + " 8", 0},
		{"the program's own", "$mpitrace run -- " + ring + " 8 7", 7},
		{"the program's own, strict", "$mpitrace run --strict -- " + ring + " 8 7", 7},
		{"not finalized", "$mpitrace run -- " + ring + " 8 0", 0},
		{"not finalized, strict", "$mpitrace run --strict -- " + ring + " 8 0", exitIncomplete},
		{"nothing recorded", "$mpitrace run -- true", 0},
		{"nothing recorded, strict", "$mpitrace run --strict -- true", exitIncomplete},
		{"killed", "$mpitrace run -- sh -c 'kill -9 $$'", 137},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := sh(t, t.TempDir(), test.command)
			if got.code != test.want {
				t.Errorf("status %d, want %d\n%s", got.code, test.want, got.stderr)
			}
			if nothing := strings.Contains(test.name, "nothing"); strings.Contains(got.stderr, "nothing was recorded") != (nothing || test.name == "killed") {
				t.Errorf("unexpected stderr\n%s", got.stderr)
			}
		})
	}
}

// A launch that fails leaves no directory, and so does not block its name.
func TestRunFailedLaunch(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		got := sh(t, dir, "$mpitrace run -o run -- "+m.launcher+" --no-such-option -n 3 "+m.ring(t))
		if got.code == 0 || !strings.Contains(got.stderr, "nothing was recorded") {
			t.Errorf("status %d\n%s", got.code, got.stderr)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%v is left", entries)
		}
		if got := sh(t, dir, "$mpitrace run -o run -- "+m.launcher+" -n 3 "+m.ring(t)+" 100"); got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		checkRing(t, load(t, filepath.Join(dir, "run"))[0], 3, 100)
	})
}

// A place for the run that cannot be written is noticed before a library is built.
func TestRunUnwritable(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		cache := t.TempDir()
		t.Setenv("MPITRACE_CACHE", cache)
		got := sh(t, t.TempDir(), "$mpitrace run -o /proc/self/run -- "+m.launcher+" -n 3 "+m.ring(t))
		if got.code == 0 || got.stdout != "" || !strings.HasPrefix(got.stderr, "mpitrace: make run directory: ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("status %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
		}
		if entries, _ := os.ReadDir(cache); len(entries) > 0 {
			t.Errorf("%v was made before", entries)
		}
	})
}

func TestRunMPMD(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir, ring := t.TempDir(), m.ring(t)
		got := sh(t, dir, "$mpitrace run -o run -- "+m.launcher+" -n 1 "+ring+" 64 : -n 2 sh -c '"+ring+" 64'")
		if got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		checkRing(t, load(t, filepath.Join(dir, "run"))[0], 3, 64)
	})
}

// The library for one MPI must not be loaded into a program of another. If the
// command itself names such a program, --mpi of another MPI is an error: see
// TestStatusOfOtherMPI.
func TestRunOtherMPI(t *testing.T) {
	testenvNeedsBoth(t)
	dir := t.TempDir()
	got := sh(t, dir, "$mpitrace run -o run --mpi openmpi -- mpiexec.mpich -n 2 sh -c '"+mpis[1].ring(t)+" 8'")
	if got.code != 0 || strings.Count(got.stdout, "of 2") != 2 {
		t.Errorf("the program did not run: status %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if jobs := load(t, filepath.Join(dir, "run")); len(jobs) != 0 || !strings.Contains(got.stderr, "not recorded: 2 processes of "+mpis[1].ring(t)+", which uses another MPI") {
		t.Errorf("%d jobs recorded\n%s", len(jobs), got.stderr)
	}
}

func testenvNeedsBoth(t *testing.T) {
	t.Helper()
	for _, m := range mpis {
		m.ring(t)
	}
}

// AddressSanitizer's runtime ends a program into which another library was loaded
// before it, unless ASAN_OPTIONS allows that. The program may be behind one that
// does not tell.
func TestRunAddressSanitizer(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		if got := sh(t, dir, m.cc+" -fsanitize=address "+abs(t, "testdata/ring.c")+" -o asan"); got.code != 0 {
			t.Fatal(got.stderr)
		}
		for i, command := range []string{m.launcher + " -n 2 ./asan 8", m.launcher + " -n 2 nice ./asan 8", "bash -c '" + m.launcher + " -n 2 ./asan 8'"} {
			name := fmt.Sprint("run", i)
			got := sh(t, dir, "ASAN_OPTIONS=detect_leaks=0 $mpitrace run -o "+name+" -- "+command)
			if got.code != 0 {
				t.Fatalf("%s: status %d\n%s", command, got.code, got.stderr)
			}
			checkRing(t, load(t, filepath.Join(dir, name))[0], 2, 8)
		}
	})
}

func abs(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	testenv.NoError(t, err)
	return full
}

// If mpitrace is killed, the recordings stay in the spool, and report finds
// them there.
func TestReportAfterRunWasKilled(t *testing.T) {
	dir := t.TempDir()
	// The script ends only after the shell that started it has killed mpitrace.
	script := "#!/bin/sh\n" + mpis[1].ring(t) + " 100\ntouch done\nsleep 2\n"
	testenv.WriteProgram(t, filepath.Join(dir, "job.sh"), script)
	sh(t, dir, "$mpitrace run -o run --mpi mpich -- ./job.sh & p=$!; while ! test -e done; do sleep 0.01; done; kill -9 $p; wait $p")
	runDir := filepath.Join(dir, "run")
	if got := call("report", runDir); got.code != 0 || !strings.Contains(got.stdout, "1 of 1 ranks") {
		t.Errorf("got %+v", got)
	}
	checkRing(t, load(t, runDir)[0], 1, 100)
	if info, err := rundir.Dir(runDir).ReadInfo(); err == nil && info.Spool != "" {
		os.RemoveAll(info.Spool)
	}
}

func TestReportRank(t *testing.T) {
	m := mpis[1]
	dir := t.TempDir()
	sh(t, dir, "$mpitrace run -o run --no-report -- "+m.launcher+" -n 2 "+m.ring(t)+" 100")
	runDir := filepath.Join(dir, "run")
	if got := call("report", "--rank", "1", runDir); got.code != 0 || !strings.Contains(got.stdout, "rank 1 of 2") {
		t.Errorf("got %+v", got)
	}
	if got := call("report", "--rank", "2", runDir); got.code != exitUsage || !strings.Contains(got.stderr, "rank 2") {
		t.Errorf("a rank that does not exist: %+v", got)
	}
	before := call("report", runDir)
	// Without recordings, the summary comes from the merged file.
	testenv.NoError(t, os.RemoveAll(rundir.Dir(runDir).Recordings()))
	if after := call("report", runDir); after.stdout != before.stdout || after.code != 0 {
		t.Errorf("without recordings:\n%s\nwith:\n%s", after.stdout+after.stderr, before.stdout)
	}
}

func TestDump(t *testing.T) {
	m := mpis[1]
	dir := t.TempDir()
	sh(t, dir, "$mpitrace run -o run --no-report -- "+m.ring(t)+" 100")
	files, err := rundir.Dir(filepath.Join(dir, "run")).RecordingFiles()
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if got := call("dump", files[0]); got.code != 0 || !strings.Contains(got.stdout, "Barrier") {
		t.Errorf("got %+v", got)
	}
	if got := call("dump", filepath.Join(dir, "none.rec")); got.code != exitUsage {
		t.Errorf("a missing file: %+v", got)
	}
}

func TestBuild(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		got := call("build", "--cc", m.cc, "--print-path", "-o", dir)
		want := filepath.Join(dir, "libmpitrace-"+m.name+".so")
		if got.code != 0 || got.stdout != want+"\n" {
			t.Errorf("got %+v, want %s", got, want)
		}
		if _, err := os.Stat(want); err != nil {
			t.Error(err)
		}
	})
}

func TestDoctor(t *testing.T) {
	testenvNeedsBoth(t)
	got := call("doctor")
	if got.code != 0 || strings.Count(got.stdout, "works: a program was compiled, run and recorded") < len(mpis) {
		t.Errorf("got %+v", got)
	}
}

// Flags must reach the processes. Settings without a flag keep the value of the
// user's environment.
func TestRunSettings(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		for _, test := range []struct{ env, flags, want string }{
			{"", "", ""},
			{"", "--timing sampled --receives off", "MPITRACE_RECEIVES=off MPITRACE_TIMING=sampled"},
			{"MPITRACE_TIMING=off ", "--receives on", "MPITRACE_RECEIVES=on MPITRACE_TIMING=off"},
			{"MPITRACE_TIMING=off MPITRACE_RECEIVES=off ", "--timing exact", "MPITRACE_RECEIVES=off MPITRACE_TIMING=exact"},
		} {
			dir := t.TempDir()
			got := sh(t, dir, test.env+"$mpitrace run -o run "+test.flags+" --mpi "+m.name+" -- "+m.launcher+
				` -n 1 sh -c 'env | grep -E "MPITRACE_(TIMING|RECEIVES)" | sort'`)
			if words := strings.Join(strings.Fields(got.stdout), " "); words != test.want {
				t.Errorf("%q with %q: got %q, want %q\n%s", test.env, test.flags, words, test.want, got.stderr)
			}
		}
		got := sh(t, t.TempDir(), "MPITRACE_TIMING=never $mpitrace run -- "+m.launcher+" -n 1 true")
		if want := `MPITRACE_TIMING "never": it can be exact, sampled, off`; got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("status %d, no %q in %s", got.code, want, got.stderr)
		}
	})
}
