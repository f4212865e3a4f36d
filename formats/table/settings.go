package table

import (
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Settings gathers how processes were recorded, for the metadata of the files
// that they are in.
type Settings struct{ timing, receives []string }

// Note takes what the process says of it.
func (s *Settings) Note(p *profile.Profile) {
	noteWord(&s.timing, p.Timing.String())
	noteWord(&s.receives, profile.ReceivesText(p.Unfollowed))
}

func noteWord(words *[]string, word string) {
	if i, known := slices.BinarySearch(*words, word); !known {
		*words = slices.Insert(*words, i, word)
	}
}

// Metadata are by key: of processes that do not agree all values there are, of none
// at all no key.
func (s *Settings) Metadata() map[string]string {
	if s.timing == nil {
		return nil
	}
	return map[string]string{"mpitrace.timing": strings.Join(s.timing, ","), "mpitrace.receives": strings.Join(s.receives, ",")}
}
