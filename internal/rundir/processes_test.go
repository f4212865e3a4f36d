package rundir

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestStopped(t *testing.T) {
	child := exec.Command("sleep", "60")
	testenv.NoError(t, child.Start())
	defer child.Wait()
	defer child.Process.Kill()
	if Stopped(child.Process.Pid) {
		t.Error("it runs, and is said to be stopped")
	}
	testenv.NoError(t, child.Process.Signal(syscall.SIGSTOP))
	for range 1000 {
		if Stopped(child.Process.Pid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it is not seen to be stopped")
}
