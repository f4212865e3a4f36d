package tasks

import (
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Do makes the files with the given names, and returns when all are made, by
// this process or others. It runs up to workers tasks at a time: do writes the
// i-th file. made, which may be nil, is called after each file that this
// process has made; an error of it ends the work.
func (d *Directory) Do(names []string, workers int, do func(i int, w io.Writer) error, made func(name string) error) error {
	s := &stage{dir: d, names: names, do: do, made: made, state: make([]state, len(names)), order: d.order(len(names)), poll: firstPoll}
	s.changed.L = &s.mutex
	var work errgroup.Group
	for range min(workers, len(names)) {
		work.Go(s.work)
	}
	return work.Wait()
}

// stage is the work of one call of Do.
type stage struct {
	dir   *Directory
	names []string
	do    func(i int, w io.Writer) error
	made  func(name string) error
	order []int

	mutex    sync.Mutex
	changed  sync.Cond // the fields below have changed
	state    []state
	failed   bool // a worker has returned an error
	sleeping bool // a worker is in wait
	poll     time.Duration
}

type state uint8

const (
	toDo      state = iota
	running         // in this process
	elsewhere       // claimed by another process
	done
)

// work does tasks until none is left for this worker.
func (s *stage) work() error {
	for {
		i, err := s.next()
		if i < 0 || err != nil {
			return s.ended(err)
		}
		name := s.names[i]
		err = s.dir.make(name, func(w io.Writer) error { return s.do(i, w) })
		s.dir.release(name)
		if err == nil {
			s.setDone(i)
			if s.made != nil {
				err = s.made(name)
			}
		}
		if err != nil {
			return s.ended(err)
		}
	}
}

// ended ends a worker. With an error, it also ends the other workers.
func (s *stage) ended(err error) error {
	if err != nil {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.failed = true
		s.changed.Broadcast()
	}
	return err
}

func (s *stage) setDone(i int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.state[i] = done
	s.changed.Broadcast()
}

// next claims a task. It waits while other processes do the rest. It returns -1
// if nothing is left for this worker.
func (s *stage) next() (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for !s.failed {
		waiting := false
		for _, i := range s.order {
			if s.state[i] == toDo {
				if claimed, err := s.claim(i); claimed || err != nil {
					return i, err
				}
			}
			waiting = waiting || s.state[i] == elsewhere
		}
		if !waiting {
			return -1, nil
		}
		s.wait()
	}
	return -1, nil
}

// claim claims a task that is not done.
func (s *stage) claim(i int) (bool, error) {
	if s.dir.Has(s.names[i]) {
		s.state[i] = done
		return false, nil
	}
	claimed, err := s.dir.claim(s.names[i])
	if err != nil {
		return false, err
	}
	s.state[i] = elsewhere
	if claimed {
		s.state[i], s.poll = running, firstPoll
	}
	return claimed, nil
}

// wait waits until other processes' tasks are to be looked at again. Only one
// worker sleeps; the others wait for it.
func (s *stage) wait() {
	if s.sleeping {
		s.changed.Wait()
		return
	}
	s.sleeping = true
	pause := s.poll
	// so at most an eighth of the time is spent waiting in vain
	s.poll = min(s.poll+s.poll/8, longestPoll)
	s.mutex.Unlock()
	time.Sleep(pause)
	s.mutex.Lock()
	s.sleeping = false
	for i := range s.state {
		if s.state[i] == elsewhere {
			s.state[i] = toDo
		}
	}
	s.changed.Broadcast()
}
