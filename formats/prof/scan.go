package prof

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/profile"
)

// Handler has the functions that Scan calls with the contents of a file. Their
// arguments are valid during the call only. Either function may be nil.
type Handler struct {
	// Flow is called for each line of kind E, I, S, R or C. A pair may occur
	// more than once.
	Flow func(f *profile.Flow)
	// Comm is called for each D line with the volumes of its block, which ends
	// at the next D line.
	Comm func(c *profile.CommTraffic)
	// Histograms requests Flow.Histogram. If it is false, histograms are
	// checked, and Flow.Histogram is nil.
	Histograms bool
}

// Scan reads a .prof file like Read, but keeps nothing: its memory is that of
// the longest line.
//
// Invalid lines are skipped: Scan then returns a *Problems at the end. After
// any other error the handler has seen only a part of the file. name is used in
// error messages only.
func Scan(r io.Reader, name string, h Handler) error {
	in := rooms.Get().(*room)
	defer rooms.Put(in)
	var (
		src      = newLines(r, in)
		problems = &Problems{File: name}
		p        = parser{Handler: h}
	)
	p.comm.Members = in.members
	defer func() {
		in.members = p.comm.Members
		in.r.Reset(nil) // do not keep a reference to the file
	}()
	for {
		line, err := src.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = p.line(line)
		} else if !errors.Is(err, errLong) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err != nil {
			problems.add(src.number, err)
		}
	}
	p.endBlock()
	if problems.Count > 0 {
		return problems
	}
	return nil
}

// parser parses lines.
type parser struct {
	Handler
	// The handler's arguments, reused so that a line allocates nothing.
	flow      profile.Flow
	histogram profile.Histogram
	comm      profile.CommTraffic // the current D block

	inBlock bool // whether there is a current block
	seen    [3]bool
}

func (p *parser) line(line []byte) error {
	if len(line) > 2 && line[1] == '\t' && isFlow(line[0]) && p.plainFlow(line) {
		return nil
	}
	if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' {
		return nil
	}
	kind := line
	if i := bytes.IndexAny(line, "\t "); i >= 0 {
		kind = line[:i]
	}
	switch {
	case len(kind) == 1 && isFlow(kind[0]):
		return p.anyFlow(line)
	case string(kind) == "D":
		return p.startBlock(line)
	case string(kind) == "O2A", string(kind) == "A2O", string(kind) == "A2A":
		return p.blockVolume(string(kind), line)
	}
	return fmt.Errorf("%s starts no line of a .prof file", quote(kind))
}

func isFlow(kind byte) bool {
	switch kind {
	case 'E', 'I', 'S', 'R', 'C':
		return true
	}
	return false
}

func hasHistogram(kind profile.Kind) bool {
	return kind == profile.External || kind == profile.Internal
}

// plainFlow parses a line of a pair in the form in which Open MPI and mpitrace
// write it: nearly all lines of large files. It returns false for any other
// line, which anyFlow then parses or reports.
func (p *parser) plainFlow(line []byte) bool {
	f := p.freshFlow(line[0])
	from, at := numeral(line, 2, '\t')
	to, at := numeral(line, at, '\t')
	f.Bytes, at = numeral(line, at, ' ')
	at = word(line, at, "bytes\t")
	f.Messages, at = numeral(line, at, ' ')
	at = word(line, at, "msgs sent")
	if at == 0 || from > maxRank || to > maxRank {
		return false
	}
	f.From, f.To = int(from), int(to)
	if at < len(line) {
		if line[at] != '\t' || !hasHistogram(f.Kind) {
			return false
		}
		if f.Histogram = p.freshHistogram(); !plainHistogram(line[at+1:], f.Histogram) {
			return false
		}
	}
	p.tell()
	return true
}

// anyFlow parses `E from to bytes "bytes" count "msgs" "sent" [histogram]`,
// with any white space between the fields.
func (p *parser) anyFlow(line []byte) error {
	var fields [8][]byte
	text, err := split(line, fields[:])
	if err != nil {
		return err
	}
	f := p.freshFlow(line[0])
	if f.From, err = rank(fields[1]); err != nil {
		return err
	}
	if f.To, err = rank(fields[2]); err != nil {
		return err
	}
	if f.Bytes, f.Messages, err = volume(fields[3:]); err != nil {
		return err
	}
	if len(text) > 0 {
		if !hasHistogram(f.Kind) {
			return fmt.Errorf("%s after the end of a line of kind %c", quote(text), f.Kind)
		}
		f.Histogram = p.freshHistogram()
		if err := anyHistogram(text, f.Histogram); err != nil {
			return err
		}
	}
	p.tell()
	return nil
}

// freshFlow returns the reused flow, cleared. Its histogram is nil if the
// handler does not request histograms.
func (p *parser) freshFlow(kind byte) *profile.Flow {
	p.flow.Kind, p.flow.Histogram = profile.Kind(kind), nil
	return &p.flow
}

func (p *parser) freshHistogram() *profile.Histogram {
	if !p.Histograms {
		return nil
	}
	p.histogram = profile.Histogram{}
	return &p.histogram
}

func (p *parser) tell() {
	if p.Flow != nil {
		p.Flow(&p.flow)
	}
}

// startBlock parses `D name procs: ranks`, the start of a communicator's block.
func (p *parser) startBlock(line []byte) error {
	p.endBlock()
	i := lastIndex(line, []byte("\tprocs:"))
	if i < len("D") {
		return errors.New("a D line without a tab and `procs:`")
	}
	members, err := appendRanks(p.comm.Members[:0], bytes.TrimSpace(line[i+len("\tprocs:"):]))
	if err != nil {
		return err
	}
	name := p.comm.Name
	if text := bytes.TrimPrefix(line[len("D"):i], []byte("\t")); string(text) != name {
		name = string(text)
	}
	p.inBlock, p.seen = true, [3]bool{}
	p.comm = profile.CommTraffic{Name: name, Rank: -1, Members: members}
	return nil
}

// lastIndex does what bytes.LastIndex does, but faster for a part that occurs
// once, near the start of a long line.
func lastIndex(line, part []byte) int {
	last := -1
	for {
		next := bytes.Index(line[last+1:], part)
		if next < 0 {
			return last
		}
		last += 1 + next
	}
}

// endBlock passes the current block, if any, to the handler.
func (p *parser) endBlock() {
	if p.inBlock && p.Comm != nil {
		p.Comm(&p.comm)
	}
	p.inBlock = false
}

// blockVolume parses `O2A rank bytes "bytes" count "msgs" "sent"`.
func (p *parser) blockVolume(kind string, line []byte) error {
	var fields [7][]byte
	rest, err := split(line, fields[:])
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s after the end of an %s line", quote(rest), kind)
	}
	r, err := rank(fields[1])
	if err != nil {
		return err
	}
	var v profile.FlowVolume
	if v.Bytes, v.Count, err = volume(fields[2:]); err != nil {
		return err
	}
	return p.book(kind, r, v)
}

// book adds a volume to the current block.
func (p *parser) book(kind string, r int, v profile.FlowVolume) error {
	c := &p.comm
	if !p.inBlock {
		return fmt.Errorf("an %s line that follows no D line", kind)
	}
	if c.Rank >= 0 && c.Rank != r {
		return fmt.Errorf("an %s line of rank %d in a block of rank %d", kind, r, c.Rank)
	}
	place, to := 0, &c.O2A
	switch kind {
	case "A2O":
		place, to = 1, &c.A2O
	case "A2A":
		place, to = 2, &c.A2A
	}
	if p.seen[place] {
		return fmt.Errorf("a second %s line in one block", kind)
	}
	p.seen[place] = true
	c.Rank, *to = r, v
	return nil
}
