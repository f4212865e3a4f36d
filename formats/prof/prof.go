// Package prof reads and writes .prof files, the text in which Open MPI's
// monitoring components (4.x and 5.x) and mpitrace say what processes sent.
//
// A file holds what one process sent; the files of several, one after the
// other, are a file too. Fields are separated by tabs:
//
//	# POINT TO POINT
//	E	<from>	<to>	<bytes> bytes	<count> msgs sent	<histogram>
//	I	<from>	<to>	<bytes> bytes	<count> msgs sent[	<histogram>]
//	# OSC
//	S	<from>	<to>	<bytes> bytes	<count> msgs sent
//	R	<from>	<to>	<bytes> bytes	<count> msgs sent
//	# COLLECTIVES
//	C	<from>	<to>	<bytes> bytes	<count> msgs sent
//	D	<name>	procs: <world ranks, comma-separated>
//	O2A	<rank>	<bytes> bytes	<count> msgs sent
//	A2O	<rank>	<bytes> bytes	<count> msgs sent
//	A2A	<rank>	<bytes> bytes	<count> msgs sent
//
// All ranks are world ranks. The histogram counts messages by size class, 66
// numbers with commas between them. An R row goes from the process that read
// to the one it read from.
package prof

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of the reader: what a damaged or hostile file can make it keep.
const (
	maxLine     = 16 << 20 // bytes: the D line of a communicator of two million processes
	maxProblems = 20       // that are kept; all are counted
)

// SyntaxError is a line that was skipped.
type SyntaxError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Problems is the error of Read for a file that has lines which are none of
// the format's. What all other lines say was read nevertheless.
type Problems struct {
	File   string
	Listed []*SyntaxError // the first ones
	Count  int            // all of them
}

func (p *Problems) Error() string {
	lines := make([]string, 0, len(p.Listed)+1)
	for _, e := range p.Listed {
		lines = append(lines, e.Error())
	}
	if more := p.Count - len(p.Listed); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more malformed lines", p.File, more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each listed SyntaxError to errors.As.
func (p *Problems) Unwrap() []error {
	out := make([]error, len(p.Listed))
	for i, e := range p.Listed {
		out[i] = e
	}
	return out
}

func (p *Problems) add(line int, reason error) {
	p.Count++
	if len(p.Listed) < maxProblems {
		p.Listed = append(p.Listed, &SyntaxError{File: p.File, Line: line, Reason: reason.Error()})
	}
}

// errLong is the reason why an endless line is skipped.
var errLong = errors.New("line is longer than 16 MiB")

// Is reports whether a file that begins like this is a .prof file: its first
// line is a section's header, or one of the kinds of lines.
func Is(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	if strings.HasPrefix(line, "# ") {
		return true
	}
	kind, _, separated := strings.Cut(line, "\t")
	return separated && strings.Contains(" E I S R C D O2A A2O A2A ", " "+kind+" ")
}
