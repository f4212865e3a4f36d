package profile

// Traits are what a call does, in the terms of the MPI Standard: a set of the
// constants TraitX, which are generated from interpose/calls/calls.txt.
type Traits uint64

// TraitsOf returns the traits of a call (without MPI_); none of one that is not
// known.
func TraitsOf(call string) Traits { return traitsOf(call) }

// All reports whether all of some traits are in the set.
func (t Traits) All(of Traits) bool { return t&of == of }

// Any reports whether one of some traits is in the set.
func (t Traits) Any(of Traits) bool { return t&of != 0 }

// PostsReceive reports whether a call posts receives that are followed only if
// that was not turned off (Profile.Unfollowed).
func PostsReceive(call string) bool { return TraitsOf(call).All(TraitReceives | TraitNonblocking) }

// SetsUp reports whether a call opens or closes MPI. Such calls are shown apart,
// and are in neither MPI time nor application time.
func SetsUp(call string) bool { return setsUp(call) }

// MadeByMembers reports whether only the members of the new communicator call a
// constructor (without MPI_), and not all of another communicator.
func MadeByMembers(call string) bool { return TraitsOf(call).Any(TraitByMembers) }
