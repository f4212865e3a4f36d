package profile

import (
	"errors"
	"runtime"
	"sync"
)

// errStopped ends the reading of inputs whose values nobody uses any more.
var errStopped = errors.New("stopped")

// ReadAhead reads n inputs, as many at a time as there are processors, and calls use with their
// values: in the order of the inputs, and for each input in the order in which read gives the
// values. Up to buffer values of an input wait to be used, of at most twice as many inputs as there
// are processors.
// ReadAhead ends at the first error of read or use, when all calls of read have returned.
func ReadAhead[T any](n, buffer int, read func(i int, give func(T) error) error, use func(i int, v T) error) error {
	type input struct {
		values chan T
		err    error // once values is closed
	}
	processors := runtime.GOMAXPROCS(0)
	queue := make(chan *input, 2*processors-1) // and one in use
	stop := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(queue)
		room := make(chan struct{}, processors)
		for i := range n {
			in := &input{values: make(chan T, buffer)}
			select {
			case room <- struct{}{}:
			case <-stop:
				return
			}
			select {
			case queue <- in:
			case <-stop:
				return
			}
			running.Go(func() {
				in.err = read(i, func(v T) error {
					select {
					case in.values <- v:
						return nil
					case <-stop:
						return errStopped
					}
				})
				close(in.values)
				<-room
			})
		}
	})
	i := 0
	for in := range queue {
		for v := range in.values {
			if err := use(i, v); err != nil {
				return err
			}
		}
		if in.err != nil {
			return in.err
		}
		i++
	}
	return nil
}
