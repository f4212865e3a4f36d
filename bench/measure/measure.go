// Package measure has what the benchmarks share: their commands, running other
// commands, the file for benchmark lines, medians and tables.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Command returns the command that runs a benchmark. check returns an error if
// the flags are invalid. run gets a directory for its files, which is removed
// afterwards, and writes results to out and messages to log.
func Command(name, short string, check func() error, run func(ctx context.Context, dir string, out, log io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use:          name,
		Short:        short,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := check(); err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "mpitrace-"+name+"-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			return run(c.Context(), dir, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
}

// Output runs a command in dir ("" for the working directory) with variables
// added to the environment, and returns its stdout. The error of a command that
// fails contains its stderr. When ctx is done, the command gets SIGTERM, so that
// a launcher ends its ranks.
func Output(ctx context.Context, dir string, env []string, line ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%v: %w\n%s", line, err, exit.Stderr)
	}
	return text, err
}

// Mpitrace returns path, or, if it is empty, the path of an mpitrace that is
// built from this source in dir.
func Mpitrace(ctx context.Context, path, dir string) (string, error) {
	if path != "" {
		return path, nil
	}
	path = filepath.Join(dir, "mpitrace")
	_, err := Output(ctx, "", nil, "go", "build", "-o", path, "github.com/mpitrace/mpitrace/cmd/mpitrace")
	return path, err
}

// OpenLines opens the file for benchmark lines. "-" is out, which Close leaves
// open.
func OpenLines(path string, out io.Writer) (io.WriteCloser, error) {
	if path == "-" {
		return keepOpen{out}, nil
	}
	return os.Create(path)
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// Median returns the middle value, or the mean of the middle two. values must
// not be empty; it is not changed.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// WriteTable writes a header and lines as an aligned Markdown table. The first
// texts columns contain text, the others numbers.
func WriteTable(w io.Writer, lines [][]string, texts int) error {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var text strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			width := widths[i]
			if i < texts {
				width = -width
			}
			fmt.Fprintf(&text, "| %*s ", width, cell)
		}
		text.WriteString("|\n")
		if n == 0 {
			writeRule(&text, widths, texts)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writeRule(w *strings.Builder, widths []int, texts int) {
	for i, width := range widths {
		rule := strings.Repeat("-", width)
		if i >= texts {
			rule = rule[1:] + ":"
		}
		w.WriteString("| " + rule + " ")
	}
	w.WriteString("|\n")
}
