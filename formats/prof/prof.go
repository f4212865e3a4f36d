// Package prof reads and writes .prof files, the text format of Open MPI's
// monitoring components (4.x and 5.x) for what each process sent.
//
// A file holds what one process sent. Several files one after the other are a
// valid file too. Fields are separated by tabs:
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
// All ranks are world ranks. The histogram is 66 numbers separated by commas:
// the messages in each size class. In an R row, <from> is the process that
// reads and <to> the process whose memory it reads.
package prof

import (
	"errors"
	"fmt"
	"strings"
)

// Limits on what a damaged or hostile file can make the reader keep.
const (
	maxLine     = 16 << 20 // bytes; enough for the D line of a communicator of two million processes
	maxProblems = 20       // number of errors that are kept; all are counted
)

// SyntaxError describes a line that was skipped.
type SyntaxError struct {
	File   string
	Line   int // starts at 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Problems is the error of Read for a file with invalid lines. The valid lines
// were read nevertheless.
type Problems struct {
	File   string
	Listed []*SyntaxError // the first errors
	Count  int            // number of all errors
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

// Unwrap makes the listed errors available to errors.As.
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

// errLong is the reason for skipping a line without an end.
var errLong = errors.New("line is longer than 16 MiB")

// Is reports whether a file with this beginning is a .prof file: whether its
// first line is the header of a section or a valid kind of line.
func Is(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	if strings.HasPrefix(line, "# ") {
		return true
	}
	kind, _, separated := strings.Cut(line, "\t")
	return separated && strings.Contains(" E I S R C D O2A A2O A2A ", " "+kind+" ")
}
