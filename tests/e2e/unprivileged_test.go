package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// An unprivileged user can run mpitrace and programs in a directory of the user's.
type unprivileged struct {
	dir      string // of the user
	mpitrace string
	prefix   []string // runs a command as the user
	env      []string
}

// asUser returns a user who is not root: root can read every file. That is the user
// of the test, or nobody if that is root.
func asUser(t *testing.T) unprivileged {
	t.Helper()
	dir, err := os.MkdirTemp("", "mpitrace-user-") // the directories of tests are root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	u := unprivileged{dir: filepath.Join(dir, "home"), mpitrace: filepath.Join(dir, "mpitrace")}
	u.env = []string{"HOME=" + u.dir, "XDG_CONFIG_HOME=" + u.dir, "MPITRACE_CACHE=" + filepath.Join(u.dir, "cache"), "TMPDIR=/tmp"}
	err = os.Mkdir(u.dir, 0o755)
	if os.Getuid() == 0 {
		const nobody = 65534
		testenv.Need(t, "setpriv")
		u.prefix = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
		err = errors.Join(err, os.Chown(u.dir, nobody, nobody), os.Chmod(dir, 0o755))
	}
	err = errors.Join(err, os.WriteFile(u.mpitrace, readAll(t, mpitrace), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// copy makes a copy of a program outside of the user's own directory.
func (u unprivileged) copy(t *testing.T, program string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(u.dir), filepath.Base(program))
	if err := os.WriteFile(path, readAll(t, program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func (u unprivileged) run(t *testing.T, command ...string) output {
	t.Helper()
	return execute(t, u.env, slices.Concat(u.prefix, []string{"env", "-C", u.dir}, command)...)
}

// TestExecuteOnly records a program that the user may run, but not read. What its
// MPI is shows only when it runs. (Several such processes on a node cannot share
// memory under Debian's MPICH: bare, too.)
func TestExecuteOnly(t *testing.T) {
	needPrebuilt(t)
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		u := asUser(t)
		program := u.copy(t, m.compile(t, "reloaded_main"), 0o111)
		for name, command := range map[string][]string{
			"under its launcher":    slices.Concat([]string{"run", "-o", "run", "--strict", "--"}, m.launch(1, program)),
			"under another":         slices.Concat([]string{"run", "-o", "run", "--strict", "--"}, otherDebian(m).launch(1, program)),
			"without a launcher":    {"run", "-o", "run", "--strict", "--", program},
			"with its MPI named":    slices.Concat([]string{"run", "-o", "run", "--strict", "--mpi", m.name, "--"}, m.launch(1, program)),
			"as a rank by launcher": nil,
		} {
			t.Run(name, func(t *testing.T) {
				defer os.RemoveAll(filepath.Join(u.dir, "run"))
				var out output
				if command != nil {
					out = u.run(t, append([]string{u.mpitrace}, command...)...)
				} else {
					out = u.run(t, m.launch(1, u.mpitrace, "run", "-o", "run", "--", program)...)
				}
				ranks := readRecordings(t, filepath.Join(u.dir, "run"))
				if out.code != 0 || len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 1 {
					t.Errorf("exit status %d, %d recordings\n%s", out.code, len(ranks), strings.TrimSpace(out.stdout+out.stderr))
				}
			})
		}
	})
}

// TestUmask takes all rights from files that a process makes. Recordings, their
// continuations and new directories stay the owner's to read and write. Directories that
// exist keep their rights.
func TestUmask(t *testing.T) {
	needPrebuilt(t)
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		u := asUser(t)
		program := u.copy(t, m.compile(t, "umask"), 0o755)
		for _, spool := range []string{"auto", "run"} {
			out := u.run(t, slices.Concat([]string{u.mpitrace, "run", "-o", spool, "--spool", spool, "--strict", "--trace", "--trace-buffer", "1M", "--"},
				m.launch(1, program))...)
			// Sendrecv sends and receives; MPI_Init and MPI_Finalize are events too.
			if want := "200,002 events of 1 process"; out.code != 0 || !strings.Contains(out.stderr, want) {
				t.Errorf("--spool %s: exit status %d, want %s\n%s", spool, out.code, want, out.stderr)
			}
		}
		library := strings.TrimSpace(u.run(t, u.mpitrace, "preload").stdout)
		// What is in a directory with setgid has its group.
		shared, closed := filepath.Join(u.dir, "shared"), filepath.Join(u.dir, "closed")
		run := filepath.Join(shared, "new", "run")
		u.run(t, "mkdir", "-m", "2750", shared)
		u.run(t, "mkdir", "-m", "0070", closed)
		u.run(t, "env", "LD_PRELOAD="+library, "MPITRACE_DIR="+run, program, "early") // MPI_Init may fail: it cannot use its files
		files := 0
		err := filepath.WalkDir(shared, func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && (info.Mode().Perm()&0o600 != 0o600 || e.IsDir() && info.Mode()&os.ModeSetgid == 0) {
				t.Errorf("%s has the rights %v", path, info.Mode())
			}
			if e.Type().IsRegular() {
				files++
			}
			return err
		})
		if err != nil || files == 0 {
			t.Errorf("%d recordings, %v", files, err)
		}
		u.run(t, "env", "LD_PRELOAD="+library, "TMPDIR="+u.dir, "MPITRACE_DIR="+filepath.Join(closed, "run"), program)
		for path, want := range map[string]os.FileMode{shared: os.ModeDir | os.ModeSetgid | 0o750, closed: os.ModeDir | 0o070} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("the rights of %s were changed from %v to %v, %v", path, want, info.Mode(), err)
			}
		}
	})
}
