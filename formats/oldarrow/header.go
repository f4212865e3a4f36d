package oldarrow

import (
	"encoding/json"
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// shared is the data that has no columns and that several processes share.
// Processes refer to it by index.
type shared struct {
	Format   string         `json:"format"` // "2" or "3"
	Table    string         `json:"table"`
	Programs []program      `json:"programs,omitempty"`
	Files    []moduleFile   `json:"files,omitempty"`
	Comms    []communicator `json:"communicators,omitempty"`
	Places   []place        `json:"places,omitempty"` // places that have a name
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

// place is an address in a file, with its function and source line.
type place struct {
	File     int    `json:"file"`
	Offset   uint64 `json:"offset"`
	Function string `json:"function,omitempty"`
	Into     uint64 `json:"into,omitempty"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// communicator is the data of a communicator that is the same on all its
// members.
type communicator struct {
	ID          string        `json:"id"`
	Name        string        `json:"name,omitempty"`
	Constructor string        `json:"constructor,omitempty"`
	Inter       bool          `json:"inter,omitempty"`
	Members     profile.Group `json:"members"`
	Remote      profile.Group `json:"remote,omitzero"`
}

// processInfo is the data of one process that has no columns. In the file, the
// keys of the process's rows follow it (see unpackKeys).
type processInfo struct {
	*profile.Profile
	Program  int          `json:"program"`
	Modules  []module     `json:"modules,omitempty"`
	Comms    []membership `json:"communicators,omitempty"`
	Stacks   *packed      `json:"stacks,omitempty"` // see unpackStacks
	Vectors  []vector     `json:"vectors,omitempty"`
	Rows     int          `json:"rows"`
	Physical *physical    `json:"physical,omitempty"`
}

// module is a module that contains a call site. Other modules are not stored.
type module struct {
	File  int    `json:"file"`
	Start uint64 `json:"start"`
	End   uint64 `json:"end"`
	Bias  uint64 `json:"bias"`
}

// membership is a communicator as seen by one process. The memberships of a
// process have the same order, and so the same indices, as Profile.Comms.
type membership struct {
	Comm   int           `json:"communicator"`  // index into shared.Comms, if Own is nil
	Own    *communicator `json:"own,omitempty"` // a communicator of one member, which is not shared
	Parent int32         `json:"parent"`
	Rank   int           `json:"rank"`
	Edges  *edges        `json:"edges,omitempty"`
	Freed  bool          `json:"freed,omitempty"`
	Folded uint64        `json:"folded,omitempty"`
}

// edges distinguishes nil from an empty list in JSON.
type edges []int32

type vector struct {
	profile.Vector
	N     int    `json:"n"`
	Bytes []byte `json:"bytes"` // see unpackVector
}

// packed is a list of N numbers, see unpackVector.
type packed struct {
	N     int    `json:"n"`
	Bytes []byte `json:"bytes"`
}

// symbols returns the names of the places; nil if there are none.
func (h *shared) symbols() profile.Symbols {
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

// parseShared parses and checks the shared data.
func parseShared(text []byte) (*shared, error) {
	h := new(shared)
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	for i, p := range h.Places {
		if p.File < 0 || p.File >= len(h.Files) {
			return nil, fmt.Errorf("header: place %d: no file %d", i, p.File)
		}
	}
	for i := range h.Comms {
		if c := &h.Comms[i]; !c.sane() {
			return nil, fmt.Errorf("header: communicator %s: a group of %d", c.ID, max(c.Members.N, c.Remote.N))
		}
	}
	return h, nil
}

// parseProcess parses the data of one process and checks all references, so
// that profile needs no further checks.
func (h *shared) parseProcess(text []byte) (*processInfo, error) {
	info := &processInfo{Profile: new(profile.Profile)}
	if err := json.Unmarshal(text, info); err != nil {
		return nil, err
	}
	return info, h.check(info)
}

func (h *shared) check(info *processInfo) error {
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
	for _, a := range info.Abnormal {
		if int(a.Comm) >= len(info.Comms) {
			return fmt.Errorf("abnormal operation: %q of communicator %d", a.Kind, a.Comm)
		}
	}
	for _, o := range info.Open {
		if int(o.Comm) >= len(info.Comms) || o.Direction >= profile.NumDirections || o.Class >= profile.NumClasses {
			return fmt.Errorf("open call %q of communicator %d", o.Call, o.Comm)
		}
	}
	for _, l := range info.Late {
		if int(l.Comm) >= len(info.Comms) {
			return fmt.Errorf("late %q of communicator %d", l.Call, l.Comm)
		}
	}
	for _, m := range info.Comms {
		if err := h.checkMembership(m); err != nil {
			return err
		}
		if int(m.Parent) >= len(info.Comms) {
			return fmt.Errorf("no parent communicator %d", m.Parent)
		}
	}
	return nil
}

func (h *shared) checkMembership(m membership) error {
	switch {
	case m.Own == nil && (m.Comm < 0 || m.Comm >= len(h.Comms)):
		return fmt.Errorf("no communicator %d", m.Comm)
	case m.Own != nil && !m.Own.sane():
		return fmt.Errorf("communicator %s: a group of %d", m.Own.ID, max(m.Own.Members.N, m.Own.Remote.N))
	case m.Rank < -1:
		return fmt.Errorf("communicator %d: rank %d", m.Comm, m.Rank)
	}
	return nil
}

func (c *communicator) sane() bool { return sane(c.Members) && sane(c.Remote) }

func sane(g profile.Group) bool { return g.N >= 0 && g.N <= maxRanks }

// profile returns the profile of a process, without its rows.
func (h *shared) profile(info *processInfo) (*profile.Profile, error) {
	prog, p := h.Programs[info.Program], info.Profile
	p.Run, p.Size, p.Program, p.Command, p.Library = prog.Run, prog.Size, prog.Program, prog.Command, prog.Library
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
	if p.Physical, err = unpackPhysical(info.Physical, info.Rank); err != nil {
		return nil, fmt.Errorf("what the MPI library sent: %w", err)
	}
	for _, v := range info.Vectors {
		if v.Vector.Bytes, err = unpackVector(v.Bytes, v.N); err != nil {
			return nil, fmt.Errorf("counts of %s: %w", v.Call, err)
		}
		p.Vectors = append(p.Vectors, v.Vector)
	}
	return p, nil
}

func (h *shared) comm(m membership) profile.Comm {
	c := m.Own
	if c == nil {
		c = &h.Comms[m.Comm]
	}
	out := profile.Comm{ID: c.ID, Name: c.Name, Constructor: c.Constructor, Parent: m.Parent, Inter: c.Inter,
		Rank: m.Rank, Members: c.Members, Remote: c.Remote, Freed: m.Freed, Folded: m.Folded}
	if m.Edges != nil {
		out.Edges = *m.Edges
	}
	return out
}
