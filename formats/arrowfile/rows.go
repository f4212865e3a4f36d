package arrowfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/mpitrace/mpitrace/formats/table"
)

const (
	// maxUnsorted is the maximum number of rows of a table that is not ordered by run
	// and rank: they take about 1 GB.
	maxUnsorted = 4 << 20
	// maxOfProcess is the maximum number of rows of one process.
	maxOfProcess = 16 << 20
)

// key identifies a process.
type key struct {
	run  string
	rank int32
}

// runOrder is the order of the runs: the order in which the tables name them.
type runOrder struct {
	number map[string]int
	names  []string
}

func (o *runOrder) of(run string) int {
	n, known := o.number[run]
	if !known {
		if o.number == nil {
			o.number = map[string]int{}
		}
		n = len(o.names)
		o.number[run] = n
		o.names = append(o.names, run)
	}
	return n
}

func (o *runOrder) compare(a, b key) int {
	if a.run == b.run {
		return cmp.Compare(a.rank, b.rank)
	}
	return cmp.Compare(o.of(a.run), o.of(b.run))
}

func (o *runOrder) less(a, b key) bool { return o.compare(a, b) < 0 }

// decoder returns a function that reads one row of a batch after the other.
type decoder[T any] func(*columns) func(i int) (T, error)

// rows are the rows of a table.
type rows[T any] struct {
	path   string
	runs   *runOrder
	absent map[string]string
	decode decoder[T]
	sorted bool   // by run and rank
	noRun  bool   // there is no column run
	lost   string // the value of table.KeyLost in the file's metadata
}

func newRows[T, C any](path string, runs *runOrder, cols []table.Column[C], decode decoder[T]) *rows[T] {
	return &rows[T]{path: path, runs: runs, absent: absentOf(cols), decode: decode, sorted: true}
}

// group is the rows of one process.
type group[T any] struct {
	key
	rows []T
}

var errStop = errors.New("stop")

// each calls f with each row.
func (r *rows[T]) each(f func(key, T) error) error {
	texts := map[string]*texts{}
	err := eachBatch(r.path, func(batch arrow.Record) (err error) {
		defer recovered(&err)
		r.lost, _ = batch.Schema().Metadata().GetValue(table.KeyLost)
		c := &columns{Record: batch, absent: r.absent, texts: texts}
		if r.noRun = !c.has("run"); r.noRun && len(r.runs.names) > 1 {
			return errors.New("there is no column run, and another table has several runs")
		}
		run, ranks := c.word("run"), c.integers("rank", -1, math.MaxInt32)
		row := r.decode(c)
		for i := range int(batch.NumRows()) {
			if c.err != nil {
				return c.err
			}
			if err := r.row(c, i, run, ranks, row, f); err != nil {
				return err
			}
		}
		return c.err
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (r *rows[T]) row(c *columns, i int, run func(int) string, ranks func(int) (uint64, bool), row func(int) (T, error), f func(key, T) error) error {
	rank, known := ranks(i)
	if !known && c.err == nil {
		return fmt.Errorf("row %d: column rank has no value", i)
	}
	k := key{run(i), int32(rank)}
	if r.noRun && len(r.runs.names) > 0 {
		k.run = r.runs.names[0]
	}
	value, err := row(i)
	if err == nil {
		err = c.err
	}
	if err != nil {
		return fmt.Errorf("row %d: %w", i, err)
	}
	return f(k, value)
}

// scan looks through the table for its order, and calls note with each row.
func (r *rows[T]) scan(note func(T)) error {
	var last key
	n := 0
	err := r.each(func(k key, row T) error {
		r.runs.of(k.run)
		if n > 0 && r.runs.less(k, last) {
			r.sorted = false
		}
		last = k
		n++
		if note != nil {
			note(row)
		}
		return nil
	})
	if err == nil && !r.sorted && n > maxUnsorted {
		err = tableError(r.path, fmt.Errorf("its %d rows are not ordered by run and rank, and at most %d can be sorted in memory: sort them first", n, maxUnsorted))
	}
	return err
}

func tableError(path string, err error) error {
	return &fs.PathError{Op: "read arrow file", Path: path, Err: err}
}

// groups iterates over the processes, in order.
func (r *rows[T]) groups() iter.Seq2[group[T], error] {
	return func(yield func(group[T], error) bool) {
		var err error
		if r.sorted {
			err = r.inOrder(func(g group[T]) bool { return yield(g, nil) })
		} else {
			err = r.outOfOrder(func(g group[T]) bool { return yield(g, nil) })
		}
		if err != nil {
			yield(group[T]{}, err)
		}
	}
}

func (r *rows[T]) inOrder(yield func(group[T]) bool) error {
	var g group[T]
	stopped := false
	err := r.each(func(k key, row T) error {
		if len(g.rows) > 0 && k != g.key {
			if stopped = !yield(g); stopped {
				return errStop
			}
			g.rows = nil
		}
		if len(g.rows) == maxOfProcess {
			return fmt.Errorf("rank %d has more than %d rows", k.rank, maxOfProcess)
		}
		g.key, g.rows = k, append(g.rows, row)
		return nil
	})
	if err == nil && !stopped && len(g.rows) > 0 {
		yield(g)
	}
	return err
}

func (r *rows[T]) outOfOrder(yield func(group[T]) bool) error {
	type keyed struct {
		key
		row T
	}
	var all []keyed
	err := r.each(func(k key, row T) error {
		all = append(all, keyed{k, row})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return r.runs.compare(a.key, b.key) })
	for len(all) > 0 {
		g := group[T]{key: all[0].key}
		for len(all) > 0 && all[0].key == g.key {
			g.rows, all = append(g.rows, all[0].row), all[1:]
		}
		if !yield(g) {
			return nil
		}
	}
	return nil
}
