package profile

import (
	"math"
	"slices"
)

// Variable is a control variable of the MPI that was set, or was to be.
type Variable struct {
	Name    string `json:"name"`              // of the variable; of one that the environment sets, of what sets it there
	Value   string `json:"value"`             // as it is read after it was set; else as it was given
	Asked   bool   `json:"asked"`             // mpitrace was asked to set it; else the process's environment does
	Scope   Scope  `json:"scope,omitempty"`   // who is to agree on it, of one that was asked for and that the MPI has
	Refused string `json:"refused,omitempty"` // why it was not set; of one of the environment, what is not kept of it
}

// Scope tells where a control variable may be set, and who has to agree.
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

// MarshalText gives the scope's name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse; of a name that is not known the scope is not.
func (s *Scope) UnmarshalText(text []byte) error {
	*s = Scope(max(slices.Index(scopeNames[:], string(text)), 0))
	return nil
}

// MustAgree tells that all processes have to set it to the same value. Which
// groups there are MPI_T does not say.
func (s Scope) MustAgree() bool { return s == ScopeGroupEq || s == ScopeAllEq }

// PvarClass is a class of performance variables, as MPI_T has them.
type PvarClass uint8

const (
	PvarState         PvarClass = iota + 1 // one of an enumeration
	PvarLevel                              // how much there is now
	PvarSize                               // a size that is fixed
	PvarPercentage                         // of 1
	PvarHighWatermark                      // the most since it was started
	PvarLowWatermark                       // the least since it was started
	PvarCounter                            // events since it was started
	PvarAggregate                          // a sum since it was started
	PvarTimer                              // time since it was started
	PvarGeneric
	NumPvarClasses
)

var pvarClassNames = [NumPvarClasses]string{"unknown", "state", "level", "size", "percentage", "high-watermark",
	"low-watermark", "counter", "aggregate", "timer", "generic"}

func (c PvarClass) String() string {
	if c < NumPvarClasses {
		return pvarClassNames[c]
	}
	return "unknown"
}

// Accumulates tells that values add up from when the variable was started: the
// last one is that of the whole run.
func (c PvarClass) Accumulates() bool {
	return c == PvarCounter || c == PvarAggregate || c == PvarTimer
}

// PvarType tells what the 64-bit words of a Reading are.
type PvarType uint8

const (
	PvarSigned PvarType = iota + 1
	PvarUnsigned
	PvarDouble
	PvarText // a character each
	NumPvarTypes
)

// Pvar is a performance variable of the MPI that was read.
type Pvar struct {
	Name, Description            string
	Class                        PvarClass
	Type                         PvarType
	Bound                        PvarBinding
	ReadOnly, Continuous, Atomic bool
}

// PvarBinding is the kind of object that a variable is of.
type PvarBinding uint8

const (
	PvarUnbound PvarBinding = iota
	PvarCommunicator
	PvarWindow
	NumPvarBindings
)

// PvarHandle is a performance variable of an object.
type PvarHandle struct {
	Pvar  int   // index into Profile.Pvars
	Comm  int32 // index into Profile.Comms of the communicator, or of the window's group; -1 if it is unbound
	Count int   // elements
}

// Moment tells why a variable was read.
type Moment uint8

const (
	ReadAtInit Moment = iota + 1
	ReadAtSlice
	ReadAtInterval
	ReadAtFinalize
	ReadAtFree // its object was about to go
	ReadAtBind // its object had just come
	NumMoments
)

// Reading is what a handle's elements were at a moment.
type Reading struct {
	Handle int // index into Profile.PvarHandles
	Slice  uint32
	At     int64 // Unix ns
	Moment Moment
	Values []uint64 // as the variable's type says
}

// Number is one of the values.
func (t PvarType) Number(value uint64) float64 {
	switch t {
	case PvarSigned:
		return float64(int64(value))
	case PvarDouble:
		return math.Float64frombits(value)
	}
	return float64(value)
}

// Late is receives that were posted while more messages than were allowed
// waited to be received, all under one key. They are counted in rows as well.
type Late struct {
	Call     string
	Comm     int32 // index into Profile.Comms, -1 if it is not known
	Peer     int32 // rank in the communicator, or PeerAnySource
	Callsite uint64
	Slice    uint32
	Count    uint64
	Queued   uint64 // messages that waited, of any sender, summed over the receives
}
