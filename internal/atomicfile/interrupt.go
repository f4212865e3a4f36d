package atomicfile

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

var under struct {
	sync.Mutex
	paths  map[string]bool
	caught chan os.Signal
	left   bool // LeaveSignals is in effect
}

// ignoredAtStart is initialized before the program catches any signal.
var ignoredAtStart = slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2}, func(s os.Signal) bool { return !signal.Ignored(s) })

// IgnoredAtStart reports whether a signal was ignored when this program
// started, as under nohup or after `&` in a shell script.
func IgnoredAtStart(s os.Signal) bool { return slices.Contains(ignoredAtStart, s) }

// LeaveSignals makes this package stop catching signals until back is called.
// Meanwhile the caller handles them.
func LeaveSignals() (back func()) {
	under.Lock()
	defer under.Unlock()
	under.left = true
	if under.caught != nil {
		signal.Stop(under.caught)
	}
	return func() {
		under.Lock()
		defer under.Unlock()
		if under.left = false; len(under.paths) > 0 {
			watch()
		}
	}
}

// track registers a file, or a directory with its content, to be removed if a
// signal ends the program before discard.
func track(path string) {
	under.Lock()
	defer under.Unlock()
	if under.paths == nil {
		under.paths = map[string]bool{}
	}
	if len(under.paths) == 0 && !under.left {
		watch()
	}
	under.paths[path] = true
}

// discard removes the file or directory, if it still exists, and its
// registration by track.
func discard(path string) {
	under.Lock()
	defer under.Unlock()
	os.RemoveAll(path)
	delete(under.paths, path)
	if len(under.paths) == 0 && under.caught != nil {
		signal.Stop(under.caught) // nothing to remove: restore the program's own handling
	}
}

// uninterrupted runs do, which no signal can interrupt, for example to rename
// several files.
func uninterrupted(do func() error) error {
	under.Lock()
	defer under.Unlock()
	return do()
}

// watch catches the signals that end programs, except those that were ignored
// at the start. On a signal it calls End.
func watch() {
	if under.caught == nil {
		under.caught = make(chan os.Signal, 1)
		go func() { End(<-under.caught) }()
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !IgnoredAtStart(s) {
			signal.Notify(under.caught, s)
		}
	}
}

// End removes the tracked files and ends the program by a signal that it has
// caught. It does not return.
func End(s os.Signal) {
	under.Lock() // never unlocked: no other goroutine may commit files now
	for path := range under.paths {
		remove(path)
	}
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	select {} // until the signal arrives
}

// remove removes a file or directory. Other goroutines may still create files
// in the directory as fast as they are removed, so remove renames it first, and
// then retries because of files that were being created during the rename.
func remove(path string) {
	gone := path + ".gone"
	os.RemoveAll(gone)
	if os.Rename(path, gone) != nil {
		gone = path
	}
	const tries = 100
	for range tries {
		if os.RemoveAll(gone) == nil {
			return
		}
	}
}
