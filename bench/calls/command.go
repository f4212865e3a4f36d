// Package calls measures what recording costs per MPI call, compared with the
// practical minimum and with other tools.
//
// A driver makes MPI calls in loops under each tool in turn: none; empty, a
// wrapper that only forwards; limit, a wrapper that reads the clock twice and
// adds to a flat array; monitoring1 and monitoring2, the two modes of Open
// MPI's monitoring; ours; ours with sampled times, without times, and without
// following receives (where there are any); and peers, which are libraries
// given by name:
//
//	PEERS="ipm=/opt/ipm/lib/libipm.so" go run ./bench calls
//
// The loops are written in C, in Fortran with mpif.h and with mpi_f08, for one
// rank and for two, and in C also for one and for four threads with
// MPI_THREAD_MULTIPLE, each with communicators of its own. With threads the
// time is the process's CPU time divided by the calls of all threads: the cost
// of a call, whatever the number of processors.
//
// It prints Go benchmark lines, for benchstat,
//
//	go run ./bench calls --raw bench.txt
//	benchstat -row .fullname -col /tool -filter mpi:openmpi bench.txt
//
// and a table: what each tool adds to no tool, also as a multiple of what limit
// adds. The table also has the instructions that the tool adds, counted by
// callgrind: these do not depend on how busy the machine is. For 64 ranks it
// has only the instructions. The tables after it have the minimum times and the
// instructions with a column for each tool, as docs/cost.md has them.
//
// All figures are per MPI call: IsendIrecvWaitall is three calls, PutFlush two,
// and Window 64 Isend, 64 Irecv and a Waitall. Send goes to MPI_PROC_NULL,
// which Open MPI's monitoring does not see. Window and Alltoallv are between
// two ranks; in all others a process communicates with itself.
//
// With --update-instructions it writes instructions.txt, which a test compares
// with the instructions that recording adds now.
package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// options are the command's flags.
type options struct {
	mpis         named // name -> mpicc
	libs         named // name of the MPI -> our library for it
	peers        named // name -> library
	rounds       int
	length       time.Duration // time of one measurement
	repeats      int
	operations   string         // --run
	pattern      *regexp.Regexp // operations, compiled
	tools        []string       // names; empty means all
	raw          string
	times        bool
	instructions bool
	update       bool
}

// wants reports whether a tool is to be measured. none and limit always are,
// because the others are compared with them.
func (o options) wants(tool string) bool {
	return len(o.tools) == 0 || tool == baseline || tool == limit || slices.Contains(o.tools, tool)
}

// named is a flag NAME=VALUE that may be given several times. order holds the
// names as given.
type named struct {
	order []string
	value map[string]string
}

func (n *named) String() string { return strings.Join(n.order, ",") }

// Set adds one NAME=VALUE.
func (n *named) Set(arg string) error {
	name, value, found := strings.Cut(arg, "=")
	if !found || name == "" || value == "" {
		return fmt.Errorf("%q is not NAME=VALUE", arg)
	}
	if n.value == nil {
		n.value = map[string]string{}
	}
	if _, again := n.value[name]; again {
		return fmt.Errorf("%s is given twice", name)
	}
	n.order = append(n.order, name)
	n.value[name] = value
	return nil
}

// Type returns the name of the value for help texts.
func (n *named) Type() string { return "NAME=VALUE" }

// Command returns the command "bench calls".
func Command() *cobra.Command {
	var o options
	c := measure.Command("calls", "Measure what recording costs per MPI call, beside other tools",
		func() error { return o.complete(os.Getenv("PEERS")) }, o.run)
	o.bind(c.Flags())
	return c
}

// bind declares the flags.
func (o *options) bind(flags *pflag.FlagSet) {
	flags.Var(&o.mpis, "mpi", "an MPI to measure, as `NAME=MPICC`; repeatable (default openmpi=mpicc.openmpi and mpich=mpicc.mpich, where found)")
	flags.Var(&o.libs, "lib", "our library for an MPI, as `NAME=PATH`; repeatable (default: built with that mpicc)")
	flags.Var(&o.peers, "peer", "another library to measure, as `NAME=PATH`; repeatable (also from PEERS in the environment, separated by spaces)")
	flags.IntVar(&o.rounds, "rounds", 11, "rounds over all tools")
	flags.DurationVar(&o.length, "measure", time.Millisecond, "length of one timed loop")
	flags.IntVar(&o.repeats, "repeats", 10, "loops per round and operation, of which the fastest counts")
	flags.StringVar(&o.operations, "run", "", "only operations whose names match `REGEXP`, as they are in the table: ^Send/from=")
	flags.StringSliceVar(&o.tools, "tools", nil, "only these `TOOLS`, separated by commas, and none and limit")
	flags.StringVar(&o.raw, "raw", "-", "`file` for the Go benchmark lines; - is standard output")
	flags.BoolVar(&o.times, "times", true, "measure times")
	flags.BoolVar(&o.instructions, "instructions", true, "count instructions, with valgrind")
	flags.BoolVar(&o.update, "update-instructions", false, "write "+countsFile+", and nothing else")
}

// complete checks the options and adds the libraries of $PEERS.
func (o *options) complete(peers string) error {
	if o.rounds < 1 || o.repeats < 1 || o.length <= 0 {
		return errors.New("--rounds, --repeats and --measure must be positive")
	}
	for _, given := range strings.Fields(peers) {
		if err := o.peers.Set(given); err != nil {
			return fmt.Errorf("PEERS: %w", err)
		}
	}
	var err error
	o.pattern, err = regexp.Compile(o.operations)
	return err
}

// run measures, and writes benchmark lines and the table to out, and messages
// to log.
func (o *options) run(ctx context.Context, dir string, out, log io.Writer) error {
	setups, err := prepare(ctx, *o, dir, log)
	if err != nil {
		return err
	}
	if o.update {
		return updateCounts(ctx, setups, countsFile, log)
	}
	raw, err := measure.OpenLines(o.raw, out)
	if err != nil {
		return err
	}
	found := newSamples()
	if o.times {
		err = timeRounds(ctx, *o, setups, found, raw, log)
	}
	if o.instructions && err == nil {
		err = countInstructions(ctx, *o, setups, found, raw, log)
	}
	if err := errors.Join(err, raw.Close()); err != nil {
		return err
	}
	if found.busy() {
		fmt.Fprintln(log, "the machine was busy: run again with more --rounds")
	}
	return errors.Join(found.writeTable(out), found.writeSummaries(out))
}
