package calls

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// countsFile holds the instructions that recording may add. The path is
// relative to the root of the repository, where `make` runs.
const countsFile = "bench/calls/instructions.txt"

const countsHeader = `# The instructions that recording adds to one MPI call, counted by callgrind. make test-all fails where
# they have grown by more than 5 %; then, if that is meant to be:
#
#     make prebuilt
#     go run ./bench calls --update-instructions
`

// paddings are tried one after the other; the smallest counts are kept.
var paddings = []int{0, 16, 48}

// counts are instructions added per call. A subject's mpi is the platform.
type counts map[subject]float64

// gated reports whether a program's counts are kept. Those of one rank are
// repeatable.
func gated(p program) bool { return p.counted && p.ranks == 1 }

// gatedTools returns our tools, with directories whose names are longer by
// padding. It leaves out sampled times, whose number depends on the clock, traces
// in reused memory, and the prebuilt library, which has a setup of its own.
func gatedTools(tools []tool, padding int) []tool {
	var found []tool
	for _, t := range tools {
		if strings.HasPrefix(t.name, "ours") && !slices.Contains([]string{"ours-sampled", "ours-trace-last", prebuiltTool}, t.name) {
			t.padding = padding
			found = append(found, t)
		}
	}
	return found
}

// keepLeast takes counts that are new, or smaller than those in c.
func (c counts) keepLeast(found counts) {
	for of, count := range found {
		if before, had := c[of]; !had || count < before {
			c[of] = count
		}
	}
}

// countGated counts the instructions that are kept for one MPI. The address of a request in memory
// depends on earlier allocations, including those for directories' names, and two requests with the
// same hash cost some more instructions. Another padding changes the addresses.
func (s *setup) countGated(ctx context.Context, padding int, log io.Writer) (counts, error) {
	all := counts{}
	for _, p := range programs {
		if !gated(p) {
			continue
		}
		if !s.runs(p) {
			return nil, fmt.Errorf("%s has no driver for %s", s.mpi, p.language)
		}
		fmt.Fprintf(log, "count instructions under %s%s\n", s.mpi, p.variant)
		found, err := s.countProgram(ctx, p, gatedTools(s.tools, padding), log)
		if err != nil {
			return nil, err
		}
		for of, added := range found {
			all[subject{s.platform(), of.call, of.tool}] = math.Round(10*added) / 10
		}
	}
	return all, nil
}

// updateCounts counts again for the given MPIs, and keeps what the file has for
// others.
func updateCounts(ctx context.Context, setups []setup, path string, log io.Writer) error {
	all, err := readCountsFile(path)
	if err != nil {
		return err
	}
	setups, err = withPrebuilt(ctx, setups)
	if err != nil {
		return err
	}
	for i := range setups {
		maps.DeleteFunc(all, func(of subject, _ float64) bool { return of.mpi == setups[i].platform() })
		for _, padding := range paddings {
			found, err := setups[i].countGated(ctx, padding, log)
			if err != nil {
				return err
			}
			all.keepLeast(found)
		}
	}
	return os.WriteFile(path, []byte(all.text()), 0o644)
}

func readCountsFile(path string) (counts, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, err := readCounts(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}

// readCounts reads tables, each after a line with the name of its platform: a
// line of tools, and a line for each operation with its counts.
func readCounts(r io.Reader) (counts, error) {
	all := counts{}
	var platform string
	var tools []string
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
			platform, tools = "", nil
		case platform == "":
			platform = line
		case tools == nil && fields[0] == "operation":
			tools = fields[1:]
		default:
			if err := all.addLine(platform, tools, fields); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	return all, lines.Err()
}

func (c counts) addLine(platform string, tools, fields []string) error {
	if len(fields) != len(tools)+1 {
		return fmt.Errorf("%d counts for %d tools", len(fields)-1, len(tools))
	}
	for i, tool := range tools {
		if fields[i+1] == "–" {
			continue
		}
		count, err := strconv.ParseFloat(fields[i+1], 64)
		if err != nil || count < 0 || math.IsNaN(count) {
			return fmt.Errorf("%q is not a count", fields[i+1])
		}
		of := subject{platform, fields[0], tool}
		if _, again := c[of]; again {
			return fmt.Errorf("%s is listed twice", fields[0])
		}
		c[of] = count
	}
	return nil
}

// text returns the counts as readCounts reads them.
func (c counts) text() string {
	platforms, tools := map[string]bool{}, map[string]bool{}
	for of := range c {
		platforms[of.mpi], tools[of.tool] = true, true
	}
	var text strings.Builder
	text.WriteString(countsHeader)
	for _, platform := range slices.Sorted(maps.Keys(platforms)) {
		fmt.Fprintf(&text, "\n%s\n", platform)
		c.writePlatform(&text, platform, slices.Sorted(maps.Keys(tools)))
	}
	return text.String()
}

// writePlatform writes the operations in the order in which the driver runs
// them.
func (c counts) writePlatform(w io.Writer, platform string, tools []string) {
	fmt.Fprintf(w, "%-28s", "operation")
	for _, tool := range tools {
		fmt.Fprintf(w, " %*s", max(len(tool), 8), tool)
	}
	fmt.Fprintln(w)
	for _, p := range programs {
		if !gated(p) {
			continue
		}
		for _, o := range p.operations {
			fmt.Fprintf(w, "%-28s", o.name+p.variant)
			for _, tool := range tools {
				cell := "–"
				if count, counted := c[subject{platform, o.name + p.variant, tool}]; counted {
					cell = strconv.FormatFloat(count, 'f', 1, 64)
				}
				fmt.Fprintf(w, " %*s", max(len(tool), 8), cell)
			}
			fmt.Fprintln(w)
		}
	}
}
