package page

import (
	"bufio"
	"fmt"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

const (
	linesAround = 3        // of source, before and after that of a call site
	maxSource   = 16 << 20 // bytes of a source file
	maxLine     = 400      // bytes of a line of source that are shown
)

// AddSources adds the lines of source around the job's call sites, as far as the files
// are on this machine.
func (j *JobData) AddSources(sites []aggregate.CallSite) {
	j.Sources = map[string]SourceLines{}
	wanted := map[string][]int{} // lines by file
	want := func(p *aggregate.NamedPlace) {
		if p.File != "" && p.Line > 0 {
			wanted[p.File] = append(wanted[p.File], p.Line)
		}
	}
	for i := range sites {
		want(&sites[i].NamedPlace)
	}
	for file, at := range wanted {
		lines := readLines(file)
		for _, line := range at {
			if line > len(lines) {
				continue
			}
			first, last := max(line-linesAround, 1), min(line+linesAround, len(lines))
			j.Sources[fmt.Sprintf("%s:%d", file, line)] = SourceLines{first, lines[first-1 : last]}
		}
	}
}

// SourceLines is some lines of a source file.
type SourceLines struct {
	First int      `json:"first"` // number of the first line
	Lines []string `json:"lines"`
}

// readLines returns the lines of a file; nil if it cannot be read.
func readLines(path string) (lines []string) {
	in, err := atomicfile.Open(path, maxSource)
	if err != nil {
		return nil
	}
	defer in.Close()
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		text := scan.Text()
		lines = append(lines, text[:min(len(text), maxLine)])
	}
	return lines
}
