package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// unfinished writes a file, or a directory, until this process is killed.
func unfinished(path string, directory bool) {
	if directory {
		WriteDirectory(path, func(dir string) error {
			os.Mkdir(dir, 0o777)
			os.WriteFile(filepath.Join(dir, "half"), []byte("half"), 0o666)
			fmt.Println("under way")
			time.Sleep(time.Hour)
			return nil
		})
	}
	Write(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		fmt.Println("under way")
		time.Sleep(time.Hour)
		return nil
	})
}

// startUnfinished starts a process that writes path and does not end.
func startUnfinished(t *testing.T, path, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ATOMICFILE_TEST_UNFINISHED="+what+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testenv.NoError(t, err)
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "under way\n" {
		t.Fatalf("got %q", line)
	}
	return cmd
}

// left returns the names in a directory, those of temporary files without their digits.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testenv.NoError(t, err)
	var names []string
	for _, e := range entries {
		name := e.Name()
		if part := temporaryPattern.FindStringSubmatch(name); part != nil {
			name = "part of " + part[1]
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func write(t *testing.T, path string) {
	t.Helper()
	testenv.NoError(t, Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }))
}

// A command that is killed leaves a temporary file. The next one that writes the
// same file removes it, but nothing of a process that runs, nor of another file.
func TestKilledProcessLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	x, y, z := filepath.Join(dir, "x"), filepath.Join(dir, "y.html"), filepath.Join(dir, "z")
	killed := []*exec.Cmd{startUnfinished(t, x, ""), startUnfinished(t, x, ""), startUnfinished(t, y, ""), startUnfinished(t, z, "directory ")}
	startUnfinished(t, x, "")
	for _, c := range killed {
		c.Process.Kill()
		c.Wait()
	}
	write(t, x)
	if got, want := left(t, dir), []string{"part of x", "part of y.html", "part of z", "x"}; !slices.Equal(got, want) {
		t.Errorf("after x: %q, want %q", got, want)
	}
	testenv.NoError(t, WriteDirectory(z, func(dir string) error { return os.Mkdir(dir, 0o777) }))
	testenv.NoError(t, WriteOnce(y, func(w io.Writer) error { return nil }))
	if got, want := left(t, dir), []string{"part of x", "x", "y.html", "z"}; !slices.Equal(got, want) {
		t.Errorf("after all: %q, want %q", got, want)
	}
}

// Only files whose process is known to be dead are removed.
func TestAbandonedByOthers(t *testing.T) {
	here, dead := thisMachine(), startUnfinished(t, filepath.Join(t.TempDir(), "x"), "")
	dead.Process.Kill()
	dead.Wait()
	if (here == machine{}) {
		t.Fatal("the kernel does not tell which machine this is")
	}
	pid := uint32(dead.Process.Pid)
	for _, c := range []struct {
		name     string
		where    machine
		modified time.Time
		kept     bool
	}{
		{"a dead process", here, time.Now(), false},
		{"another host", machine{here.host + 1, here.boot}, time.Now(), true},
		{"an earlier boot", machine{here.host, here.boot + 1}, bootTime().Add(-time.Minute), false},
		{"a host of the same name", machine{here.host, here.boot + 1}, time.Now(), true},
		{"an unknown machine", machine{}, time.Now(), true},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, fmt.Sprintf(".x.%08x%08x%08x%08x.part", c.where.host, c.where.boot, pid, 7))
		testenv.NoError(t, os.WriteFile(path, nil, 0o600))
		testenv.NoError(t, os.Chtimes(path, c.modified, c.modified))
		write(t, filepath.Join(dir, "x"))
		if kept := strings.Contains(strings.Join(left(t, dir), ","), "part of x"); kept != c.kept {
			t.Errorf("%s: kept %v", c.name, kept)
		}
	}
}
