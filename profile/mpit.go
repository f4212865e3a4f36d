package profile

import (
	"math"
)

// Variable is a control variable (cvar) of the MPI that mpitrace or the
// environment sets.
type Variable struct {
	Name    string `json:"name"`              // name of the control variable; if the environment sets it, name of the environment variable
	Value   string `json:"value"`             // value read back after setting it, otherwise the given value
	Asked   bool   `json:"asked"`             // mpitrace was told to set it; otherwise the environment sets it
	Scope   Scope  `json:"scope,omitempty"`   // which processes must agree on it; only if Asked and known to the MPI
	Refused string `json:"refused,omitempty"` // why it was not set; for one of the environment, why its value is not complete
}

// Scope is the scope of a control variable: whether it may be set, and which
// processes must agree on its value.
type Scope uint8

const (
	ScopeUnknown Scope = iota
	ScopeConstant
	ScopeReadOnly
	ScopeLocal
	ScopeGroup
	ScopeGroupEq
	ScopeAll
	ScopeAllEq
	NumScopes
)

var scopeNames = [NumScopes]string{"", "constant", "read-only", "local", "group", "group-eq", "all", "all-eq"}

func (s Scope) String() string {
	if s < NumScopes {
		return scopeNames[s]
	}
	return ""
}

// MarshalText returns the scope's name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse of MarshalText. An unknown name becomes
// ScopeUnknown.
func (s *Scope) UnmarshalText(text []byte) error {
	*s, _ = valueOf[Scope](scopeNames[:], string(text))
	return nil
}

// MustAgree reports whether all processes of a group must set the variable to
// the same value. MPI_T does not define which groups there are.
func (s Scope) MustAgree() bool { return s == ScopeGroupEq || s == ScopeAllEq }

// PvarClass is the class of a performance variable, as MPI_T defines it.
type PvarClass uint8

const (
	PvarState         PvarClass = iota + 1 // one value of an enumeration
	PvarLevel                              // current use of a resource
	PvarSize                               // fixed size of a resource
	PvarPercentage                         // current use as a fraction, 0 to 1
	PvarHighWatermark                      // highest use since the variable was started
	PvarLowWatermark                       // lowest use since the variable was started
	PvarCounter                            // number of events since the variable was started
	PvarAggregate                          // sum of values since the variable was started
	PvarTimer                              // time since the variable was started
	PvarGeneric
	NumPvarClasses
)

var pvarClassNames = [NumPvarClasses]string{"unknown", "state", "level", "size", "percentage", "high-watermark",
	"low-watermark", "counter", "aggregate", "timer", "generic"}

func (c PvarClass) String() string { return nameOf(pvarClassNames[:], c) }

// Accumulates reports whether values add up from the time when the variable was
// started. The last value is then the total of the run.
func (c PvarClass) Accumulates() bool {
	return c == PvarCounter || c == PvarAggregate || c == PvarTimer
}

// PvarType is the type of the 64-bit words in Reading.Values.
type PvarType uint8

const (
	PvarSigned PvarType = iota + 1
	PvarUnsigned
	PvarDouble
	PvarText // one character in each word
	NumPvarTypes
)

// Pvar is a performance variable (pvar) of the MPI that was read.
type Pvar struct {
	Name, Description            string
	Class                        PvarClass
	Type                         PvarType
	Bound                        PvarBinding
	ReadOnly, Continuous, Atomic bool
}

// PvarBinding is the kind of MPI object that a variable is bound to.
type PvarBinding uint8

const (
	PvarUnbound PvarBinding = iota
	PvarCommunicator
	PvarWindow
	NumPvarBindings
)

// PvarHandle is a handle of a performance variable, for one object if the
// variable is bound.
type PvarHandle struct {
	Pvar  int   // index into Profile.Pvars
	Comm  int32 // index into Profile.Comms of the communicator or of the window's group; -1 if unbound
	Count int   // number of elements
}

// Moment is the occasion on which a variable was read.
type Moment uint8

const (
	ReadAtInit Moment = iota + 1
	ReadAtSlice
	ReadAtInterval
	ReadAtFinalize
	ReadAtFree // before its object was freed
	ReadAtBind // after its object was created
	NumMoments
)

// Reading holds the values of a handle's elements at one time.
type Reading struct {
	Handle int // index into Profile.PvarHandles
	Slice  uint32
	At     int64 // Unix ns
	Moment Moment
	Values []uint64 // one for each element, see PvarType
}

// Number returns a value as a floating-point number.
func (t PvarType) Number(value uint64) float64 {
	switch t {
	case PvarSigned:
		return float64(int64(value))
	case PvarDouble:
		return math.Float64frombits(value)
	}
	return float64(value)
}

// Late holds receives that were posted while more unexpected messages were
// queued than the setting allows. All have the same key. They are counted in
// rows as well.
type Late struct {
	Call     string `json:"call"`
	Comm     int32  `json:"communicator"` // index into Profile.Comms, -1 if not known
	Peer     int32  `json:"peer"`         // rank in the communicator, or PeerAnySource
	Callsite uint64 `json:"callsite"`
	Slice    uint32 `json:"slice,omitempty"`
	Count    uint64 `json:"count"`
	Queued   uint64 `json:"queued"` // unexpected messages in the queue, from any sender, summed over the receives
}

var pvarBindingNames = [NumPvarBindings]string{"none", "communicator", "window"}

// String returns the name of the kind of object in files.
func (b PvarBinding) String() string { return nameOf(pvarBindingNames[:], b) }

// ParsePvarBinding is the inverse of PvarBinding.String.
func ParsePvarBinding(s string) (PvarBinding, bool) {
	return valueOf[PvarBinding](pvarBindingNames[:], s)
}

// ParsePvarClass is the inverse of PvarClass.String.
func ParsePvarClass(s string) (PvarClass, bool) {
	c, ok := valueOf[PvarClass](pvarClassNames[:], s)
	return c, ok && c > 0
}

var momentNames = [NumMoments]string{"unknown", "init", "slice", "interval", "finalize", "free", "bind"}

// String returns the name of the moment in files.
func (m Moment) String() string { return nameOf(momentNames[:], m) }

// ParseMoment is the inverse of Moment.String.
func ParseMoment(s string) (Moment, bool) {
	m, ok := valueOf[Moment](momentNames[:], s)
	return m, ok && m > 0
}

// Finite returns a value as a floating-point number, and false if it is
// infinite or NaN.
func (t PvarType) Finite(value uint64) (float64, bool) {
	v := t.Number(value)
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Increase returns to - from. Integers are subtracted before they are converted
// to floating point, so the result is exact even if both are large.
func (t PvarType) Increase(from, to uint64) float64 {
	switch {
	case t == PvarDouble:
		return t.Number(to) - t.Number(from)
	case t == PvarSigned && int64(to) < int64(from), t != PvarSigned && to < from:
		return -float64(from - to)
	}
	return float64(to - from)
}

// Text returns the values of a PvarText as a string: the characters up to the
// first NUL.
func (r *Reading) Text() string {
	out := make([]byte, 0, len(r.Values))
	for _, c := range r.Values {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}
