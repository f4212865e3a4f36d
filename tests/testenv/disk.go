package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// FullDisk runs rest, the remainder of a test, with a limit on the size of
// files: writing beyond that number of bytes fails as on a full disk. It runs
// the test in a process of its own, because the limit applies to all files of a
// process, and go test writes a log.
func FullDisk(t *testing.T, bytes uint64, rest func()) {
	t.Helper()
	const child = "MPITRACE_TEST_FULL_DISK"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // writing beyond the limit then returns an error
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		t.Fatal(err)
	}
	rest()
}

// SmallDisk mounts a disk of a size such as "512k" and returns its path. The
// test can enlarge it with "mount -o remount,size=".
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	Need(t, "mount", "umount")
	if os.Geteuid() != 0 {
		Skip(t, "mounting a small disk needs root")
	}
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "small", disk).CombinedOutput(); err != nil {
		Skip(t, fmt.Sprintf("no disk can be mounted here: %v: %s", err, out))
	}
	t.Cleanup(func() { exec.Command("umount", "-l", disk).Run() })
	return disk
}
