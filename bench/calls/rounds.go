package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// clock times the selected operations in rounds. In each round every tool gets
// a new process, because the addresses that a process gets affect its speed.
// The processes are asked in turn for a millisecond each, so that a slow second
// of the machine affects all tools equally.
type clock struct {
	options
	found *samples
	turns map[subject]int // number of turns that take as long as a measurement should
	broke map[subject]bool
	raw   io.Writer
	log   io.Writer
}

// timeRounds times every operation under every tool, once per round.
func timeRounds(ctx context.Context, o options, setups []setup, found *samples, raw, log io.Writer) error {
	c := clock{o, found, map[subject]int{}, map[subject]bool{}, raw, log}
	for round := range o.rounds {
		fmt.Fprintf(log, "round %d of %d\n", round+1, o.rounds)
		for i := range setups {
			if _, err := fmt.Fprintf(raw, "mpi: %s\n", setups[i].mpi); err != nil {
				return err
			}
			for _, p := range selected(o.pattern) {
				if !p.timed || !setups[i].runs(p) {
					continue
				}
				if err := c.round(ctx, &setups[i], p, round); err != nil {
					return fmt.Errorf("%s%s: %w", setups[i].mpi, p.variant, err)
				}
			}
		}
	}
	return nil
}

// contender is a tool that takes part in a round. Its session is nil after a
// failure.
type contender struct {
	tool
	session *session
}

// round times a program's operations under each tool.
func (c *clock) round(ctx context.Context, s *setup, p program, round int) error {
	contenders, err := c.openAll(ctx, s, p)
	best := map[subject]float64{}
	for repeat := 0; repeat < c.repeats && err == nil; repeat++ {
		for _, o := range p.operations {
			// Start with another tool each time, so that no tool always follows
			// the same other one.
			for i := range contenders {
				k := &contenders[(i+round+repeat)%len(contenders)]
				of := subject{s.mpi, o.name + p.variant, k.name}
				if err == nil && k.measures(o) && !c.broke[of] {
					err = c.measure(ctx, s, p, o, k, best)
				}
			}
		}
	}
	for i := range contenders {
		err = errors.Join(err, c.close(&contenders[i]))
	}
	return errors.Join(err, c.keep(s, p, best))
}

// openAll starts the program under all tools, as many at once as there are
// processors.
func (c *clock) openAll(ctx context.Context, s *setup, p program) ([]contender, error) {
	contenders := make([]contender, len(s.tools))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, t := range s.tools {
		contenders[i].tool = t
		if t.peer {
			continue // opened when it is first needed, so that a failure is reported for that operation
		}
		group.Go(func() (err error) {
			contenders[i].session, err = s.open(ctx, p, t, nil, patience)
			return err
		})
	}
	return contenders, group.Wait()
}

// measure times one operation once. A peer that fails is left out for that
// operation from then on.
func (c *clock) measure(ctx context.Context, s *setup, p program, o operation, k *contender, best map[subject]float64) error {
	of := subject{s.mpi, o.name + p.variant, k.name}
	took, err := c.time(ctx, s, p, o, k)
	if err != nil && k.peer && ctx.Err() == nil {
		fmt.Fprintf(c.log, "%s %s under %s: left out: %v\n", s.mpi, of.call, k.name, err)
		c.broke[of], k.session = true, nil
		c.found.forget(of)
		delete(best, of)
		return nil
	}
	if known, again := best[of]; err == nil && (!again || took < known) {
		best[of] = took
	}
	return err
}

// time returns the nanoseconds of a call.
func (c *clock) time(ctx context.Context, s *setup, p program, o operation, k *contender) (took float64, err error) {
	if k.session == nil {
		if k.session, err = s.open(ctx, p, k.tool, nil, patience); err != nil {
			return 0, err
		}
	}
	of := subject{s.mpi, o.name + p.variant, k.name}
	if c.turns[of] == 0 {
		if c.turns[of], err = c.calibrate(k.session, o.name); err != nil {
			return 0, err
		}
	}
	took, err = k.session.run(o.name, c.turns[of]/8+1, c.turns[of])
	return took / float64(c.turns[of]*o.count), err
}

// calibrate returns the number of turns that takes as long as a measurement
// should.
func (c *clock) calibrate(x *session, loop string) (turns int, err error) {
	target := float64(c.length.Nanoseconds())
	for turns = 16; ; turns *= 2 {
		took, err := x.run(loop, 16, turns)
		if err != nil {
			return 0, err
		}
		if took >= target/4 {
			return 1 + int(float64(turns)*target/took), nil
		}
	}
}

func (c *clock) close(k *contender) error {
	if k.session == nil {
		return nil
	}
	err := k.session.close()
	if err != nil && k.peer {
		fmt.Fprintf(c.log, "%v\n", err)
		return nil
	}
	return err
}

// keep adds the results of a round.
func (c *clock) keep(s *setup, p program, best map[subject]float64) error {
	var err error
	for _, o := range p.operations {
		for _, t := range s.tools {
			of := subject{s.mpi, o.name + p.variant, t.name}
			if took, measured := best[of]; measured {
				err = errors.Join(err, c.found.addTime(of, c.turns[of]*o.count, took, c.raw))
			}
		}
	}
	return err
}
