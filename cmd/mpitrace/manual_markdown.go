package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/settings"
)

// commandsPage returns docs/commands.md, except for its end, which `profile2mat
// --manual=markdown` prints.
func commandsPage(root *cobra.Command) []byte {
	m := commandline.NewMarkdown("Commands")
	m.Prose("The same texts as `mpitrace COMMAND --help` and `man mpitrace`. [profile2mat](#profile2mat) is at the end.")
	var rows [][]string
	for _, c := range documented(root) {
		rows = append(rows, []string{fmt.Sprintf("[%s](#%s)", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-")), commandline.Cell(c.Short)})
	}
	m.Table([]string{"command", ""}, rows)
	for _, c := range documented(root) {
		m.Command(c)
	}
	m.Heading(2, "Exit status")
	rows = nil
	for _, e := range exits {
		rows = append(rows, []string{e.code, commandline.Cell(e.means)})
	}
	m.Table([]string{"status", ""}, rows)
	return m.Bytes()
}

// settingsPage returns docs/settings.md.
func settingsPage(*cobra.Command) []byte {
	m := commandline.NewMarkdown("Settings")
	m.Prose(`A setting can be set in several places. The first of these that sets it applies: the
program (mpitrace_set of mpitrace.h), the command line, the environment, the user file,
the site file; otherwise the default applies. ` + "`mpitrace config`" + ` shows each setting, its
value and where the value comes from. Reports name ranks that were recorded with
different settings.

A file has lines of the form "name = value"; a # starts a comment.

  timing = sampled
  interval = 1s      # divides each run
  format = prof, arrow
`)
	m.Table([]string{"file", ""}, [][]string{
		{"`$XDG_CONFIG_HOME/mpitrace/config`, `~/.config/mpitrace/config`", "the user file"},
		{"`/etc/mpitrace.conf`", "the site file, or the one that `$" + settings.EnvSite + "` names"},
	})
	for i := range settings.List {
		s := settings.Describe(settings.Value{Setting: &settings.List[i]})
		m.Heading(2, s.Name)
		m.Prose("  " + s.Name + " = " + s.Syntax + "\n\n" + s.Sentences())
	}
	m.Heading(2, "Other environment variables")
	var rows [][]string
	for _, v := range settings.Others {
		rows = append(rows, []string{"`" + v.Name + "`", commandline.Cell(v.Use)})
	}
	m.Table([]string{"variable", ""}, rows)
	return m.Bytes()
}
