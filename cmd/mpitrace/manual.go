package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/settings"
)

// newManual returns the command with which `make generate` writes
// docs/mpitrace.1, docs/commands.md, docs/settings.md and docs/schema.md.
func newManual() *cobra.Command {
	pages := map[string]func(*cobra.Command) []byte{"page": manual, "commands": commandsPage, "settings": settingsPage, "schema": schemaPage}
	return &cobra.Command{
		Use:       "manual [page|commands|settings|schema]",
		Short:     "Print the manual page, or the pages of docs that are generated from the same texts",
		Example:   "  mpitrace manual",
		Hidden:    true,
		ValidArgs: slices.Sorted(maps.Keys(pages)),
		Args:      asUsage(cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := cmd.OutOrStdout().Write(pages[append(args, "page")[0]](cmd.Root()))
			return err
		},
	}
}

// manualPage is the manual page of mpitrace.
type manualPage struct{ *commandline.Page }

// manual returns the manual page, from the help of the commands and the list of
// settings.
func manual(root *cobra.Command) []byte {
	p := &manualPage{commandline.NewPage("mpitrace", root.Short)}
	p.Section("SYNOPSIS")
	commands := documented(root)
	for i, c := range commands {
		if i > 0 {
			p.Line(".br")
		}
		p.Line("\\fB" + commandline.Roff(c.CommandPath()) + "\\fR" + commandline.Roff(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	}
	p.Section("DESCRIPTION")
	p.Prose(root.Long)
	p.Section("COMMANDS")
	for _, c := range commands {
		p.command(c)
	}
	p.settings()
	p.surroundings()
	return p.Bytes()
}

// documented returns the commands that users need.
func documented(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return c.Hidden || c.Name() == "help" })
}

func (p *manualPage) command(c *cobra.Command) {
	p.Line(".SS " + commandline.Roff(c.UseLine()))
	p.Prose(c.Long)
	if c.Long == "" {
		p.Prose(c.Short + ".")
	}
	p.Flags(c)
	p.Line(".PP\nExamples:")
	p.Prose(c.Example)
}

func (p *manualPage) settings() {
	p.Section("SETTINGS")
	p.Prose(`A setting can be set in several places. The first of these that sets it applies:
the program (mpitrace_set of mpitrace.h), the command line, the environment, the
user file, the site file; otherwise the default applies. "mpitrace config" shows
each setting, its value and where the value comes from. Values of a list are not
combined: the list from the first of these places is used alone.`)
	for i := range settings.List {
		s := settings.Describe(settings.Value{Setting: &settings.List[i]})
		p.Line(".TP\n.BR " + commandline.Roff(s.Name) + " \" = " + commandline.Roff(s.Syntax) + "\"")
		p.Line(commandline.Roff(s.Sentences()))
	}
}

// surroundings writes the sections on files, exit statuses and the environment.
func (p *manualPage) surroundings() {
	p.Section("FILES")
	for _, f := range []settings.Variable{
		{Name: "$XDG_CONFIG_HOME/mpitrace/config, ~/.config/mpitrace/config", Use: "The user file."},
		{Name: "/etc/mpitrace.conf", Use: "The site file; or the one that $" + settings.EnvSite + " names."},
	} {
		p.Line(".TP\n.I " + commandline.Roff(f.Name) + "\n" + commandline.Roff(f.Use))
	}
	p.Line(".PP")
	p.Prose(`Both have lines of the form "name = value". A # at the beginning of a line, or
after a blank, starts a comment. A list may be given in several lines. An unknown
name or an invalid value is an error; the message names the file and the line.

  timing = sampled
  interval = 1s      # divides each run
  format = prof, arrow`)
	p.Section("EXIT STATUS")
	for _, s := range exits {
		fmt.Fprintf(p, ".TP\n.B %s\n%s\n", s.code, commandline.Roff(s.means))
	}
	p.Section("ENVIRONMENT")
	p.Prose(`SETTINGS lists the environment variable of each setting. These are used as well:`)
	for _, v := range settings.Others {
		p.Line(".TP\n.B " + commandline.Roff(v.Name) + "\n" + commandline.Roff(v.Use))
	}
}

// exits describes the exit statuses.
var exits = []struct{ code, means string }{
	{"0", "Success."},
	{fmt.Sprint(exitError), "A failure, such as damaged input or a full disk."},
	{fmt.Sprint(exitUsage), "The command line, the environment or a settings file is wrong; nothing was run."},
	{fmt.Sprint(exitIncomplete), "run --strict: the command succeeded, but its recordings are missing or incomplete."},
	{fmt.Sprint(exitExceeded), "diff --fail-if-worse: the second run exceeds the limits."},
	{fmt.Sprint(exitNotFound), "run: the program does not exist or cannot be executed."},
	{"any other", "run: the exit status of the command, or 128 plus the number of the signal that killed it."},
}
