package main

import (
	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/mpit"
)

// tables describes all tables that mpitrace and profile2mat write.
func tables() []table.Description {
	matrix := matrixfile.Sheet{Line: "rank"}
	return []table.Description{
		table.Describe("profile.arrow", "A row for each run, rank, thread, call, class, direction, communicator, peer, size class, call site and slice. "+
			"`mpitrace export` writes the same columns as Parquet, CSV and JSON lines.", table.ProfileColumns),
		table.Describe("ranks.arrow", "A row for each process.", table.RankColumns),
		table.Describe("comms.arrow", "A row for each communicator.", table.CommColumns),
		table.Describe("pvars.arrow", "A row for each value that was read of a performance variable. An array has a row for each element.", table.PvarColumns),
		table.Describe("trace.<rank>.arrow", "A row for each event of a process, in the order in which the events ended. "+
			"`mpitrace export --events` writes the events of all ranks as CSV or Parquet, with a column `rank` in front and without `kind`.", tracefile.Columns()),
		table.Describe("Waits", "`mpitrace analyze --waits FILE.arrow` writes a row for each wait in a trace.", table.WaitColumns),
		table.Describe("Matrices", "`profile2mat --format csv,arrow,parquet` writes a row for each pair of ranks that has messages or bytes. "+
			"With `--by`, sender and receiver are names of nodes or of blocks of ranks; with `--symmetric`, messages and bytes are doubles, the mean of both directions.",
			matrix.Columns()),
		table.Describe("Variables", "`mpitrace vars --format arrow` writes a row for each variable, category, enumeration, event and source of the MPI_T interface, "+
			"and for each entry that the MPI library does not describe.", mpit.Columns),
	}
}

// schemaPage returns docs/schema.md.
func schemaPage(*cobra.Command) []byte {
	m := commandline.NewMarkdown("Columns")
	m.Prose(`The tables that mpitrace and profile2mat write. Types are those of Arrow.
A dictionary is a column of texts with few different values (a categorical in
pandas). A timestamp is in nanoseconds, in UTC. A column without "null" has a value
in each row. The metadata of each column in an Arrow file has its unit and
meaning, too.`)
	for _, d := range tables() {
		m.Heading(2, commandline.Cell(d.Title))
		m.Prose(d.Doc)
		var rows [][]string
		for _, f := range d.Fields {
			rows = append(rows, []string{"`" + f.Name + "`", f.Type, f.Unit, commandline.Cell(f.Doc)})
		}
		m.Table([]string{"column", "type", "unit", "meaning"}, rows)
	}
	return m.Bytes()
}
