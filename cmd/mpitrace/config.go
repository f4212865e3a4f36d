package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

type configOptions struct {
	json bool
	run  string
}

func newConfig() *cobra.Command {
	var o configOptions
	cmd := &cobra.Command{
		Use:   "config [NAME...]",
		Short: "Show each setting, its value and where the value comes from",
		Long: `Show each setting, its value, where the value comes from, and its purpose. With
names, show the details of these settings. A value comes from the first of these
that sets it:

  the program: mpitrace_set of mpitrace.h
  the command line
  the environment: MPITRACE_NAME
  the user file: mpitrace/config below $XDG_CONFIG_HOME or ~/.config
  the site file: /etc/mpitrace.conf, or what $MPITRACE_SITE_CONFIG names

If none does, the default applies. Files have lines of the form name = value; a #
starts a comment. Add flags of ` + "`mpitrace run`" + ` to see their effect. With --run, the
settings of a recorded run are shown.

Only the commands read the files. A library that is preloaded by hand uses only
the program's settings and the environment.`,
		Example: `  mpitrace config
  mpitrace config timing interval
  mpitrace config --timing off --json
  mpitrace config --run mpitrace-app-20260102-150405`,
		RunE: func(cmd *cobra.Command, names []string) error { return o.show(cmd, names) },
	}
	registerSettings(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // the help of run describes them
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON instead of text")
	cmd.Flags().StringVar(&o.run, "run", "", "show the settings of the run in `DIR`")
	return cmd
}

// shownSetting is a setting as `mpitrace config` prints it.
type shownSetting struct {
	Name    string            `json:"name"`
	Value   string            `json:"value"`
	Source  settings.Source   `json:"source"`
	SetBy   string            `json:"set_by,omitempty"`
	Weaker  []shownSaid       `json:"instead_of,omitempty"`
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

// shownSaid is the value of a setting in a source that a stronger one
// overrides.
type shownSaid struct {
	Value  string          `json:"value"`
	Source settings.Source `json:"source"`
	SetBy  string          `json:"set_by"`
}

type shownFile struct {
	Source settings.Source `json:"source"`
	Path   string          `json:"path"`
	Found  bool            `json:"found"`
}

func (o *configOptions) show(cmd *cobra.Command, names []string) error {
	for _, name := range names {
		if settings.Named(name) == nil {
			return usage(settings.Unknown(name))
		}
	}
	files, err := settings.Read()
	if err != nil {
		return usage(err)
	}
	values, err := resolveSettings(cmd.Flags(), files)
	if err != nil {
		return usage(err)
	}
	var shown []shownSetting
	for _, v := range values {
		if len(names) == 0 || slices.Contains(names, v.Name) {
			shown = append(shown, shownOf(v))
		}
	}
	if o.run != "" {
		if err := asRecorded(shown, run.Dir(o.run), cmd.ErrOrStderr()); err != nil {
			return err
		}
		files = nil
	}
	if o.json {
		return text.WriteJSON(cmd.OutOrStdout(), struct {
			Settings []shownSetting `json:"settings"`
			Files    []shownFile    `json:"files,omitempty"`
		}{shown, shownFiles(files)})
	}
	for i := range shown {
		shown[i].write(cmd.OutOrStdout(), len(names) > 0)
	}
	for _, f := range shownFiles(files) {
		there := ""
		if !f.Found {
			there = " (not there)"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s%s\n", f.Source, text.Line(f.Path), there)
	}
	return nil
}

func shownOf(v settings.Value) shownSetting {
	s := shownSetting{Name: v.Name, Value: v.Shown(), Source: v.Source, SetBy: v.SetBy, Default: v.Setting.Shown(v.Default),
		Syntax: v.Syntax, Env: v.Env(), Program: v.Call, Agree: v.Agree, Summary: v.Summary, Details: v.Details}
	if !v.NoFlag {
		s.Flag = "--" + v.Name
	}
	for _, w := range v.Weaker {
		s.Weaker = append(s.Weaker, shownSaid{w.Shown(), w.Source, w.SetBy})
	}
	return s
}

func shownFiles(files []*settings.File) []shownFile {
	var out []shownFile
	for _, f := range files {
		if f.Path != "" {
			out = append(out, shownFile{f.Source, f.Path, f.Found})
		}
	}
	return out
}

// asRecorded replaces the values by those that the ranks of a run used. A value
// that `mpitrace run` did not pass was set by the program or its environment.
func asRecorded(shown []shownSetting, dir run.Dir, log io.Writer) error {
	opened, err := dir.Open(run.Heads, log)
	if err != nil {
		return usage(err)
	}
	if len(opened.Jobs) == 0 {
		return usage(nothingIn(string(dir)))
	}
	info, err := dir.ReadInfo()
	if err != nil {
		return err
	}
	told := map[string]run.Setting{}
	for _, s := range info.Settings {
		told[s.Name] = s
	}
	job := aggregate.NewJob(aggregate.Options{})
	if err := opened.Each(func(p *profile.Profile) error { job.Add(p); return nil }); err != nil {
		return err
	}
	for i := range shown {
		shown[i].recorded(job, told)
	}
	return nil
}

func (s *shownSetting) recorded(job *aggregate.Job, told map[string]run.Setting) {
	of := settings.Named(s.Name)
	s.Value, s.Source, s.SetBy, s.Weaker = s.Default, settings.Default, "", nil
	if t, ok := told[s.Name]; ok {
		s.Value, s.SetBy = of.Shown(t.Value), t.SetBy
		s.Source.UnmarshalText([]byte(t.Source)) // an unknown source, of a later version, counts as the default
	}
	if !of.Ranks {
		return
	}
	ranks := job.RanksBySetting(recordedSetting(of))
	if _, same := ranks[s.Value]; same && len(ranks) == 1 {
		return
	}
	s.Value, s.Source, s.SetBy = "", settings.Process, ""
	for value, of := range ranks {
		s.Value = value
		if len(ranks) > 1 {
			if s.Ranks == nil {
				s.Ranks = map[string]string{}
			}
			s.Ranks[value] = of.String()
			s.Value = "mixed"
		}
	}
}

// write writes a setting as text: its value in one line, then its purpose.
// whole adds the details.
func (s *shownSetting) write(w io.Writer, whole bool) {
	value, from := text.Line(s.Value), s.Source.String()
	if s.SetBy != "" {
		from += ": " + text.Line(s.SetBy)
	}
	fmt.Fprintf(w, "%s = %s (%s)\n", s.Name, value, from)
	for _, value := range slices.Sorted(maps.Keys(s.Ranks)) {
		fmt.Fprintf(w, "    %s: %s\n", text.Line(value), s.Ranks[value])
	}
	for _, said := range s.Weaker {
		fmt.Fprintf(w, "    instead of %s (%s: %s)\n", text.Line(said.Value), said.Source, text.Line(said.SetBy))
	}
	writeWrapped(w, s.Summary)
	if whole {
		writeWrapped(w, "Values: "+s.Syntax+". "+s.more())
	}
	fmt.Fprintln(w)
}

// sentences returns the description of a setting in manuals.
func (s *shownSetting) sentences() string {
	summary := []rune(s.Summary)
	return strings.ToUpper(string(summary[:1])) + string(summary[1:]) + ".\n" + s.more()
}

// more returns the sentences of the description that follow the summary.
func (s *shownSetting) more() string {
	sentences := []string{s.Details, "Default: " + s.Default + ".", "Environment: " + s.Env + "."}
	if s.Flag != "" {
		sentences = append(sentences, "Flag: "+s.Flag+".")
	}
	if s.Program != "" {
		sentences = append(sentences, fmt.Sprintf("A program can set it %s: mpitrace_set(%q, value).", s.Program, s.Name))
	}
	if s.Agree {
		sentences = append(sentences, "It must be equal on all ranks of a job; the report names ranks where it differs.")
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

// writeWrapped writes words in indented lines of up to 80 characters.
func writeWrapped(w io.Writer, words string) { text.Wrap(w, words, "    ", "    ", 80) }
