package matrices

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// bench is one run of this command.
type bench struct {
	ctx context.Context
	options
	dir           string // holds all files of the run
	raw, out, log io.Writer
}

// build builds the commands to measure and the generator of their input. They are separate commands
// so that this process stays small: a new process starts with the memory of the process that starts
// it, which counts towards its maximum.
func (b *bench) build() error {
	_, err := b.do("env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", b.dir+"/", "./cmd/mpitrace", "./cmd/profile2mat", "./tests/synth/gen")
	return err
}

// tool returns the path of a command that build has built.
func (b *bench) tool(name string) string { return filepath.Join(b.dir, name) }

// generate writes a job's files to a directory and returns its path.
func (b *bench) generate(name string, args ...string) (string, error) {
	dir := filepath.Join(b.dir, name)
	_, err := b.do(b.tool("gen"), append(args, "-o", dir)...)
	return dir, err
}

// cost holds the resources that a run of a command took.
type cost struct {
	seconds float64 // wall time
	cpu     float64 // user and system time of all threads, in seconds
	memory  float64 // maximum resident size, MiB
}

// do runs a command and returns its cost.
func (b *bench) do(name string, args ...string) (cost, error) {
	cmd := exec.CommandContext(b.ctx, name, args...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return cost{}, fmt.Errorf("run %s %v: %w\n%s", name, args, err, talk.Bytes())
	}
	c := cost{seconds: took.Seconds(), cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.memory = float64(usage.Maxrss) / 1024
	}
	return c, nil
}

// plus returns the cost of two commands that run one after the other.
func (c cost) plus(o cost) cost {
	return cost{c.seconds + o.seconds, c.cpu + o.cpu, max(c.memory, o.memory)}
}

// line writes the cost of a run as a Go benchmark line
// (https://go.dev/design/14313-benchmark-format).
func (b *bench) line(of subject, c cost) error {
	_, err := fmt.Fprintf(b.raw, "BenchmarkMatrices/input=%s/tool=%s-%d\t1\t%.0f ns/op\t%.0f cpu-ns/op\t%.0f maxrss-B\n",
		tame(of.input), tame(of.tool), runtime.NumCPU(), c.seconds*1e9, c.cpu*1e9, c.memory*(1<<20))
	return err
}

// tame replaces what should not be in the name of a file or benchmark.
func tame(name string) string {
	return strings.NewReplacer(", ", "-", " ", "_", "--", "").Replace(name)
}
