package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// stranger is a user id that no user has.
const stranger = 65533

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Skip(t, "needs root, to be another user too")
	}
}

// copyOf copies a program and returns the path of the copy.
func copyOf(t *testing.T, program, to string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err = errors.Join(err, os.WriteFile(to, content, 0o755)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestPlantedDirectory puts the run directory where every user can write.
// Nothing may be recorded into what another user has planted there; recordings
// must go to the node's $TMPDIR.
func TestPlantedDirectory(t *testing.T) {
	needRoot(t)
	withEach(t, debian, func(t *testing.T, m implementation) {
		shared, mine := filepath.Join(t.TempDir(), "shared"), t.TempDir()
		planted, link := filepath.Join(shared, "planted"), filepath.Join(shared, "link")
		err := errors.Join(os.Mkdir(shared, 0o755), os.Chmod(shared, 0o777|os.ModeSticky),
			os.Mkdir(planted, 0o777), os.Chmod(planted, 0o777), os.Chown(planted, stranger, stranger),
			os.Symlink(mine, link), os.Lchown(link, stranger, stranger))
		if err != nil {
			t.Fatal(err)
		}
		program := m.compile(t, "sends")
		for _, dir := range []string{planted, link, link + "/", filepath.Join(link, "sub", "run")} {
			tmp := t.TempDir()
			out := execute(t, []string{"TMPDIR=" + tmp}, m.launch(2, preload(m.library(t), []string{"MPITRACE_DIR=" + dir, "TMPDIR=" + tmp}, program)...)...)
			if out.code != 0 || !strings.HasPrefix(out.stdout, "ok") {
				t.Errorf("%s: exit status %d\n%s%s", dir, out.code, out.stdout, out.stderr)
			}
			if n := strings.Count(out.stderr, "the recording stays in "+tmp); n != 2 {
				t.Errorf("%s: the place of the recordings is printed %d times, want 2:\n%s", dir, n, out.stderr)
			}
			if kept, _ := filepath.Glob(filepath.Join(tmp, "mpitrace-0", "*.rec")); len(kept) != 2 {
				t.Errorf("%s: %d recordings in TMPDIR, want 2", dir, len(kept))
			}
			run := execute(t, nil, append([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(2, program)...)...)
			if run.code == 0 || run.stdout != "" || !strings.Contains(run.stderr, "belongs to another user (65533)") {
				t.Errorf("%s: exit status %d\n%s%s", dir, run.code, run.stdout, run.stderr)
			}
			for _, at := range []string{planted, mine} {
				if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
					t.Errorf("%s: %v is in %s, %v", dir, left, at, err)
				}
			}
		}
	})
}

// TestLibraryOfOthers checks that a library that other users can replace is not
// loaded, and that the program runs as it does without it.
func TestLibraryOfOthers(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program, open := m.compile(t, "sends"), t.TempDir()
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		lib, dir := copyOf(t, m.library(t), filepath.Join(open, "lib.so")), filepath.Join(t.TempDir(), "run")
		out := execute(t, nil, m.launch(2, mpitrace, "rank", "--lib", lib, "--dir", dir, "--", program)...)
		if out.code != 0 || !strings.HasPrefix(out.stdout, "ok") || strings.Count(out.stderr, "not recorded: "+lib+" cannot be trusted: others can write to "+open) != 2 {
			t.Errorf("exit status %d\n%s%s", out.code, out.stdout, out.stderr)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("it was recorded")
		}
		run := execute(t, []string{"MPITRACE_CACHE=" + open}, append([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(2, program)...)...)
		if run.code == 0 || !strings.Contains(run.stderr, "others can write to "+open) {
			t.Errorf("library built in the run directory: exit status %d\n%s%s", run.code, run.stdout, run.stderr)
		}
	})
}

// TestSetUserID checks that a set-user-ID program is not recorded, and that a
// message gives the reason.
func TestSetUserID(t *testing.T) {
	needRoot(t)
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := copyOf(t, m.compile(t, "no_init"), filepath.Join(t.TempDir(), "no_init"))
		if err := errors.Join(os.Chown(program, stranger, 0), os.Chmod(program, 0o755|os.ModeSetuid)); err != nil {
			t.Fatal(err)
		}
		const why = "runs with other rights"
		dir := filepath.Join(t.TempDir(), "run")
		alone := execute(t, nil, program)
		if alone.code != 0 || alone.stdout != "not initialized, user 65533, preloaded \n" {
			t.Fatalf("alone: %+v", alone)
		}
		under := execute(t, nil, mpitrace, "rank", "--lib", m.library(t), "--dir", dir, "--", program)
		if under.code != alone.code || under.stdout != alone.stdout || !strings.Contains(under.stderr, "not recorded: "+program+" "+why) {
			t.Errorf("as a rank: %+v", under)
		}
		run := execute(t, nil, append([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(1, program)...)...)
		if run.code != 2 || !strings.Contains(run.stderr, why) {
			t.Errorf("as a job: %+v", run)
		}
	})
}

// TestHostileJob records a program with a hostile name in a hostile place,
// which uses hostile names itself. All outputs must be harmless.
func TestHostileJob(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		place := filepath.Join(t.TempDir(), "$(touch x); \x1b[2J\n'\"")
		if err := os.Mkdir(place, 0o755); err != nil {
			t.Fatal(err)
		}
		program := copyOf(t, m.compile(t, "hostile_names"), filepath.Join(place, "=cmd()\x1b[31m\nforged\xff"))
		j := record(t, []string{"--format", "prof,arrow"}, m.launch(2, program)...)
		if j.code != 0 || !strings.HasPrefix(j.stdout, "ok") {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		checkWhole(t, 2, j)
		const name = "=cmd()\x1b]0;x\a\t\nforged\u009b"
		for _, p := range j.ranks {
			if !slices.ContainsFunc(p.Comms, func(c profile.Comm) bool { return c.Name == name }) ||
				!slices.ContainsFunc(p.Slices, func(s profile.Slice) bool { return s.Name == name }) {
				t.Errorf("rank %d: communicators %+v, slices %+v", p.Rank, p.Comms, p.Slices)
			}
		}
		checkHarmless(t, "run", j.stderr)
		for _, args := range [][]string{{"report"}, {"report", "--brief", "--json"}, {"report", "--top", "all"}, {"report", "--json"}, {"report", "--rank", "0"}, {"export", "--format", "csv", "-o", "-"}} {
			out := succeed(t, nil, append([]string{mpitrace}, append(args, j.dir)...)...)
			checkHarmless(t, strings.Join(args, " "), out.stdout+out.stderr)
		}
		for _, format := range []string{"prof", "arrow"} {
			files, err := filepath.Glob(filepath.Join(j.dir, format, "*"))
			if err != nil || len(files) != 2 {
				t.Errorf("%d files of %s, %v", len(files), format, err)
			}
			for _, file := range files {
				checkHarmless(t, "the name "+file, file)
			}
		}
	})
}

// TestLongEnvironment uses settings and names of great length. The program must
// be unaffected, and everything that fits must be recorded.
func TestLongEnvironment(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		long := strings.Repeat("x/", 50_000) // Linux limits each string to 128 KiB, and Open MPI all arguments together
		less := long[:20_000]
		for name, env := range map[string][]string{
			"a directory":    {"MPITRACE_DIR=/" + long},
			"a spool":        {"MPITRACE_SPOOL_DIR=/" + long},
			"settings":       {"MPITRACE_TIMING=" + less, "MPITRACE_RECEIVES=" + less, "MPITRACE_STACK=9" + less, "MPITRACE_INTERVAL=9" + less, "MPITRACE_PROF=" + less},
			"no UTF-8":       {"MPITRACE_TIMING=\xff\x1b[2J", "MPITRACE_INTERVAL=\xff\n", "MPITRACE_PROF="},
			"empty settings": {"MPITRACE_SPOOL_DIR=", "MPITRACE_TIMING=", "MPITRACE_STACK=", "MPITRACE_INTERVAL=", "MPITRACE_RECEIVES="},
		} {
			dir, tmp := filepath.Join(t.TempDir(), "run"), t.TempDir()
			env = append([]string{"MPITRACE_DIR=" + dir, "TMPDIR=" + tmp}, env...)
			out := execute(t, []string{"TMPDIR=" + tmp}, m.launch(2, preload(m.library(t), env, m.compile(t, "sends"))...)...)
			if out.code != 0 || !strings.HasPrefix(out.stdout, "ok") {
				t.Errorf("%s: exit status %d\n%.2000s%.2000s", name, out.code, out.stdout, out.stderr)
			}
			checkHarmless(t, name, strings.ToValidUTF8(out.stderr, "?")) // messages show settings as the user gave them
			kept, _ := filepath.Glob(filepath.Join(tmp, "mpitrace-*", "*.rec"))
			if n := len(readRecordings(t, dir)) + len(kept); n != 2 {
				t.Errorf("%s: %d recordings, want 2\n%.2000s", name, n, out.stderr)
			}
		}
	})
}
