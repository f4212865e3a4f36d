package facts

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

// Metadata are keys and values: of processes that do not agree all there are, of
// none at all no key.
func (s *Settings) Metadata() (keys, values []string) {
	if s.timing == nil {
		return nil, nil
	}
	return []string{"mpitrace.timing", "mpitrace.receives"}, []string{strings.Join(s.timing, ","), strings.Join(s.receives, ",")}
}
