package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/source"
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
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // it says itself what is wrong with settings
		RunE:              func(cmd *cobra.Command, names []string) error { return o.show(cmd, names) },
	}
	registerSettings(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // the help of run describes them
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON instead of text")
	cmd.Flags().StringVar(&o.run, "run", "", "show the settings of the run in `DIR`")
	return cmd
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
	var shown []settings.DescribedSetting
	for _, v := range values {
		if len(names) == 0 || slices.Contains(names, v.Name) {
			shown = append(shown, settings.Describe(v))
		}
	}
	if o.run != "" {
		if err := setRecorded(shown, o.run, cmd.ErrOrStderr()); err != nil {
			return err
		}
		files = nil
	}
	return o.write(cmd.OutOrStdout(), shown, files, len(names) > 0)
}

// setRecorded replaces the values by those that the ranks of a run used.
func setRecorded(shown []settings.DescribedSetting, path string, log io.Writer) error {
	opened, err := openRun(log, path, source.Options{})
	if err != nil {
		return usage(err)
	}
	info, err := opened.Dir.ReadInfo()
	if err != nil {
		return err
	}
	job := aggregate.NewJob(aggregate.Options{})
	if err := opened.Each(func(p *profile.Profile) error { job.Add(p); return nil }); err != nil {
		return err
	}
	for i := range shown {
		setting := settings.Named(shown[i].Name)
		shown[i] = settings.Describe(settings.Value{Setting: setting, Text: setting.Default})
		for _, given := range info.Settings {
			if given.Name == setting.Name {
				shown[i].SetGiven(given.Value, given.Source, given.SetBy)
			}
		}
		if setting.Ranks {
			shown[i].SetRecorded(job.RanksBySetting(recordedSetting(setting)))
		}
	}
	return nil
}

// write writes the settings and, if there are files, which of them exist.
func (o *configOptions) write(w io.Writer, shown []settings.DescribedSetting, files []*settings.SettingsFile, details bool) error {
	files = slices.DeleteFunc(files, func(f *settings.SettingsFile) bool { return f.Path == "" })
	if o.json {
		return text.WriteJSON(w, struct {
			Settings []settings.DescribedSetting `json:"settings"`
			Files    []*settings.SettingsFile    `json:"files,omitempty"`
		}{shown, files})
	}
	for i := range shown {
		shown[i].WriteText(w, details)
	}
	for _, f := range files {
		missing := ""
		if !f.Found {
			missing = " (does not exist)"
		}
		fmt.Fprintf(w, "%s: %s%s\n", f.Source, text.Line(f.Path), missing)
	}
	return nil
}
