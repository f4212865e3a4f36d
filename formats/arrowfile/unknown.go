package arrowfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// reason says why the receivers of a collective's messages are not known.
type reason string

const (
	noMembers reason = "comms.arrow beside it does not have the members of the communicator"
	noEdges   reason = "comms.arrow beside it does not have the neighbors"
	noVector  reason = "vectors.arrow beside it does not have what went to each member"
)

// unknown counts the messages of collectives that cannot be spread over pairs of ranks.
type unknown struct{ messages map[reason]map[string]uint64 } // by call

func (u *unknown) add(why reason, call string, messages uint64) {
	if u.messages == nil {
		u.messages = map[reason]map[string]uint64{}
	}
	if u.messages[why] == nil {
		u.messages[why] = map[string]uint64{}
	}
	u.messages[why][call] += messages
}

// lines returns a line for each reason.
func (u *unknown) lines(f *File) (lines []string) {
	for _, why := range slices.Sorted(maps.Keys(u.messages)) {
		var calls []string
		for _, call := range slices.Sorted(maps.Keys(u.messages[why])) {
			calls = append(calls, fmt.Sprintf("%s (%d messages)", call, u.messages[why][call]))
		}
		lines = append(lines, fmt.Sprintf("%s: these collectives are in no pair of ranks, since %s: %s", filepath.Base(f.path), why, strings.Join(calls, ", ")))
	}
	return lines
}
