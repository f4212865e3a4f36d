package settings

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DescribedSetting is a setting and its value, as `mpitrace config` shows them.
type DescribedSetting struct {
	Name    string            `json:"name"`
	Value   string            `json:"value"`
	Source  Origin            `json:"source"`
	SetBy   string            `json:"set_by,omitempty"`
	Weaker  []WeakerValue     `json:"instead_of,omitempty"`
	Ranks   map[string]string `json:"ranks,omitempty"` // ranks by value, if the ranks of the run differ
	Default string            `json:"default"`
	Syntax  string            `json:"syntax"`
	Env     string            `json:"environment"`
	Flag    string            `json:"flag,omitempty"`
	Program string            `json:"mpitrace_set,omitempty"`
	Agree   bool              `json:"same_on_all_ranks"`
	Summary string            `json:"summary"`
	Details string            `json:"details,omitempty"`
}

// WeakerValue is the value of a setting in a source that a stronger one
// overrides.
type WeakerValue struct {
	Value  string `json:"value"`
	Source Origin `json:"source"`
	SetBy  string `json:"set_by"`
}

// Describe returns the description of a setting with its value.
func Describe(v Value) DescribedSetting {
	d := DescribedSetting{Name: v.Name, Value: v.Shown(), Source: v.Source, SetBy: v.SetBy, Default: v.Setting.Shown(v.Default),
		Syntax: v.Syntax, Env: v.Env(), Program: v.Call, Agree: v.Agree, Summary: v.Summary, Details: v.Details}
	if !v.NoFlag {
		d.Flag = "--" + v.Name
	}
	for _, w := range v.Weaker {
		d.Weaker = append(d.Weaker, WeakerValue{w.Shown(), w.Source, w.SetBy})
	}
	return d
}

// SetGiven replaces the value by the one that a run was started with.
func (d *DescribedSetting) SetGiven(value, source, setBy string) {
	d.Value, d.SetBy = Named(d.Name).Shown(value), setBy
	d.Source.UnmarshalText([]byte(source)) // an unknown source, of a later version, counts as the default
}

// SetRecorded replaces the value by those that ranks of a run recorded, if they
// differ from it: the program or its environment set them.
func (d *DescribedSetting) SetRecorded(ranks map[string]profile.RankSet) {
	if _, same := ranks[d.Value]; same && len(ranks) == 1 {
		return
	}
	d.Value, d.Source, d.SetBy = "", Process, ""
	for value, of := range ranks {
		d.Value = value
		if len(ranks) > 1 {
			if d.Ranks == nil {
				d.Ranks = map[string]string{}
			}
			d.Ranks[value] = of.String()
			d.Value = "mixed"
		}
	}
}

// WriteText writes the setting as text: its value in one line, then its purpose,
// and with details everything else.
func (d *DescribedSetting) WriteText(w io.Writer, details bool) {
	from := d.Source.String()
	if d.SetBy != "" {
		from += ": " + text.Line(d.SetBy)
	}
	fmt.Fprintf(w, "%s = %s (%s)\n", d.Name, text.Line(d.Value), from)
	for _, value := range slices.Sorted(maps.Keys(d.Ranks)) {
		fmt.Fprintf(w, "    %s: %s\n", text.Line(value), d.Ranks[value])
	}
	for _, weaker := range d.Weaker {
		fmt.Fprintf(w, "    instead of %s (%s: %s)\n", text.Line(weaker.Value), weaker.Source, text.Line(weaker.SetBy))
	}
	text.Wrap(w, d.Summary, "    ", "    ", 80)
	if details {
		text.Wrap(w, "Values: "+d.Syntax+". "+d.more(), "    ", "    ", 80)
	}
	fmt.Fprintln(w)
}

// Sentences returns the description of the setting in manuals.
func (d *DescribedSetting) Sentences() string {
	summary := []rune(d.Summary)
	return strings.ToUpper(string(summary[:1])) + string(summary[1:]) + ".\n" + d.more()
}

// more returns the sentences of the description that follow the summary.
func (d *DescribedSetting) more() string {
	sentences := []string{d.Details, "Default: " + d.Default + ".", "Environment: " + d.Env + "."}
	if d.Flag != "" {
		sentences = append(sentences, "Flag: "+d.Flag+".")
	}
	if d.Program != "" {
		sentences = append(sentences, fmt.Sprintf("A program can set it %s: mpitrace_set(%q, value).", d.Program, d.Name))
	}
	if d.Agree {
		sentences = append(sentences, "It must be equal on all ranks of a job; the report names ranks where it differs.")
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}
