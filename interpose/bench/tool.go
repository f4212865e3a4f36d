package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The tools that others are compared with.
const (
	baseline = "none"
	limit    = "limit"
)

// runLimit ends a run of the driver that hangs; one takes a second, under valgrind ten.
const runLimit = 2 * time.Minute

// A tool is one way to watch the calls, none at all included.
type tool struct {
	name    string
	preload string                    // path of the library that answers the calls, "" if MPI's own does
	env     func(dir string) []string // settings, given a directory for its output; may be nil
	proof   string                    // pattern below dir of a file that shows that it recorded, "" for none
}

func none() tool { return tool{name: baseline} }

func wrapper(name, path string) tool { return tool{name: name, preload: path} }

func monitoring() tool {
	return tool{
		name: "monitoring",
		env: func(dir string) []string {
			return []string{
				"OMPI_MCA_pml_monitoring_enable=2",
				"OMPI_MCA_pml_monitoring_enable_output=3",
				"OMPI_MCA_pml_monitoring_filename=" + filepath.Join(dir, "monitoring"),
			}
		},
		proof: "monitoring.0.prof",
	}
}

func ours(path string) tool {
	return tool{
		name:    "ours",
		preload: path,
		env: func(dir string) []string {
			return []string{"MPITRACE_DIR=" + dir, "MPITRACE_QUIET=1"}
		},
		proof: "recordings/*.rec",
	}
}

// run executes the driver, by way of a command such as valgrind if one is given, and returns what
// it wrote to stdout. A run that the tool did not watch is an error.
func (s *setup) run(ctx context.Context, t tool, via []string, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "mpitrace-bench-run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	line := slices.Concat(via, []string{s.driver}, args)
	var talk strings.Builder
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env, cmd.Stderr = t.environ(dir), &talk
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s under %s: %w\n%s", s.mpi, t.name, err, talk.String())
	}
	return output, s.check(t, dir, output)
}

// environ is ours without preloads, with what the tool sets. A process that is started without a
// launcher would have Open MPI 4 start a daemon beside it; the last setting says not to.
func (t tool) environ(dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "LD_PRELOAD=") || strings.HasPrefix(setting, "MPITRACE_")
	})
	env = append(env, "OMPI_MCA_ess_singleton_isolated=1")
	if t.preload != "" {
		env = append(env, "LD_PRELOAD="+t.preload)
	}
	if t.env != nil {
		env = append(env, t.env(dir)...)
	}
	return env
}

// check makes sure that a run was watched by the tool: by the library that answered the calls,
// and by what the tool left behind.
func (s *setup) check(t tool, dir string, output []byte) error {
	expected := s.library
	if t.preload != "" {
		expected = t.preload
	}
	if got := setting(output, "answering"); filepath.Base(got) != filepath.Base(expected) {
		return fmt.Errorf("%s under %s: MPI calls were answered by %q, not %q", s.mpi, t.name, got, expected)
	}
	if t.proof == "" {
		return nil
	}
	left, err := filepath.Glob(filepath.Join(dir, t.proof))
	if err == nil && len(left) == 0 {
		err = fmt.Errorf("%s under %s: it recorded nothing: no %s", s.mpi, t.name, t.proof)
	}
	return err
}
