package arrowfile

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// siteText is a call site, as its columns describe it.
type siteText struct {
	label, function, file, address string
	line                           int32
}

func decodeSite(c *columns) func(int) siteText {
	label, function, file, line, address := c.word("callsite"), c.word("function"), c.word("file"), c.number("line"), c.word("address")
	return func(i int) siteText { return siteText{label(i), function(i), file(i), address(i), line(i)} }
}

// sites gives each call site an address, in modules that are invented for this. They have the names
// that the columns have. The paths of modules and their build ids are not known.
type sites struct {
	known   map[siteText]uint64
	labels  map[string]uint64 // of the first site with this label
	modules []profile.Module
	index   map[string]int // in modules, by path
	stacks  map[uint64][]uint64
	symbols profile.Symbols
}

func newSites() *sites {
	return &sites{known: map[siteText]uint64{}, labels: map[string]uint64{}, index: map[string]int{}, stacks: map[uint64][]uint64{}, symbols: profile.Symbols{}}
}

// unknownSite is the label of the call site of calls in an overflow row.
const unknownSite = "unknown"

func (s *sites) note(f fact) { s.add(f.site) }

// noteOpen adds the call site of a process's open call.
func (s *sites) noteOpen(r *rank) {
	if _, known := s.labels[r.openSite]; !known && r.openSite != "" {
		s.add(siteText{label: r.openSite})
	}
}

func (s *sites) add(t siteText) {
	if _, known := s.known[t]; known {
		return
	}
	at := s.site(t)
	s.known[t] = at
	if _, known := s.labels[t.label]; !known {
		s.labels[t.label] = at
	}
}

// site returns the value of Row.Callsite for a new site.
func (s *sites) site(t siteText) uint64 {
	if t.label == unknownSite || t.label == "" && t.address == "" {
		return 0
	}
	addresses := strings.Split(t.address, profile.Callers)
	if t.label == "" {
		t.label = t.address
	}
	labels := strings.Split(t.label, profile.Callers)
	if len(labels) != len(addresses) {
		addresses = make([]string, len(labels))
	}
	var frames []uint64
	for i, label := range labels {
		f := parseFrame(label, addresses[i])
		if i == 0 && t.function != "" {
			f.Function = t.function
		}
		if i == 0 && t.file != "" {
			f.Source, f.Line = t.file, int(t.line)
		}
		frames = append(frames, s.frame(f))
	}
	if len(frames) == 1 {
		return frames[0]
	}
	at := profile.StackSite | uint64(len(s.stacks)+1)
	s.stacks[at] = frames
	return at
}

const (
	firstModule = 1 << 62 // address of the first made-up module
	moduleSize  = 1 << 40
)

// frame returns the address of a frame.
func (s *sites) frame(f profile.Frame) uint64 {
	if f.Path == "" && f.Offset != 0 {
		return f.Offset &^ (profile.StackSite | firstModule) // in no module
	}
	if f.Path == "" {
		f.Path, f.Offset = unknownSite, uint64(len(s.symbols))
	}
	f.Offset %= moduleSize
	for name := f.Path; ; f.Path = "other/" + f.Path { // other files of this name have other symbols there
		if known, taken := s.symbols[f.Place]; !taken || known == f.Symbol || len(f.Path) > len(name)+64 {
			break
		}
	}
	i, known := s.index[f.Path]
	if !known {
		i = len(s.modules)
		start := uint64(firstModule + i*moduleSize)
		s.index[f.Path] = i
		s.modules = append(s.modules, profile.Module{Path: f.Path, Start: start, End: start + moduleSize, Bias: start})
	}
	s.symbols[f.Place] = f.Symbol // also if empty, so that nobody looks for it in files
	return s.modules[i].Start + f.Offset
}

var (
	lineLabel  = regexp.MustCompile(`^(?:(.*) )?(\S+):([0-9]+)$`)
	intoLabel  = regexp.MustCompile(`^(after )?(.*?)(?:\+0x([0-9a-f]+))? \(([^()]*)\)$`)
	addressRef = regexp.MustCompile(`^(?:(.*)\+)?0x([0-9a-f]+)$`)
)

// parseFrame is the inverse of Frame.String and Place.Address.
func parseFrame(label, address string) (f profile.Frame) {
	if at := addressRef.FindStringSubmatch(address); at != nil {
		f.Path = at[1]
		f.Offset, _ = strconv.ParseUint(at[2], 16, 64)
	}
	if at := lineLabel.FindStringSubmatch(label); at != nil {
		f.Function, f.Source = at[1], at[2]
		f.Line, _ = strconv.Atoi(at[3])
	} else if at := intoLabel.FindStringSubmatch(label); at != nil {
		if f.Function = at[2]; at[1] == profile.After {
			f.Function, f.Near = "", at[2]
		}
		f.Into, _ = strconv.ParseUint(at[3], 16, 64) // 0 without an offset
		if f.Path == "" {
			f.Path = at[4]
		}
	} else if at := addressRef.FindStringSubmatch(label); at == nil {
		f.Function = label // as another program named it
	} else if address == "" {
		f.Path = at[1]
		f.Offset, _ = strconv.ParseUint(at[2], 16, 64)
	}
	return f
}
