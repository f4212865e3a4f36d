// Package scratch keeps what is under way from being left behind: files that are
// written beside their place are removed when a signal ends the program, which
// may be gigabytes that nobody sees, as their names begin with a dot.
package scratch

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

var under struct {
	sync.Mutex
	paths map[string]bool
	watch sync.Once
}

// Track has a file, or a directory with all that is in it, removed if the
// program is interrupted before Done.
func Track(path string) {
	under.watch.Do(watch)
	under.Lock()
	defer under.Unlock()
	if under.paths == nil {
		under.paths = map[string]bool{}
	}
	under.paths[path] = true
}

// Done removes what is left of a path, and tracks it no more.
func Done(path string) {
	under.Lock()
	defer under.Unlock()
	os.RemoveAll(path)
	delete(under.paths, path)
}

// Whole does what is not to be interrupted: the renaming of several files.
func Whole(do func() error) error {
	under.Lock()
	defer under.Unlock()
	return do()
}

// watch waits for the signals that end programs, but for those that this one
// was started to ignore (nohup, a shell's background), and then ends by them.
func watch() {
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	go func() {
		s := <-caught
		under.Lock() // for good
		for path := range under.paths {
			remove(path)
		}
		signal.Reset(s)
		syscall.Kill(os.Getpid(), s.(syscall.Signal))
	}()
}

// remove tries again where others write into the directory meanwhile.
func remove(path string) {
	const tries = 100
	for range tries {
		if os.RemoveAll(path) == nil {
			return
		}
	}
}
