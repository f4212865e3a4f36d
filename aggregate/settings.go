package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// RecordedSetting describes a setting of the recorder, whose values are in
// profile.Profile.Settings.
type RecordedSetting struct {
	Name    string
	Default string // value, as returned by Shown, of a process that recorded none
	// Shown returns a recorded value as reports show it. Equal settings must
	// give equal texts.
	Shown func(recorded string) string
}

// settingsLine returns the settings of a process as one text: name=value,
// separated by NUL.
func settingsLine(p *profile.Profile) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		parts = append(parts, name+"="+p.Settings[name])
	}
	return strings.Join(parts, "\x00")
}

// valueOf returns the value of a setting as reports show it.
func (p *processFacts) valueOf(s RecordedSetting) string {
	switch s.Name { // recorded separately from other settings
	case "timing":
		return p.timingWord()
	case "receives":
		return p.receivesWord()
	}
	if recorded, ok := p.setting(s.Name); ok {
		return s.Shown(recorded)
	}
	return s.Default
}

// setting returns the recorded value of a setting, if the process recorded one.
func (p *processFacts) setting(name string) (value string, recorded bool) {
	for part := range strings.SplitSeq(p.settings, "\x00") {
		if value, recorded = strings.CutPrefix(part, name+"="); recorded {
			return value, true
		}
	}
	return "", false
}

// A process records traceOff for the setting trace only if it could not do what the
// user asked for. Other values that mean off are the user's own.
const (
	traceSetting = "trace"
	traceOff     = "off"
)

// traceWanted reports whether a trace of any rank was asked for, written or not.
func (j *Job) traceWanted() bool {
	ps := j.ordered()
	for i := range ps {
		if value, recorded := ps[i].setting(traceSetting); recorded && !slices.Contains([]string{"0", "no", "false"}, value) {
			return true
		}
	}
	return false
}

// traceProblems names the ranks whose trace was asked for and not written.
func (j *Job) traceProblems() (out []string) {
	var refused, noRoom []int
	for _, p := range j.ordered() {
		value, _ := p.setting(traceSetting)
		switch {
		case value != traceOff:
		case p.timingWord() != profile.TimingExact.String() || p.receivesWord() != profile.ReceivesOn:
			refused = append(refused, p.Rank)
		default:
			noRoom = append(noRoom, p.Rank)
		}
	}
	if len(refused) > 0 {
		out = append(out, fmt.Sprintf("no trace of %s: --trace needs --timing exact and --receives on", profile.RankSetOf(refused...)))
	}
	if len(noRoom) > 0 {
		out = append(out, fmt.Sprintf("no trace of %s: there was no room for the events", profile.RankSetOf(noRoom...)))
	}
	return out
}

// RanksBySetting returns the ranks that had each value of a setting.
func (j *Job) RanksBySetting(s RecordedSetting) map[string]profile.RankSet {
	ranks := map[string][]int{}
	for _, p := range j.ordered() {
		value := p.valueOf(s)
		ranks[value] = append(ranks[value], p.Rank)
	}
	out := make(map[string]profile.RankSet, len(ranks))
	for value, of := range ranks {
		out[value] = profile.RankSetOf(of...)
	}
	return out
}

// agree reports whether all processes have the same value of a setting.
func (j *Job) agree(s RecordedSetting) bool {
	ps := j.ordered()
	value := ""
	for i := range ps {
		if i > 0 && ps[i].processKind == ps[i-1].processKind {
			continue
		}
		own := ps[i].valueOf(s)
		if i > 0 && own != value {
			return false
		}
		value = own
	}
	return true
}

// settingProblems returns a text for each setting that must be the same on all
// ranks and is not.
func (j *Job) settingProblems() []string {
	var out []string
	for _, s := range j.options.MustAgree {
		if j.agree(s) {
			continue
		}
		ranks := j.RanksBySetting(s)
		var parts []string
		for _, value := range slices.Sorted(maps.Keys(ranks)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", text.Line(value), ranks[value]))
		}
		out = append(out, fmt.Sprintf("not all ranks were recorded with the same --%s: %s", s.Name, strings.Join(parts, ", ")))
	}
	return out
}
