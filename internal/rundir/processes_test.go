package rundir

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestStopped(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if Stopped(child.Process.Pid) {
		t.Error("it runs, and is said to be stopped")
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if Stopped(child.Process.Pid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it is not seen to be stopped")
}
