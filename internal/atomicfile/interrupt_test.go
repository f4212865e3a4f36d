package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestMain also serves as the program that is interrupted: it keeps writing
// into a temporary directory.
func TestMain(m *testing.M) {
	if path := os.Getenv("ATOMICFILE_TEST_UNFINISHED"); path != "" {
		path, directory := strings.CutPrefix(path, "directory ")
		unfinished(path, directory)
	}
	dir := os.Getenv("ATOMICFILE_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	dir, _, err := MakeTemporary(dir, "part-")
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		os.WriteFile(filepath.Join(dir, fmt.Sprint(i%100)), []byte("part"), 0o666)
		if i == 100 {
			fmt.Println("under way")
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		place := t.TempDir()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ATOMICFILE_TEST_DIR="+place)
		out, err := cmd.StdoutPipe()
		testenv.NoError(t, err)
		testenv.NoError(t, cmd.Start())
		if line, _ := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "under way") {
			t.Fatalf("got %q", line)
		}
		cmd.Process.Signal(s)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != s {
			t.Errorf("%s: ended with %v", s, err)
		}
		if left, _ := os.ReadDir(place); len(left) > 0 {
			t.Errorf("%s: left %v", s, left)
		}
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	part, place := filepath.Join(t.TempDir(), ".x.part"), filepath.Join(t.TempDir(), "x")
	for _, keep := range []bool{true, false} {
		track(part)
		testenv.WriteFile(t, part, "x")
		if keep {
			testenv.NoError(t, uninterrupted(func() error { return os.Rename(part, place) }))
		}
		discard(part)
		if _, err := os.Stat(part); !os.IsNotExist(err) {
			t.Errorf("kept %v: %v", keep, err)
		}
	}
	if _, err := os.Stat(place); err != nil {
		t.Error(err)
	}
}
