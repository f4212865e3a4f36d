package interpose

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestUnrecordedPipe checks that Unrecorded does not wait for a named pipe,
// which a recording may name as a loaded file.
func TestUnrecordedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "liba.so")
	testenv.NoError(t, syscall.Mkfifo(pipe, 0o644))
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
