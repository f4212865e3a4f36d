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

// header collects the data of profiles that has no columns: the data that
// processes share, and the data of each process, in compressed blocks of
// several processes. For a job of 100,000 ranks it is about 10 MB.
type header struct {
	programs pool[programKey, program]
	files    pool[moduleFile, moduleFile]
	comms    pool[commKey, communicator]
	used     map[profile.Place]profile.Symbol // call sites that have a name
	named    []place                          // replaces used, if it is not nil

	block  []byte // processes that are not yet compressed
	blocks []byte
}

// blockSize is the size in bytes at which a block is compressed. A reader keeps
// one block in memory.
const blockSize = 256 << 10

// pool numbers distinct values in the order of their first occurrence. Values
// with the same key are equal.
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

// commKey identifies a communicator in the pool. It holds hashes in place of
// the members: every member may add the same long list.
type commKey struct {
	id, name, constructor string
	inter                 bool
	members, remote       groupKey
}

// groupKey holds two hashes of a list of ranks. It is less likely that both
// hashes of two different lists are equal than that a disk returns wrong data.
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

// Add adds a process. Its rows must be the next rows of the table.
func (b *header) Add(p *profile.Profile) error {
	b.notePlaces(p)
	return b.add(p)
}

// note adds what a process shares with others.
func (b *header) note(p *profile.Profile) {
	b.notePlaces(p)
	for i := range p.Comms {
		b.membership(&p.Comms[i])
	}
	b.modules(p)
}

func (b *header) add(p *profile.Profile) error {
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

// closeBlock compresses the current block.
func (b *header) closeBlock() {
	if len(b.block) > 0 {
		b.blocks = appendPart(b.blocks, packer().EncodeAll(b.block, nil))
		b.block = b.block[:0]
	}
}

// finish returns the two parts of the header of a table: the blocks of
// processes, and the shared data.
func (b *header) finish(table string) (blocks, common []byte, err error) {
	b.closeBlock()
	common, err = b.shared(table)
	return b.blocks, common, err
}

// shared returns the shared data of a table.
func (b *header) shared(table string) ([]byte, error) {
	s := shared{Format: FormatVersion, Table: table, Places: b.places()}
	s.Programs, s.Files, s.Comms = b.programs.all, b.files.all, b.comms.all
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPacked {
		return nil, fmt.Errorf("the communicators and call sites take %d bytes, more than can be read back", len(text))
	}
	return packer().EncodeAll(text, nil), nil
}

func (b *header) process(p *profile.Profile) processInfo {
	info := processInfo{Profile: p, Rows: len(p.Rows), Stacks: packStacks(p.Stacks), Physical: packPhysical(p.Physical),
		Program: b.program(p), Modules: b.modules(p)}
	for i := range p.Comms {
		info.Comms = append(info.Comms, b.membership(&p.Comms[i]))
	}
	for _, v := range p.Vectors {
		info.Vectors = append(info.Vectors, vector{v, len(v.Bytes), packVector(v.Bytes)})
	}
	return info
}

// program returns the number of a process's program.
func (b *header) program(p *profile.Profile) int {
	of := program{p.Run, p.Size, p.Program, p.Command, p.Library}
	return b.programs.of(of.key(), of)
}

func (p *program) key() programKey {
	return programKey{p.Run, p.Program, strings.Join(p.Command, "\x00"), p.Library, p.Size}
}

func (b *header) modules(p *profile.Profile) (out []module) {
	for _, m := range calledFrom(p) {
		out = append(out, module{b.file(m.Path, m.BuildID), m.Start, m.End, m.Bias})
	}
	return out
}

func (b *header) file(path, buildID string) int {
	f := moduleFile{path, buildID}
	return b.files.of(f, f)
}

func (b *header) membership(c *profile.Comm) membership {
	m := membership{Parent: c.Parent, Rank: c.Rank, Freed: c.Freed, Folded: c.Folded}
	v := communicator{c.ID, c.Name, c.Constructor, c.Inter, c.Members, c.Remote}
	if own(c) {
		m.Own = &v
	} else {
		m.Comm = b.comms.of(v.key(), v)
	}
	if c.Edges != nil {
		m.Edges = (*edges)(&c.Edges)
	}
	return m
}

// own reports whether a communicator has one member only, and is not shared.
func own(c *profile.Comm) bool { return c.Members.Len() == 1 && !c.Inter }

func keyOfComm(c *profile.Comm) commKey {
	return (&communicator{c.ID, c.Name, c.Constructor, c.Inter, c.Members, c.Remote}).key()
}

func (c *communicator) key() commKey {
	return commKey{c.ID, c.Name, c.Constructor, c.Inter, keyOf(c.Members), keyOf(c.Remote)}
}

func (b *header) notePlaces(p *profile.Profile) {
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

// places returns the places of all call sites that have a name, sorted.
func (b *header) places() []place {
	if b.named != nil {
		return b.named
	}
	out := make([]place, 0, len(b.used))
	for _, at := range slices.SortedFunc(maps.Keys(b.used), profile.Place.Compare) {
		s := b.used[at]
		out = append(out, place{b.file(at.Path, at.BuildID), at.Offset, s.Function, s.Into, s.Source, s.Line})
	}
	return out
}

// calledFrom returns the modules that contain a call site of the profile.
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
