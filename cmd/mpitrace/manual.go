package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/mpit"
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

// manual returns the manual page, from the help of the commands and the list of
// settings.
func manual(root *cobra.Command) []byte {
	p := commandline.NewManualPage(root, documented(root)...)
	p.Section("Commands")
	for _, c := range documented(root) {
		commandline.WriteCommand(p, c)
	}
	p.Section("Settings")
	writeSettings(p)
	writeExits(p)
	return p.Bytes()
}

// documented returns the commands that users need.
func documented(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return c.Hidden || c.Name() == "help" })
}

// commandsPage returns docs/commands.md, except for its end, which `profile2mat
// --manual=markdown` prints.
func commandsPage(root *cobra.Command) []byte {
	m := commandline.NewMarkdown("Commands")
	m.Prose("The same texts as `mpitrace COMMAND --help` and `man mpitrace`. [profile2mat](#profile2mat), which is `mpitrace matrix`, is at the end.")
	var rows [][]string
	for _, c := range documented(root) {
		rows = append(rows, []string{fmt.Sprintf("[%s](#%s)", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-")), commandline.Cell(c.Short)})
	}
	m.Table([]string{"command", ""}, rows)
	for _, c := range documented(root) {
		commandline.WriteCommand(m, c)
	}
	writeExits(m)
	return m.Bytes()
}

// settingsPage returns docs/settings.md.
func settingsPage(*cobra.Command) []byte {
	m := commandline.NewMarkdown("Settings")
	writeSettings(m)
	return m.Bytes()
}

// writeSettings writes all settings, and the sections on files and the environment.
func writeSettings(p commandline.HelpPage) {
	p.Prose(`A setting can be set in several places. The first of these that sets it applies: the
program (mpitrace_set of mpitrace.h), the command line, the environment, the user file,
the site file; otherwise the default applies. ` + "`mpitrace config`" + ` shows each setting, its
value and where the value comes from. Values of a list are not combined: the list from
the first of these places is used alone. Reports name ranks that were recorded with
different settings.`)
	for i := range settings.List {
		s := settings.Describe(settings.Value{Setting: &settings.List[i]})
		p.Setting(s.Name, s.Syntax, s.Sentences())
	}
	p.Section("Files")
	p.List("file", [][2]string{
		{"$XDG_CONFIG_HOME/mpitrace/config, ~/.config/mpitrace/config", "The user file."},
		{"/etc/mpitrace.conf", "The site file; or the one that $" + settings.EnvSite + " names."},
	})
	p.Prose(`Both have lines of the form "name = value". A # at the beginning of a line, or
after a blank, starts a comment. A list may be given in several lines. An unknown
name or an invalid value is an error; the message names the file and the line.

  timing = sampled
  interval = 1s      # divides each run
  format = prof, arrow`)
	p.Section("Environment")
	p.Prose(`The environment variable of each setting is with the setting. These are used as well:`)
	p.List("variable", settings.Others)
}

// writeExits describes the exit statuses.
func writeExits(p commandline.HelpPage) {
	p.Section("Exit status")
	p.List("status", [][2]string{
		{"0", "Success."},
		{fmt.Sprint(exitError), "A failure, such as damaged input or a full disk."},
		{fmt.Sprint(exitUsage), "The command line, the environment or a settings file is wrong; nothing was run."},
		{fmt.Sprint(exitIncomplete), "run --strict: the command succeeded, but its recordings are missing or incomplete."},
		{fmt.Sprint(exitExceeded), "diff --fail-if-worse: the second run exceeds the limits."},
		{fmt.Sprint(exitNotFound), "run: the program does not exist or cannot be executed."},
		{"any other", "run: the exit status of the command, or 128 plus the number of the signal that killed it."},
	})
}

// tables describes all tables that mpitrace writes.
func tables() []table.Description {
	matrix := matrixfile.Sheet{Line: "rank"}
	return []table.Description{
		table.DescribeRead("profile.arrow", "A row for each run, rank, thread, call, class, direction, communicator, peer, size class, call site and slice. "+
			"`mpitrace export` writes the same columns as Parquet, CSV and JSON lines.", table.ProfileColumns),
		table.DescribeRead("ranks.arrow", "A row for each process.", table.RankColumns),
		table.DescribeRead("comms.arrow", "A row for each communicator.", table.CommColumns),
		table.DescribeRead("vectors.arrow", "A row for each receiver of the calls of an irregular collective (Alltoallv, Scatterv, Reduce_scatter, Neighbor_alltoallw, ...), "+
			"by run, rank, thread, communicator, call, call site and slice. What a process keeps for itself has no row. The file is there if a process made such calls.", table.VectorColumns),
		table.DescribeRead("flows.arrow", "A row for each pair of ranks and kind of messages that the MPI library says that it sent. The file is there with --physical.", table.FlowColumns),
		table.DescribeRead("pvars.arrow", "A row for each value that was read of a performance variable. An array has a row for each element.", table.PvarColumns),
		table.Describe("trace.<rank>.arrow", "A row for each event of a process, in the order in which the events ended. "+
			"`mpitrace export --events` writes the events of all ranks as CSV or Parquet, with a column `rank` in front and without `kind`.", tracefile.Columns()),
		table.Describe("Datasets", "`mpitrace export --partition N --tables all` writes directories of Parquet files. "+
			"`profile`, `ranks`, `communicators` and `vectors` have the columns of profile.arrow, ranks.arrow, comms.arrow and vectors.arrow. `events` has the following columns, and then those of trace.<rank>.arrow without `kind`. "+
			"`waits` has `run`, and then the columns of the table Waits. All but `communicators` are divided into `rank_block=<rank / N>`. "+
			"Texts are plain texts, and a timestamp is an int64 of nanoseconds since 1970-01-01 UTC, since some engines read no timestamps in nanoseconds. "+
			"Join tables by `run` and `rank`; a wait is joined with its event by `event`; a message that was sent with the one that was received by `run`, `comm`, `tag` and `seq`, and `rank` of each side with `peer` of the other.",
			tracefile.DatasetKeys()),
		table.Describe("Waits", "`mpitrace analyze --waits FILE.arrow` writes a row for each wait in a trace.", table.WaitColumns),
		table.Describe("Causes", "`mpitrace analyze --causes FILE` writes a row for each cause of waits and rank that causes it. The costs add up to the time waited. "+
			"The extension of FILE is .arrow, .parquet, .csv or .jsonl.", table.CauseColumns),
		table.Describe("Matrices", "`mpitrace matrix --format csv,arrow,parquet` writes a row for each pair of ranks that has messages or bytes. "+
			"With `--by`, sender and receiver are names of nodes or of blocks of ranks; with `--symmetric`, messages and bytes are doubles, the mean of both directions.",
			matrix.Columns()),
		table.Describe("Variables", "`mpitrace vars --format arrow` writes a row for each variable, category, enumeration, event and source of the MPI_T interface, "+
			"and for each entry that the MPI library does not describe.", mpit.Columns),
	}
}

// schemaPage returns docs/schema.md.
func schemaPage(*cobra.Command) []byte {
	m := commandline.NewMarkdown("Columns")
	m.Prose(`The tables that mpitrace writes. Types are those of Arrow.
A dictionary is a column of texts with few different values (a categorical in
pandas). A timestamp is in nanoseconds, in UTC. A column without "null" has a value
in each row. The metadata of each column in an Arrow file has its unit and
meaning, too.

mpitrace reads profile.arrow by these columns, whatever program wrote the file: rows may
be filtered, sorted or joined, texts may be plain, and integers may have another width. It also reads ranks.arrow, comms.arrow, vectors.arrow, flows.arrow and
pvars.arrow if these are beside it. "If absent" is what is assumed if a column is missing.

If a recording was damaged, the metadata of the Arrow files of its processes has the key
` + "`" + table.KeyLost + "`" + `: it says in lines what could not be read, so that profile.arrow
tells it without ranks.arrow, too. mpitrace reports these lines. Programs
that do not keep metadata, such as pandas and polars, drop them.`)
	for _, d := range tables() {
		m.Section(commandline.Cell(d.Title))
		m.Prose(d.Doc)
		var rows [][]string
		for _, f := range d.Fields {
			row := []string{"`" + f.Name + "`", f.Type, f.Unit, commandline.Cell(f.Doc)}
			if d.Read {
				row = append(row, commandline.Cell(f.Absent))
			}
			rows = append(rows, row)
		}
		heads := []string{"column", "type", "unit", "meaning"}
		if d.Read {
			heads = append(heads, "if absent")
		}
		m.Table(heads, rows)
	}
	return m.Bytes()
}
