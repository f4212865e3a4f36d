// Command bench measures what recording costs per MPI call, beside the least that it could cost
// and beside what Open MPI's own monitoring costs.
//
// One process calls MPI in a loop, to itself or to nobody, under each tool in turn: none; empty,
// a wrapper that only forwards; limit, a wrapper that reads the clock twice and adds to a flat
// array; monitoring, Open MPI's (Open MPI only); ours. Rounds go over all of them, so that a slow
// minute of the machine falls on all alike. It prints Go benchmark lines, which benchstat reads,
//
//	go run ./interpose/bench -raw bench.txt
//	benchstat -row .name -col /tool -filter mpi:openmpi bench.txt
//
// and a table: what each tool adds to no tool, and that as a multiple of what limit adds. With
// -instructions the table counts executed instructions instead (valgrind), which do not depend on
// how busy the machine is.
//
// IsendIrecvWaitall stands for three MPI calls, the others for one. Send goes to MPI_PROC_NULL,
// which Open MPI's monitoring never sees: it adds nothing there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

// options are the command's flags.
type options struct {
	mpis         named // name -> mpicc
	libs         named // name of the MPI -> our library for it
	rounds       int
	measure      time.Duration
	repeats      int
	raw          string
	instructions bool
}

// named is a flag NAME=VALUE that may be given several times; order holds the names as given.
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

func parseOptions(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.Var(&o.mpis, "mpi", "an MPI to measure, as `NAME=MPICC`; repeatable (default openmpi=mpicc.openmpi and mpich=mpicc.mpich, where found)")
	flags.Var(&o.libs, "lib", "our library for an MPI, as `NAME=PATH`; repeatable (default: built with that mpicc)")
	flags.IntVar(&o.rounds, "rounds", 11, "rounds over all tools; medians are over rounds")
	flags.DurationVar(&o.measure, "measure", 2*time.Millisecond, "length of one timed loop")
	flags.IntVar(&o.repeats, "repeats", 20, "loops per round and call, of which the fastest counts")
	flags.StringVar(&o.raw, "raw", "-", "`file` for the Go benchmark lines; - is standard output")
	flags.BoolVar(&o.instructions, "instructions", false, "count instructions with valgrind instead of timing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.rounds < 1 || o.repeats < 1 || o.measure <= 0 {
		return o, errors.New("bench takes flags only; -rounds, -repeats and -measure are positive")
	}
	return o, nil
}

func main() {
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures and writes lines and table to out, talk to log.
func run(ctx context.Context, o options, out, log io.Writer) error {
	dir, err := os.MkdirTemp("", "mpitrace-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	setups, err := prepare(ctx, o, dir, log)
	if err != nil {
		return err
	}
	measure := timeRounds
	if o.instructions {
		measure = countInstructions
	}
	raw, err := openRaw(o.raw, out)
	if err != nil {
		return err
	}
	found, err := measure(ctx, o, setups, raw, log)
	if err := errors.Join(err, raw.Close()); err != nil {
		return err
	}
	if found.busy() {
		fmt.Fprintln(log, "the machine was busy: go by the minima, or run again with more -rounds")
	}
	return found.writeTable(out)
}

// openRaw opens the file for benchmark lines; "-" is out, which stays open.
func openRaw(path string, out io.Writer) (io.WriteCloser, error) {
	if path == "-" {
		return keepOpen{out}, nil
	}
	return os.Create(path)
}

// keepOpen is a writer that somebody else closes.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
