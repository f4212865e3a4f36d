package interpose

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestUnrecordedPipe checks that Unrecorded does not wait for a named pipe,
// which a recording may name as a loaded file.
func TestUnrecordedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "liba.so")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan []string, 1)
	go func() { done <- importsOf(pipe) }()
	select {
	case names := <-done:
		if names != nil {
			t.Errorf("a pipe imports %q", names)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for a writer")
	}
}
