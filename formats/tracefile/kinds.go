package tracefile

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// kindTable holds the kinds of the events in a file. Each has the fields of
// EventKind in order, with texts as indices. In files written before the last
// four fields were added, these are 0.
type kindTable struct {
	Texts []string    `json:"texts"`
	Kinds [][14]int32 `json:"kinds"`

	codes map[string]int32
}

func (t *kindTable) add(k *profile.EventKind) {
	t.Kinds = append(t.Kinds, [14]int32{int32(k.Action), t.code(k.Call), int32(k.Class), int32(k.Direction), int32(k.AbnormalKind),
		k.Thread, k.Comm, k.Peer, t.code(k.Callsite), t.code(k.Slice), k.Window, int32(k.Lock), k.Group, k.Made})
}

func (t *kindTable) code(text string) int32 {
	code, known := t.codes[text]
	if !known {
		if t.codes == nil {
			t.codes = map[string]int32{}
		}
		code = int32(len(t.Texts))
		t.codes[text] = code
		t.Texts = append(t.Texts, strings.ToValidUTF8(text, "\uFFFD"))
	}
	return code
}

// kinds returns all kinds. It is the inverse of add.
func (t *kindTable) kinds() ([]profile.EventKind, error) {
	all := make([]profile.EventKind, len(t.Kinds))
	for i, n := range t.Kinds {
		for _, code := range []int32{n[1], n[8], n[9]} {
			if code < 0 || int(code) >= len(t.Texts) {
				return nil, fmt.Errorf("damaged: kind %d has text %d of %d", i, code, len(t.Texts))
			}
		}
		if !within(n[0], int(profile.NumActions)) || !within(n[2], int(profile.NumClasses)) ||
			!within(n[3], int(profile.NumDirections)) || !within(n[4], int(profile.NumAbnormalKinds)) ||
			!within(n[11], int(profile.NumLocks)) {
			return nil, fmt.Errorf("damaged: kind %d is of no action, class, direction, abnormal kind or lock that is known", i)
		}
		all[i] = profile.EventKind{Action: profile.Action(n[0]), Call: t.Texts[n[1]], Class: profile.Class(n[2]),
			Direction: profile.Direction(n[3]), AbnormalKind: profile.AbnormalKind(n[4]),
			Thread: n[5], Comm: n[6], Peer: n[7], Callsite: t.Texts[n[8]], Slice: t.Texts[n[9]],
			Window: n[10], Lock: profile.Lock(n[11]), Group: n[12], Made: n[13]}
	}
	return all, nil
}

func within(n int32, count int) bool { return n >= 0 && int(n) < count }
