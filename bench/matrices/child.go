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
	dir           string // for all files
	raw, out, log io.Writer
}

// build makes the commands that are measured, and the one that makes their
// input. They run by themselves: this process is to stay small, as the memory
// that it has when it starts another counts as that one's.
func (b *bench) build() error {
	_, err := b.do("env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", b.dir+"/", "./cmd/mpitrace", "./cmd/profile2mat", "./tests/synth/gen")
	return err
}

// tool is the path of a command that was built.
func (b *bench) tool(name string) string { return filepath.Join(b.dir, name) }

// generate makes a job's files, in a directory that it returns.
func (b *bench) generate(name string, args ...string) (string, error) {
	dir := filepath.Join(b.dir, name)
	_, err := b.do(b.tool("gen"), append(args, "-o", dir)...)
	return dir, err
}

// cost is what a run of a command took.
type cost struct {
	seconds float64 // until it ended
	cpu     float64 // of all its threads, in the program and the system
	memory  float64 // resident at most, MiB
}

// do runs a command.
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

// plus is what two commands took, one after the other.
func (c cost) plus(o cost) cost {
	return cost{c.seconds + o.seconds, c.cpu + o.cpu, max(c.memory, o.memory)}
}

// line writes a run as a Go benchmark line
// (https://go.dev/design/14313-benchmark-format).
func (b *bench) line(of subject, c cost) error {
	_, err := fmt.Fprintf(b.raw, "BenchmarkMatrices/input=%s/tool=%s-%d\t1\t%.0f ns/op\t%.0f cpu-ns/op\t%.0f maxrss-B\n",
		tame(of.input), tame(of.tool), runtime.NumCPU(), c.seconds*1e9, c.cpu*1e9, c.memory*(1<<20))
	return err
}

// tame leaves of a name what may be in a file's, or a benchmark's.
func tame(name string) string {
	return strings.NewReplacer(", ", "-", " ", "_", "--", "").Replace(name)
}
