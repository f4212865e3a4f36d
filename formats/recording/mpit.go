package recording

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Records of version 6: the settings of mpitrace, and the control variables and
// performance variables of the MPI (MPI_T).

func (f *file) readSetting(r *record) error {
	var s layout.Setting
	r.head(&s)
	name, value := valid(r.text(s.NameLength)), valid(r.text(s.ValueLength))
	if r.err != nil {
		return r.err
	}
	if f.tools.settings == nil {
		f.tools.settings = map[string]string{}
	}
	f.tools.settings[name] = value
	return nil
}

func (f *file) readVariable(r *record) error {
	var v layout.Variable
	r.head(&v)
	out := profile.Variable{Name: valid(r.text(v.NameLength)), Value: valid(r.text(v.ValueLength)), Refused: valid(r.text(v.WhyLength)),
		Asked: v.Origin == layout.VariableAsked, Scope: profile.Scope(v.Scope)}
	switch {
	case r.err != nil:
		return r.err
	case v.Scope >= uint32(profile.NumScopes):
		return fmt.Errorf("control variable %q of scope %d", out.Name, v.Scope)
	}
	f.tools.variables = append(f.tools.variables, out)
	return nil
}

func (f *file) readEagerLimit(r *record) error {
	var v layout.EagerLimit
	r.head(&v)
	name := valid(r.text(v.NameLength))
	path, known := eagerPaths[v.Path]
	switch {
	case r.err != nil:
		return r.err
	case !known:
		return fmt.Errorf("eager limit %q of path %d", name, v.Path)
	}
	f.eagerLimits = append(f.eagerLimits, profile.EagerLimit{Path: path, Bytes: v.Bytes, Variable: name})
	return nil
}

var eagerPaths = map[uint32]profile.Path{layout.PathSelf: profile.ToSelf, layout.PathNode: profile.InNode, layout.PathNetwork: profile.BetweenNodes}

func (f *file) readPvar(r *record) error {
	var v layout.Pvar
	r.head(&v)
	name, description := valid(r.text(v.NameLength)), valid(r.text(v.DescriptionLength))
	if r.err != nil {
		return r.err
	}
	if v.Class == 0 || v.Class >= uint32(profile.NumPvarClasses) || v.Type == 0 || v.Type >= uint32(profile.NumPvarTypes) ||
		v.Binding >= uint32(profile.NumPvarBindings) {
		return fmt.Errorf("performance variable %q of class %d, type %d and binding %d", name, v.Class, v.Type, v.Binding)
	}
	f.tools.pvars[v.Index] = profile.Pvar{Name: name, Description: description, Class: profile.PvarClass(v.Class),
		Type: profile.PvarType(v.Type), Bound: profile.PvarBinding(v.Binding), ReadOnly: v.Flags&layout.PvarReadOnly != 0,
		Continuous: v.Flags&layout.PvarContinuous != 0, Atomic: v.Flags&layout.PvarAtomic != 0}
	return nil
}

func (f *file) readHandle(r *record) error {
	var h layout.Handle
	if r.head(&h); r.err == nil {
		f.tools.handles[h.Index] = h
	}
	return r.err
}

func (f *file) readReading(r *record) error {
	var v readingRecord
	r.head(&v.Reading)
	v.values = r.uint64s(v.Count)
	switch {
	case r.err != nil:
		return r.err
	case v.Moment == 0 || v.Moment >= uint32(profile.NumMoments):
		return fmt.Errorf("reading at a moment %d", v.Moment)
	}
	f.tools.readings = append(f.tools.readings, v)
	return nil
}

// addTools adds the records of this file to the profile. It reports a reference to a missing record
// as damage.
func (f *file) addTools(p *profile.Profile, comms map[uint32]int32, scale float64) {
	p.Settings, p.Variables = f.tools.settings, f.tools.variables
	pvars, handles := map[uint32]int{}, map[uint32]int{}
	for _, k := range slices.Sorted(maps.Keys(f.tools.pvars)) {
		pvars[k] = len(p.Pvars)
		p.Pvars = append(p.Pvars, f.tools.pvars[k])
	}
	for _, k := range slices.Sorted(maps.Keys(f.tools.handles)) {
		h := f.tools.handles[k]
		pvar, ok := pvars[h.Pvar]
		if !ok {
			f.problem(0, "handle %d of performance variable %d, which is not described", h.Index, h.Pvar)
			continue
		}
		handles[k] = len(p.PvarHandles)
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: pvar, Comm: commIn(comms, h.Comm), Count: int(h.Count)})
	}
	for _, r := range f.tools.readings {
		handle, ok := handles[r.Handle]
		if !ok {
			f.problem(0, "reading of handle %d, which is not described", r.Handle)
			continue
		}
		p.Readings = append(p.Readings, profile.Reading{Handle: handle, Slice: r.Slice, At: f.unixTime(r.Ticks, scale),
			Moment: profile.Moment(r.Moment), Values: r.values})
	}
}

// addLate adds a row of receives that were posted late. It reports whether raw
// is such a row.
func (f *file) addLate(p *profile.Profile, call string, raw layout.Row, comms map[uint32]int32) bool {
	if raw.Direction != layout.DirLate {
		return false
	}
	p.Late = append(p.Late, profile.Late{Call: call, Comm: commIn(comms, raw.Comm), Peer: raw.Peer, Callsite: raw.Callsite,
		Slice: raw.Slice, Count: raw.Count, Queued: raw.Bytes})
	return true
}

// dumpTools writes the contents of the records of this file as text.
func dumpTools(w io.Writer, p *profile.Profile) {
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		fmt.Fprintf(w, "setting\t%s\t%q\n", name, p.Settings[name])
	}
	for _, v := range p.Variables {
		fmt.Fprintf(w, "variable\t%q\t%q\tasked %t\tscope %v\trefused %q\n", v.Name, v.Value, v.Asked, v.Scope, v.Refused)
	}
	for i, v := range p.Pvars {
		fmt.Fprintf(w, "pvar\t%d\t%q\t%v\ttype %d\tbound %d\tcontinuous %t\n", i, v.Name, v.Class, v.Type, v.Bound, v.Continuous)
	}
	for i, h := range p.PvarHandles {
		fmt.Fprintf(w, "handle\t%d\tpvar %d\tcomm %d\telements %d\n", i, h.Pvar, h.Comm, h.Count)
	}
	for _, r := range p.Readings {
		fmt.Fprintf(w, "reading\thandle %d\tslice %d\tat_ns %d\tmoment %d\tvalues %d\n", r.Handle, r.Slice, r.At, r.Moment, r.Values)
	}
	for _, l := range p.Late {
		fmt.Fprintf(w, "late\tMPI_%s\tcomm %d\tpeer %d\tsite %#x\tslice %d\tcount %d\tqueued %d\n",
			l.Call, l.Comm, l.Peer, l.Callsite, l.Slice, l.Count, l.Queued)
	}
}
