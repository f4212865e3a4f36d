package table

import (
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Settings collects how processes were recorded, for the metadata of tables.
type Settings struct{ timing, receives []string }

// Note adds the settings of a process.
func (s *Settings) Note(p *profile.Profile) {
	noteWord(&s.timing, p.Timing.String())
	noteWord(&s.receives, profile.ReceivesText(p.Unfollowed))
}

func noteWord(words *[]string, word string) {
	if i, known := slices.BinarySearch(*words, word); !known {
		*words = slices.Insert(*words, i, word)
	}
}

// Metadata returns the settings by key. If processes differ, a setting lists
// all their values. It returns nil if there were no processes.
func (s *Settings) Metadata() map[string]string {
	if s.timing == nil {
		return nil
	}
	return map[string]string{"mpitrace.timing": strings.Join(s.timing, ","), "mpitrace.receives": strings.Join(s.receives, ",")}
}
