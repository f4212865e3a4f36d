package table

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Header gathers what the columns do not say of profiles: what processes share,
// and blocks of so many processes each, compressed. A job of 100,000 ranks has
// some 10 MB of it.
type Header struct {
	programs pool[programKey, program]
	files    pool[moduleFile, moduleFile]
	comms    pool[commKey, communicator]
	used     map[profile.Place]profile.Symbol // call sites that have a name

	block  []byte // processes that are not compressed yet
	blocks []byte
}

// blockSize is how much is compressed at once, and held by a reader.
const blockSize = 256 << 10

// pool numbers distinct values in the order in which they come. Values of one
// key are equal.
type pool[K comparable, T any] struct {
	all   []T
	index map[K]int
}

func (p *pool[K, T]) of(key K, v T) int {
	i, ok := p.index[key]
	if !ok {
		if p.index == nil {
			p.index = map[K]int{}
		}
		i = len(p.all)
		p.index[key] = i
		p.all = append(p.all, v)
	}
	return i
}

type programKey struct {
	run, program, command, library string
	size                           int
}

// commKey is a communicator's, which may have as many members as the job has
// ranks and be met once by each of them.
type commKey struct {
	id, name, constructor string
	inter                 bool
	members, remote       groupKey
}

// groupKey has two hashes of a list: that both of two lists agree is less
// likely than that a disk errs.
type groupKey struct {
	base, stride, n int
	hashes          [2]uint64
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func keyOf(g profile.Group) groupKey {
	key := groupKey{base: g.Base, stride: g.Stride, n: g.N}
	if g.List == nil {
		return key
	}
	key.n = -1 - len(g.List)
	raw := make([]byte, 0, 4*len(g.List))
	for _, rank := range g.List {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(rank))
	}
	for i, seed := range seeds {
		key.hashes[i] = maphash.Bytes(seed, raw)
	}
	return key
}

// Add appends a process. Its rows are the next of the table.
func (b *Header) Add(p *profile.Profile) error {
	b.notePlaces(p)
	text, err := json.Marshal(b.process(p))
	if err != nil {
		return fmt.Errorf("rank %d: %w", p.Rank, err)
	}
	b.block = appendPart(b.block, text)
	b.block = appendPart(b.block, packKeys(p.Rows))
	if len(b.block) >= blockSize {
		b.closeBlock()
	}
	return nil
}

func appendPart(to, part []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(part))), part...)
}

// closeBlock compresses the block.
func (b *Header) closeBlock() {
	if len(b.block) > 0 {
		b.blocks = appendPart(b.blocks, packer().EncodeAll(b.block, nil))
		b.block = b.block[:0]
	}
}

// finish gives the header of a table: the blocks, and what their processes share.
func (b *Header) finish(table string) (blocks, common []byte, err error) {
	b.closeBlock()
	s := shared{Format: FormatVersion, Table: table, Places: b.places()}
	s.Programs, s.Files, s.Comms = b.programs.all, b.files.all, b.comms.all
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxPacked {
		return nil, nil, fmt.Errorf("the communicators and call sites take %d bytes, more than can be read back", len(text))
	}
	return b.blocks, packer().EncodeAll(text, nil), nil
}

func (b *Header) process(p *profile.Profile) processInfo {
	info := processInfo{Profile: p, Rows: len(p.Rows), Stacks: packStacks(p.Stacks), Physical: packPhysical(p.Physical),
		Program: b.programs.of(programKey{p.Run, p.Program, strings.Join(p.Command, "\x00"), p.Library, p.Size},
			program{p.Run, p.Size, p.Program, p.Command, p.Library})}
	for i := range p.Comms {
		info.Comms = append(info.Comms, b.membership(&p.Comms[i]))
	}
	for _, m := range calledFrom(p) {
		info.Modules = append(info.Modules, module{b.file(m.Path, m.BuildID), m.Start, m.End, m.Bias})
	}
	for _, v := range p.Vectors {
		info.Vectors = append(info.Vectors, vector{v, len(v.Bytes), packVector(v.Bytes)})
	}
	return info
}

func (b *Header) file(path, buildID string) int {
	f := moduleFile{path, buildID}
	return b.files.of(f, f)
}

func (b *Header) membership(c *profile.Comm) membership {
	m := membership{Parent: c.Parent, Rank: c.Rank, Freed: c.Freed, Folded: c.Folded}
	v := communicator{c.ID, c.Name, c.Constructor, c.Inter, c.Members, c.Remote}
	if c.Members.Len() == 1 && !c.Inter {
		m.Own = &v
	} else {
		m.Comm = b.comms.of(commKey{c.ID, c.Name, c.Constructor, c.Inter, keyOf(c.Members), keyOf(c.Remote)}, v)
	}
	if c.Edges != nil {
		m.Edges = (*edges)(&c.Edges)
	}
	return m
}

func (b *Header) notePlaces(p *profile.Profile) {
	if len(p.Symbols) == 0 {
		return
	}
	if b.used == nil {
		b.used = map[profile.Place]profile.Symbol{}
	}
	for _, a := range p.Addresses() {
		at := p.Place(a)
		if s, ok := p.Symbols[at]; ok {
			b.used[at] = s
		}
	}
}

// places are the named places of all call sites, in order.
func (b *Header) places() []place {
	out := make([]place, 0, len(b.used))
	for _, at := range slices.SortedFunc(maps.Keys(b.used), profile.Place.Compare) {
		s := b.used[at]
		out = append(out, place{b.file(at.Path, at.BuildID), at.Offset, s.Function, s.Into, s.Source, s.Line})
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
