package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// settingsLine is what a process keeps of its settings.
func settingsLine(p *profile.Profile) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		parts = append(parts, name+"="+p.Settings[name])
	}
	return strings.Join(parts, "\x00")
}

// settingOf is the value that a process had, in the one spelling that it has.
func (p *process) settingOf(s *settings.Setting) string {
	switch s.Name { // these were known before there were records of settings
	case "timing":
		return p.timingWord()
	case "receives":
		return p.receivesWord()
	}
	for part := range strings.SplitSeq(p.settings, "\x00") {
		if text, made := strings.CutPrefix(part, s.Name+"="); made {
			if value, err := s.Parse(text); err == nil {
				text = value
			}
			return s.Shown(text)
		}
	}
	return s.Shown(s.Default)
}

// SettingOf tells which ranks had which value of a setting.
func (j *Job) SettingOf(s *settings.Setting) map[string]profile.RankSet {
	ranks := map[string][]int{}
	for _, p := range j.ordered() {
		value := p.settingOf(s)
		ranks[value] = append(ranks[value], p.Rank)
	}
	out := make(map[string]profile.RankSet, len(ranks))
	for value, of := range ranks {
		out[value] = profile.RankSetOf(of...)
	}
	return out
}

// settings tells where processes were recorded in different ways: their sums
// are of neither.
func (j *Job) settings() []string {
	var out []string
	for i := range settings.List {
		s := &settings.List[i]
		if !s.Agree {
			continue
		}
		ranks := j.SettingOf(s)
		if len(ranks) < 2 {
			continue
		}
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(ranks)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", text.Line(value), ranks[value]))
		}
		out = append(out, fmt.Sprintf("not all ranks were recorded with the same --%s: %s", s.Name, strings.Join(parts, ", ")))
	}
	return out
}
