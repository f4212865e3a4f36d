package arrowfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// header is what the columns of profile.arrow do not say of the profiles. What
// many processes share is in it once, and processes refer to it by index.
type header struct {
	Programs  []program      `json:"programs"`
	Files     []moduleFile   `json:"files"`
	Comms     []communicator `json:"communicators"`
	Places    []place        `json:"places,omitempty"` // those that have a name
	Processes []processInfo  `json:"processes"`        // in the order of their rows
}

type program struct {
	Run     string   `json:"run"`
	Size    int      `json:"size"`
	Program string   `json:"program"`
	Command []string `json:"command"`
	Library string   `json:"library"`
}

type moduleFile struct {
	Path    string `json:"path"`
	BuildID string `json:"build_id,omitempty"`
}

// place is an address in a file, with what the source calls it.
type place struct {
	File     int    `json:"file"`
	Offset   uint64 `json:"offset"`
	Function string `json:"function,omitempty"`
	Into     uint64 `json:"into,omitempty"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// communicator is what its members agree on.
type communicator struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Constructor string `json:"constructor,omitempty"`
	Inter       bool   `json:"inter,omitempty"`
	Members     group  `json:"members"`
	Remote      group  `json:"remote,omitzero"`
}

// group has a list, or else says that it is base, base+stride, ...
type group struct {
	Base   int     `json:"base,omitempty"`
	Stride int     `json:"stride,omitempty"`
	N      int     `json:"n,omitempty"`
	List   []int32 `json:"list,omitzero"`
}

type processInfo struct {
	Program       int            `json:"program"`
	Rank          int            `json:"rank"`
	Host          string         `json:"host"`
	Pid           int            `json:"pid"`
	Source        string         `json:"source,omitempty"`
	State         profile.State  `json:"state"`
	Start         int64          `json:"start,omitempty"`
	InitEnd       int64          `json:"init_end,omitempty"`
	FinalizeStart int64          `json:"finalize_start,omitempty"`
	End           int64          `json:"end,omitempty"`
	Threads       int            `json:"threads"`
	Losses        profile.Losses `json:"losses,omitzero"`
	Pauses        uint64         `json:"pauses,omitempty"`
	Problems      []string       `json:"problems,omitempty"`
	Slices        []slice        `json:"slices,omitempty"`
	Modules       []module       `json:"modules,omitempty"`
	Comms         []membership   `json:"communicators,omitempty"`
	Stacks        *packed        `json:"stacks,omitempty"` // see packStacks
	Vectors       []vector       `json:"vectors,omitempty"`
	Asides        []aside        `json:"asides,omitempty"`
	Rows          int            `json:"rows"`
	Keys          []byte         `json:"keys,omitempty"` // see packKeys
}

type slice struct {
	Index uint32 `json:"index"`
	Name  string `json:"name"`
	Start int64  `json:"start"`
}

// module is one that holds a call site; the others are left out.
type module struct {
	File  int    `json:"file"`
	Start uint64 `json:"start"`
	End   uint64 `json:"end"`
	Bias  uint64 `json:"bias"`
}

// membership is a communicator as one process sees it. The process's
// memberships have the order, and so the indices, of Profile.Comms.
type membership struct {
	Comm   int    `json:"communicator"`
	Parent int32  `json:"parent"`
	Rank   int    `json:"rank"`
	Edges  *edges `json:"edges,omitempty"`
	Freed  bool   `json:"freed,omitempty"`
	Folded uint64 `json:"folded,omitempty"`
}

// edges tells no edges from none used.
type edges []int32

type vector struct {
	Thread   int32          `json:"thread"`
	Call     string         `json:"call"`
	Class    profile.Class  `json:"class"`
	Spread   profile.Spread `json:"spread"`
	Comm     int32          `json:"communicator"` // index into the process's
	Callsite uint64         `json:"callsite"`
	Slice    uint32         `json:"slice"`
	Calls    uint64         `json:"calls"`
	N        int            `json:"n"`
	Bytes    []byte         `json:"bytes"` // packed
}

// packed is so many numbers, packed.
type packed struct {
	N     int    `json:"n"`
	Bytes []byte `json:"bytes"`
}

type aside struct {
	Kind     string `json:"kind"`
	Call     string `json:"call,omitempty"`
	Comm     int32  `json:"communicator"` // index into the process's, -1 if there is none
	Peer     int32  `json:"peer"`         // rank there
	Callsite uint64 `json:"callsite,omitempty"`
	Slice    uint32 `json:"slice,omitempty"`
	Count    uint64 `json:"count"`
	Bytes    uint64 `json:"bytes,omitempty"`
}

// headerOf is the metadata that carries the header.
func headerOf(ps []*profile.Profile) (map[string]string, error) {
	b := &headerBuilder{}
	head := header{Processes: make([]processInfo, len(ps))}
	for i, p := range ps {
		head.Processes[i] = b.process(p)
	}
	head.Places = b.places(ps)
	head.Programs, head.Files, head.Comms = b.programs.all, b.files.all, b.comms.all
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return map[string]string{keyProfiles: string(text)}, nil
}

// pool numbers distinct values in the order in which they come.
type pool[T any] struct {
	all   []T
	index map[string]int
}

func (p *pool[T]) of(v T) int {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // these are strings and numbers
	}
	i, ok := p.index[string(text)]
	if !ok {
		if p.index == nil {
			p.index = map[string]int{}
		}
		i = len(p.all)
		p.index[string(text)] = i
		p.all = append(p.all, v)
	}
	return i
}

type headerBuilder struct {
	programs pool[program]
	files    pool[moduleFile]
	comms    pool[communicator]
}

func (b *headerBuilder) process(p *profile.Profile) processInfo {
	info := processInfo{
		Program: b.programs.of(program{p.Run, p.Size, p.Program, p.Command, p.Library}),
		Rank:    p.Rank, Host: p.Host, Pid: p.Pid, Source: p.Source, State: p.State,
		Start: p.Start, InitEnd: p.InitEnd, FinalizeStart: p.FinalizeStart, End: p.End,
		Threads: p.Threads, Losses: p.Losses, Pauses: p.Pauses, Problems: p.Problems,
		Stacks: packStacks(p.Stacks), Rows: len(p.Rows), Keys: packKeys(p.Rows),
	}
	for _, s := range p.Slices {
		info.Slices = append(info.Slices, slice(s))
	}
	for i := range p.Comms {
		info.Comms = append(info.Comms, b.membership(&p.Comms[i]))
	}
	for _, m := range calledFrom(p) {
		file := b.files.of(moduleFile{m.Path, m.BuildID})
		info.Modules = append(info.Modules, module{file, m.Start, m.End, m.Bias})
	}
	for _, v := range p.Vectors {
		info.Vectors = append(info.Vectors, vector{v.Thread, v.Call, v.Class, v.Spread, v.Comm,
			v.Callsite, v.Slice, v.Calls, len(v.Bytes), packVector(v.Bytes)})
	}
	for _, a := range p.Asides {
		info.Asides = append(info.Asides, aside{a.Kind.String(), a.Call, a.Comm, a.Peer, a.Callsite, a.Slice, a.Count, a.Bytes})
	}
	return info
}

func (b *headerBuilder) membership(c *profile.Comm) membership {
	m := membership{Parent: c.Parent, Rank: c.Rank, Freed: c.Freed, Folded: c.Folded}
	m.Comm = b.comms.of(communicator{c.ID, c.Name, c.Constructor, c.Inter, group(c.Members), group(c.Remote)})
	if c.Edges != nil {
		m.Edges = (*edges)(&c.Edges)
	}
	return m
}

// places are the named places of all call sites, in order.
func (b *headerBuilder) places(ps []*profile.Profile) []place {
	used := map[profile.Place]profile.Symbol{}
	for _, p := range ps {
		for _, a := range p.Addresses() {
			at := p.Place(a)
			if s, ok := p.Symbols[at]; ok {
				used[at] = s
			}
		}
	}
	out := make([]place, 0, len(used))
	for _, at := range slices.SortedFunc(maps.Keys(used), profile.Place.Compare) {
		s := used[at]
		out = append(out, place{b.files.of(moduleFile{at.Path, at.BuildID}), at.Offset, s.Function, s.Into, s.Source, s.Line})
	}
	return out
}

// symbols are the names of the places; nil if there are none.
func (h *header) symbols() profile.Symbols {
	if len(h.Places) == 0 {
		return nil
	}
	out := make(profile.Symbols, len(h.Places))
	for _, p := range h.Places {
		f := h.Files[p.File]
		out[profile.Place{Path: f.Path, BuildID: f.BuildID, Offset: p.Offset}] = profile.Symbol{
			Function: p.Function, Into: p.Into, Source: p.Source, Line: p.Line}
	}
	return out
}

// calledFrom lists the modules that hold a call site of the profile.
func calledFrom(p *profile.Profile) []profile.Module {
	used := make([]bool, len(p.Modules))
	for _, a := range p.Addresses() {
		if m := p.ModuleOf(a); m >= 0 {
			used[m] = true
		}
	}
	var out []profile.Module
	for i, m := range p.Modules {
		if used[i] {
			out = append(out, m)
		}
	}
	return out
}

// parseHeader reads the header back and checks that its parts refer to each
// other, so that profiles can be made of it without further checks.
func parseHeader(text string) (*header, error) {
	head := new(header)
	if err := json.Unmarshal([]byte(text), head); err != nil {
		return nil, fmt.Errorf("metadata %s: %w", keyProfiles, err)
	}
	for i, p := range head.Places {
		if p.File < 0 || p.File >= len(head.Files) {
			return nil, fmt.Errorf("metadata %s: place %d: no file %d", keyProfiles, i, p.File)
		}
	}
	for i := range head.Processes {
		if err := head.check(&head.Processes[i]); err != nil {
			return nil, fmt.Errorf("metadata %s: process %d: %w", keyProfiles, i, err)
		}
	}
	return head, nil
}

func (h *header) check(info *processInfo) error {
	if info.Program < 0 || info.Program >= len(h.Programs) {
		return fmt.Errorf("no program %d", info.Program)
	}
	if info.Rows < 0 {
		return fmt.Errorf("%d rows", info.Rows)
	}
	for _, m := range info.Modules {
		if m.File < 0 || m.File >= len(h.Files) {
			return fmt.Errorf("no file %d", m.File)
		}
	}
	for _, a := range info.Asides {
		if _, ok := profile.ParseAsideKind(a.Kind); !ok || int(a.Comm) >= len(info.Comms) {
			return fmt.Errorf("set aside: %q of communicator %d", a.Kind, a.Comm)
		}
	}
	for _, m := range info.Comms {
		if m.Comm < 0 || m.Comm >= len(h.Comms) {
			return fmt.Errorf("no communicator %d", m.Comm)
		}
		if int(m.Parent) >= len(info.Comms) {
			return fmt.Errorf("no parent communicator %d", m.Parent)
		}
		if c := h.Comms[m.Comm]; m.Rank < -1 || !c.Members.sane() || !c.Remote.sane() {
			return fmt.Errorf("communicator %s: rank %d of a group of %d", c.ID, m.Rank, c.Members.N)
		}
	}
	return nil
}

func (g group) sane() bool { return g.N >= 0 && g.N <= maxRanks }

// profile makes the process's profile, all but its rows.
func (h *header) profile(info *processInfo) (*profile.Profile, error) {
	prog := h.Programs[info.Program]
	p := &profile.Profile{
		Run: prog.Run, Rank: info.Rank, Size: prog.Size, Host: info.Host, Pid: info.Pid,
		Program: prog.Program, Command: prog.Command, Library: prog.Library, Source: info.Source,
		State: info.State, Start: info.Start, InitEnd: info.InitEnd,
		FinalizeStart: info.FinalizeStart, End: info.End, Threads: info.Threads, Losses: info.Losses,
		Pauses: info.Pauses, Problems: info.Problems,
	}
	for _, s := range info.Slices {
		p.Slices = append(p.Slices, profile.Slice(s))
	}
	for _, m := range info.Modules {
		f := h.Files[m.File]
		p.Modules = append(p.Modules, profile.Module{Path: f.Path, BuildID: f.BuildID, Start: m.Start, End: m.End, Bias: m.Bias})
	}
	for _, m := range info.Comms {
		p.Comms = append(p.Comms, h.comm(m))
	}
	var err error
	if p.Stacks, err = unpackStacks(info.Stacks); err != nil {
		return nil, fmt.Errorf("stacks: %w", err)
	}
	for _, v := range info.Vectors {
		bytes, err := unpackVector(v.Bytes, v.N)
		if err != nil {
			return nil, fmt.Errorf("counts of %s: %w", v.Call, err)
		}
		p.Vectors = append(p.Vectors, profile.Vector{Thread: v.Thread, Call: v.Call, Class: v.Class, Spread: v.Spread,
			Comm: v.Comm, Callsite: v.Callsite, Slice: v.Slice, Calls: v.Calls, Bytes: bytes})
	}
	for _, a := range info.Asides {
		kind, _ := profile.ParseAsideKind(a.Kind) // checked
		p.Asides = append(p.Asides, profile.Aside{Kind: kind, Call: a.Call, Comm: a.Comm, Peer: a.Peer,
			Callsite: a.Callsite, Slice: a.Slice, Count: a.Count, Bytes: a.Bytes})
	}
	return p, nil
}

func (h *header) comm(m membership) profile.Comm {
	c := h.Comms[m.Comm]
	out := profile.Comm{ID: c.ID, Name: c.Name, Constructor: c.Constructor, Parent: m.Parent, Inter: c.Inter,
		Rank: m.Rank, Members: profile.Group(c.Members), Remote: profile.Group(c.Remote), Freed: m.Freed, Folded: m.Folded}
	if m.Edges != nil {
		out.Edges = *m.Edges
	}
	return out
}
