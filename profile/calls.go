package profile

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed calls_gen.txt
var callsText string

// Call is an MPI call that mpitrace records, as interpose/calls/calls.txt
// declares it.
type Call struct {
	ID     uint16   // in recordings
	Name   string   // without MPI_, or with MPIX_ if the call is not in the Standard
	Others []string // other names of the same call in some MPIs, such as MPIX_Barrier_init
	Class  Class
	Spread Spread
	Traits Traits
}

// Calls holds all calls, sorted by ID.
var Calls = parseCalls(callsText)

var callsByID, callsByName = indexCalls()

func parseCalls(text string) []Call {
	var all []Call
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // id, class, spread, traits and names
		id, err := strconv.ParseUint(f[0], 10, 16)
		class, ok := ParseClass(f[1])
		spread := slices.Index(spreadNames, f[2])
		traits, hex := strconv.ParseUint(f[3], 16, 64)
		if err != nil || hex != nil || !ok || spread < 0 {
			panic("calls_gen.txt: " + line) // impossible: the table is generated
		}
		all = append(all, Call{uint16(id), f[4], f[5:], class, Spread(spread), Traits(traits)})
	}
	return all
}

func indexCalls() (byID []*Call, byName map[string]*Call) {
	byID, byName = make([]*Call, Calls[len(Calls)-1].ID+1), map[string]*Call{}
	for i := range Calls {
		c := &Calls[i]
		byID[c.ID], byName[c.Name] = c, c
	}
	return byID, byName
}

// CallByID returns the call with an id. A call that is not known to this
// version gets a name that contains its id.
func CallByID(id uint16) *Call {
	if int(id) < len(callsByID) && callsByID[id] != nil {
		return callsByID[id]
	}
	return &Call{ID: id, Name: fmt.Sprintf("call-%d", id), Class: Other}
}

// CallNamed returns the call with a name (without MPI_), or nil if it is not
// known.
func CallNamed(name string) *Call { return callsByName[name] }

// SpreadOf returns which ranks receive the messages of a row of the call, if the row's data moved
// in this direction.
func (c *Call) SpreadOf(d Direction) Spread {
	if c.Class == AllToOne && d == Recv {
		return ToOthers // at the root: from all others
	}
	return c.Spread
}

// Symbol returns the linker symbol of the call, such as MPI_Send or
// MPIX_Comm_agree.
func (c *Call) Symbol() string {
	if strings.HasPrefix(c.Name, "MPIX_") {
		return c.Name
	}
	return "MPI_" + c.Name
}

// Traits are what a call does, in the terms of the MPI Standard: a set of the
// constants TraitX, which are generated from interpose/calls/calls.txt.
type Traits uint64

// TraitsOf returns the traits of a call (without MPI_); none of one that is not
// known.
func TraitsOf(call string) Traits {
	if c := callsByName[call]; c != nil {
		return c.Traits
	}
	return 0
}

// All reports whether all of some traits are in the set.
func (t Traits) All(of Traits) bool { return t&of == of }

// Any reports whether one of some traits is in the set.
func (t Traits) Any(of Traits) bool { return t&of != 0 }

// PostsReceive reports whether a call posts receives that are not followed to their completion with
// --receives off (Profile.Unfollowed).
func PostsReceive(call string) bool { return TraitsOf(call).All(TraitReceives | TraitNonblocking) }

// SetsUp reports whether a call opens or closes MPI. Such calls are shown apart,
// and are in neither MPI time nor application time.
func SetsUp(call string) bool { return setsUp(call) }

// MakesObject reports whether a call makes a communicator, a window, a datatype or a persistent
// request.
func MakesObject(call string) bool {
	return TraitsOf(call).Any(TraitMakesComm | TraitSpawns | TraitMakesWindow | TraitMakesDatatype | TraitPersistent)
}

// MadeByMembers reports whether a constructor of communicators, given without MPI_, is called by
// the members of the new communicator only, and not by all members of another communicator.
func MadeByMembers(call string) bool { return TraitsOf(call).Any(TraitByMembers) }
