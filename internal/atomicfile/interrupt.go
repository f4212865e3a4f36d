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
	left   bool // the signals are somebody else's
}

// ignoredAtStart is found out before any signal is caught.
var ignoredAtStart = slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2}, func(s os.Signal) bool { return !signal.Ignored(s) })

// IgnoredAtStart reports whether this program was started to ignore a signal, as
// by nohup, or by `&` in a shell script.
func IgnoredAtStart(s os.Signal) bool { return slices.Contains(ignoredAtStart, s) }

// LeaveSignals leaves the signals to the caller until back is called: until then
// they do not end the program.
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

// track has a file, or a directory with all that is in it, removed if the
// program is interrupted before discard.
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

// discard removes what is left of a path, and tracks it no more.
func discard(path string) {
	under.Lock()
	defer under.Unlock()
	os.RemoveAll(path)
	delete(under.paths, path)
	if len(under.paths) == 0 && under.caught != nil {
		signal.Stop(under.caught) // what the program does about signals is its own matter again
	}
}

// uninterrupted does what is not to be interrupted: the renaming of several files.
func uninterrupted(do func() error) error {
	under.Lock()
	defer under.Unlock()
	return do()
}

// watch waits for the signals that end programs, except those that this one was
// started to ignore, and then ends by them.
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

// End removes what is under way and ends the program by a signal that it has
// caught. It does not return.
func End(s os.Signal) {
	under.Lock() // for good
	for path := range under.paths {
		remove(path)
	}
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	select {} // until it arrives
}

// remove gives a directory another name first: others still write into it, as
// fast as it is emptied, until they do not find it any more. What they had found
// before is worth another try.
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
