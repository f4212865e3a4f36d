package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// FullDisk does the rest of a test where writing fails that makes a file larger
// than so many bytes, as it does on a disk that is full. That is a process of its
// own, since the limit is for all files, and go test keeps a log.
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
	signal.Ignore(syscall.SIGXFSZ) // so that it is an error
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		t.Fatal(err)
	}
	rest()
}

// SmallDisk mounts a disk of so many bytes ("512k"), which "mount -o remount,size="
// can make larger.
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
