package profile

// Activity says what a process does at a time: it computes, or is in a call of some kind.
// Timelines and the times of ranks are divided by it.
type Activity uint8

// The activities, in the order in which pictures stack them.
const (
	Outside       Activity = iota // outside MPI
	InWaits                       // waits for, tests or probes messages
	InMessages                    // sends and receives
	InCollectives                 // collectives
	InOneSided                    // one-sided, with the synchronization of windows
	InFileIO                      // MPI-IO
	InSetUp                       // MPI_Init and MPI_Finalize
	InOtherCalls                  // all other calls
	NumActivities
)

var activityNames = [NumActivities]string{"outside MPI", "wait, test, probe", "send, receive", "collective", "one-sided",
	"file I/O", "init, finalize", "communicators, windows, other"}

func (a Activity) String() string { return nameOf(activityNames[:], a) }

// ParseActivity is the inverse of Activity.String.
func ParseActivity(s string) (Activity, bool) { return valueOf[Activity](activityNames[:], s) }

// waitTraits are the traits of calls that wait for others or test what they have done, and
// move no data themselves.
const waitTraits = TraitCompletes | TraitTests | TraitProbes

// ActivityOf returns the activity of a process in a call.
func ActivityOf(call string, class Class) Activity {
	switch {
	case SetsUp(call):
		return InSetUp
	case class == P2P && TraitsOf(call).Any(waitTraits):
		return InWaits
	case class == P2P:
		return InMessages
	case class.Collective():
		return InCollectives
	case class == OneSided || class == Sync:
		return InOneSided
	case class == IO:
		return InFileIO
	}
	return InOtherCalls
}
