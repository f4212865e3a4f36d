package collect

import (
	"cmp"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
)

// Watch observes the processes of this node that start recordings, and how they
// end, although they are children of other programs. It holds a pidfd of each,
// on which the kernel reports the end. It uses no CPU time while nothing
// happens, and it sends no signals. On kernels before 5.3 it observes nothing.
type Watch struct {
	poll, notify, stop int // descriptors: epoll, inotify, eventfd
	dirs               map[int]string
	unseen             []watched            // processes that have not mapped their recording yet
	containers         map[string]time.Time // that were opened, and until when new recordings are looked for in each
	known              map[string]bool      // recordings in containers whose processes were found
	live               map[int]watched      // by descriptor
	deadline           time.Time            // time at which to end; zero before Close
	done               chan struct{}

	mutex sync.Mutex
	seen  []rundir.Process // to end
}

// watched is a process that Watch observes.
type watched struct {
	rundir.Process
	path  string // of its recording
	pidfd int
	until time.Time // last time at which an unseen one is checked again
}

// Limits of a Watch.
const (
	maxWatched    = 4096                  // number of processes at a time
	checkInterval = 10 * time.Millisecond // interval of checking a process that has not mapped its recording yet
	checkUntil    = time.Second
	endUntil      = time.Second // longest time for which Close waits for processes that are ending
)

// NewWatch starts to watch for recordings in the directories. It never returns
// nil. If it cannot start, the Watch observes nothing.
func NewWatch(dirs ...string) *Watch {
	w := &Watch{poll: -1, notify: -1, stop: -1, dirs: map[int]string{}, live: map[int]watched{},
		containers: map[string]time.Time{}, known: map[string]bool{}, done: make(chan struct{})}
	if !w.open(dirs) {
		w.release()
		close(w.done)
		return w
	}
	go w.run()
	return w
}

func (w *Watch) open(dirs []string) bool {
	var errs [3]error
	w.poll, errs[0] = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	w.notify, errs[1] = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	w.stop, errs[2] = unix.Eventfd(0, unix.EFD_CLOEXEC)
	if errs != [3]error{} {
		return false
	}
	for _, dir := range dirs {
		if id, err := unix.InotifyAddWatch(w.notify, dir, unix.IN_CREATE|unix.IN_OPEN|unix.IN_ONLYDIR); err == nil {
			w.dirs[id] = dir
		}
	}
	return len(w.dirs) > 0 && w.expect(w.notify, unix.EPOLLIN) == nil && w.expect(w.stop, unix.EPOLLIN) == nil
}

// release closes the descriptors that open opened and those of processes.
func (w *Watch) release() {
	for fd := range w.live {
		unix.Close(fd)
	}
	for _, p := range w.unseen {
		unix.Close(p.pidfd)
	}
	for _, fd := range []int{w.poll, w.notify, w.stop} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Close stops watching. Ended may still be called.
func (w *Watch) Close() {
	select {
	case <-w.done:
	default:
		unix.Write(w.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		<-w.done
		w.release()
	}
}

// Ended returns the processes that were seen to end, in order of ending.
func (w *Watch) Ended() []rundir.Process {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.SortedStableFunc(slices.Values(w.seen), func(a, b rundir.Process) int { return cmp.Compare(a.Exit.At, b.Exit.At) })
}

func (w *Watch) note(p rundir.Process) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = append(w.seen, p)
}

// expect adds a descriptor to the epoll set.
func (w *Watch) expect(fd int, events uint32) error {
	return unix.EpollCtl(w.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

// run watches processes until it is stopped, and then handles all events that
// have already occurred. It runs in a goroutine of its own.
func (w *Watch) run() {
	defer close(w.done)
	events := make([]unix.EpollEvent, 64)
	for {
		wait := w.timeout()
		n, err := unix.EpollWait(w.poll, events, int(wait.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 && wait == 0 {
			w.unreaped()
			return
		}
		for _, e := range events[:n] {
			switch int(e.Fd) {
			case w.stop:
				w.deadline = time.Now().Add(endUntil)
				unix.EpollCtl(w.poll, unix.EPOLL_CTL_DEL, w.stop, nil)
			case w.notify:
				w.addNew()
			default:
				w.recordEnd(int(e.Fd), e.Events)
			}
		}
		w.follow()
	}
}

// timeout returns how long to wait for events; negative means without limit.
func (w *Watch) timeout() time.Duration {
	switch {
	case w.deadline.IsZero() && len(w.unseen)+len(w.containers) == 0:
		return -time.Millisecond
	case w.deadline.IsZero() || w.ending() && time.Now().Before(w.deadline):
		return checkInterval
	}
	return 0
}

// ending reports whether a process is about to end: the kernel unmaps its
// memory first. A launcher may end while the kernel is still ending its ranks.
func (w *Watch) ending() bool {
	for _, p := range w.live {
		if p.Exit.At == 0 && !rundir.HasMapped(p.Pid, p.Recording) {
			return true
		}
	}
	return false
}

// addNew adds the processes of new recordings. Processes of a container are added later,
// because a process opens the container before its recording is in it.
func (w *Watch) addNew() {
	buffer := make([]byte, 64<<10)
	n, _ := unix.Read(w.notify, buffer)
	for rest := buffer[:max(n, 0)]; len(rest) >= unix.SizeofInotifyEvent; {
		id, mask, name, length := inotifyEvent(rest)
		rest = rest[min(length, len(rest)):]
		path := filepath.Join(w.dirs[id], name)
		switch {
		case strings.HasSuffix(name, recording.ContainerSuffix):
			w.containers[path] = time.Now().Add(checkUntil)
		case mask&unix.IN_CREATE != 0:
			w.add(path)
		}
	}
}

// add adds the process of a recording. It takes the process id from the file
// name, which follow checks afterwards.
func (w *Watch) add(path string) {
	name := filepath.Base(path)
	pid := rundir.Writer(name)
	if pid <= 0 || !strings.HasSuffix(name, rundir.RecordingSuffix) || len(w.live)+len(w.unseen) >= maxWatched {
		return
	}
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		w.unseen = append(w.unseen, watched{rundir.Process{Recording: name, Pid: pid}, path, fd, time.Now().Add(checkUntil)})
	}
}

// addContained adds the processes of new recordings in containers.
func (w *Watch) addContained() {
	for container, until := range w.containers {
		members, _ := recording.Members(container) // one that cannot be read has no processes
		for _, path := range members {
			if !w.known[path] {
				w.known[path] = true
				w.add(path)
			}
		}
		if time.Now().After(until) {
			delete(w.containers, container)
		}
	}
}

// inotifyEvent parses an event into its watch descriptor, mask, file name and
// length in bytes.
func inotifyEvent(b []byte) (id int, mask uint32, name string, length int) {
	id, mask = int(int32(binary.NativeEndian.Uint32(b))), binary.NativeEndian.Uint32(b[4:])
	length = unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
	text := b[unix.SizeofInotifyEvent:min(length, len(b))]
	name, _, _ = strings.Cut(string(text), "\x00")
	return id, mask, name, length
}

// follow starts to follow processes that have mapped the recording with their
// process id in its name. The id may belong to another process, if the
// recording's process is in a container with its own pid namespace.
func (w *Watch) follow() {
	w.addContained()
	w.unseen = slices.DeleteFunc(w.unseen, func(p watched) bool {
		switch {
		case rundir.HasMapped(p.Pid, p.Recording) && w.expect(p.pidfd, unix.EPOLLIN|unix.EPOLLONESHOT) == nil:
			w.live[p.pidfd] = p
		case time.Now().Before(p.until):
			return false
		default:
			unix.Close(p.pidfd)
		}
		return true
	})
}

// recordEnd records the end of a process. Since Linux 6.15 the kernel reports the
// exit status on the pidfd, after the parent has reaped the process (EPOLLHUP).
// On older kernels the status can be read only until the parent reaps it.
func (w *Watch) recordEnd(fd int, events uint32) {
	p, ok := w.live[fd]
	if !ok {
		return
	}
	if p.Exit.At == 0 {
		p.Exit.At = time.Now().UnixNano()
		p.Finalized = recording.IsComplete(p.path)
		if status, ok := zombieStatus(p.Pid); ok {
			p.setStatus(status)
		}
	}
	if status, ok := pidfdStatus(fd); ok {
		p.setStatus(status)
	}
	w.live[fd] = p
	if !p.Exit.Known && events&unix.EPOLLHUP == 0 && w.expectReaped(fd) {
		return
	}
	w.note(p.Process)
	delete(w.live, fd)
	unix.Close(fd)
}

func (p *watched) setStatus(status unix.WaitStatus) {
	p.Exit.Known = true
	if status.Signaled() {
		p.Exit.Signal = int(status.Signal())
	} else {
		p.Exit.Status = status.ExitStatus()
	}
}

// expectReaped has the poll wake once more, when the process is reaped.
func (w *Watch) expectReaped(fd int) bool {
	return unix.EpollCtl(w.poll, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Fd: int32(fd)}) == nil
}

// unreaped records the ends of processes that were not reaped.
func (w *Watch) unreaped() {
	for _, p := range w.live {
		if p.Exit.At != 0 {
			w.note(p.Process)
		}
	}
}

// pidfdStatus returns how a reaped process ended.
func pidfdStatus(fd int) (unix.WaitStatus, bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err := unix.IoctlPidfdInfo(fd, &info)
	return unix.WaitStatus(uint32(info.Exit_code)), err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0
}

// zombieStatus returns how a process ended that is not reaped yet.
func zombieStatus(pid int) (unix.WaitStatus, bool) {
	stat := rundir.ProcessStat(pid)
	if len(stat) < 50 || stat[0] != "Z" {
		return 0, false
	}
	status, err := strconv.ParseUint(stat[49], 10, 32)
	return unix.WaitStatus(status), err == nil
}
