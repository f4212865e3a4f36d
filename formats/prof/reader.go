package prof

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Read reads a .prof file, one process's or those of several one after the
// other. Sections may be missing, histograms may have any length or be left
// out, and lines may end as on Windows. Lines that say the same pair twice are
// added up.
//
// Lines that make no sense are skipped: Read then returns the traffic of all
// others and a *Problems. After any other error there is no traffic. The name
// is only for the messages.
func Read(r io.Reader, name string) (*profile.Traffic, error) {
	var (
		src      = newLines(r)
		problems = &Problems{File: name}
		p        = parser{block: -1}
	)
	for {
		line, err := src.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = p.line(string(line))
		} else if !errors.Is(err, errLong) {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if err != nil {
			problems.add(src.number, err)
		}
	}
	p.traffic.Flows = addUp(p.traffic.Flows)
	if problems.Count > 0 {
		return &p.traffic, problems
	}
	return &p.traffic, nil
}

// addUp sorts flows and makes one of those with the same kind and pair.
func addUp(flows []profile.Flow) []profile.Flow {
	profile.SortFlows(flows)
	out := flows[:0]
	for _, f := range flows {
		if n := len(out); n > 0 && samePair(out[n-1], f) {
			merge(&out[n-1], f)
			continue
		}
		out = append(out, f)
	}
	return slices.Clip(out)
}

func samePair(a, b profile.Flow) bool {
	return a.Kind == b.Kind && a.From == b.From && a.To == b.To
}

func merge(sum *profile.Flow, f profile.Flow) {
	sum.Bytes += f.Bytes
	sum.Messages += f.Messages
	switch {
	case sum.Histogram == nil:
		sum.Histogram = f.Histogram
	case f.Histogram != nil:
		for i, n := range f.Histogram {
			sum.Histogram[i] += n
		}
	}
}

// parser reads line by line.
type parser struct {
	traffic profile.Traffic
	block   int // index of the D block that the next volumes belong to, -1 if none
	seen    [3]bool
}

func (p *parser) line(line string) error {
	if strings.TrimSpace(line) == "" || line[0] == '#' {
		return nil
	}
	kind := line
	if i := strings.IndexAny(line, "\t "); i >= 0 {
		kind = line[:i]
	}
	switch kind {
	case "E", "I", "S", "R", "C":
		return p.flow(profile.Kind(kind[0]), line)
	case "D":
		return p.comm(line)
	case "O2A", "A2O", "A2A":
		return p.volume(kind, line)
	}
	return fmt.Errorf("%s starts no line of a .prof file", quote(kind))
}

// flow reads `E from to bytes "bytes" count "msgs" "sent" [histogram]`.
func (p *parser) flow(kind profile.Kind, line string) error {
	f, histogram, err := fields(line, 8)
	if err != nil {
		return err
	}
	flow := profile.Flow{Kind: kind}
	if flow.From, err = rank(f[1]); err != nil {
		return err
	}
	if flow.To, err = rank(f[2]); err != nil {
		return err
	}
	if flow.Bytes, flow.Messages, err = volume(f[3:]); err != nil {
		return err
	}
	if histogram != "" {
		if kind != profile.External && kind != profile.Internal {
			return fmt.Errorf("%s after the end of a line of kind %c", quote(histogram), kind)
		}
		if flow.Histogram, err = readHistogram(histogram); err != nil {
			return err
		}
	}
	p.traffic.Flows = append(p.traffic.Flows, flow)
	return nil
}

// comm reads `D name procs: ranks`, the start of a communicator's block.
func (p *parser) comm(line string) error {
	p.block = -1
	i := strings.LastIndex(line, "\tprocs:")
	if i < len("D") {
		return errors.New("a D line without a tab and `procs:`")
	}
	members := []int{}
	for s := range strings.SplitSeq(strings.TrimSpace(line[i+len("\tprocs:"):]), ",") {
		if s == "" { // none at all, or a comma after the last
			continue
		}
		r, err := rank(s)
		if err != nil {
			return err
		}
		members = append(members, r)
	}
	name := strings.TrimPrefix(line[len("D"):i], "\t")
	p.block, p.seen = len(p.traffic.Comms), [3]bool{}
	p.traffic.Comms = append(p.traffic.Comms, profile.CommTraffic{Name: name, Rank: -1, Members: members})
	return nil
}

// volume reads `O2A rank bytes "bytes" count "msgs" "sent"`.
func (p *parser) volume(kind, line string) error {
	f, rest, err := fields(line, 7)
	if err != nil {
		return err
	}
	if rest != "" {
		return fmt.Errorf("%s after the end of an %s line", quote(rest), kind)
	}
	r, err := rank(f[1])
	if err != nil {
		return err
	}
	var v profile.Volume
	if v.Bytes, v.Count, err = volume(f[2:]); err != nil {
		return err
	}
	return p.book(kind, r, v)
}

// book puts a volume into the current block.
func (p *parser) book(kind string, r int, v profile.Volume) error {
	if p.block < 0 {
		return fmt.Errorf("an %s line that follows no D line", kind)
	}
	c := &p.traffic.Comms[p.block]
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

// fields splits off the first n fields of a line; rest is the one that may
// follow.
func fields(line string, n int) (f []string, rest string, err error) {
	f = make([]string, 0, n)
	for s := range strings.FieldsSeq(line) {
		switch {
		case len(f) < n:
			f = append(f, s)
		case rest == "":
			rest = s
		default:
			return nil, "", fmt.Errorf("%s after the end of the line", quote(s))
		}
	}
	if len(f) < n {
		return nil, "", fmt.Errorf("line ends after %d of %d fields", len(f), n)
	}
	return f, rest, nil
}

// volume reads `bytes "bytes" count "msgs" "sent"`.
func volume(f []string) (bytes, count uint64, err error) {
	for i, want := range [...]string{1: "bytes", 3: "msgs", 4: "sent"} {
		if want != "" && f[i] != want {
			return 0, 0, fmt.Errorf("%s in place of `%s`", quote(f[i]), want)
		}
	}
	if bytes, err = number(f[0]); err != nil {
		return 0, 0, err
	}
	count, err = number(f[2])
	return bytes, count, err
}

// readHistogram reads numbers with commas between them. Columns that 64-bit
// sizes cannot reach go to the last one, where Open MPI puts whatever is too
// large for its table.
func readHistogram(s string) (*profile.Histogram, error) {
	h := new(profile.Histogram)
	i := 0
	for column := range strings.SplitSeq(s, ",") {
		n, err := number(column)
		if err != nil {
			return nil, fmt.Errorf("column %d of the histogram: %w", i+1, err)
		}
		h[min(i, len(h)-1)] += n
		i++
	}
	return h, nil
}

func rank(s string) (int, error) {
	n, err := number(s)
	if err != nil || n > math.MaxInt32 {
		return 0, fmt.Errorf("%s is no rank", quote(s))
	}
	return int(n), nil
}

func number(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number of 64 bits", quote(s))
	}
	return n, nil
}

// quote shows a piece of a file in a message: short, and harmless to print.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
