package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

type exportOptions struct {
	format    string
	output    string
	partition int
	force     bool

	tables      []string
	skipDamaged bool
	trace       traceOptions
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export RUN --format FORMAT",
		Short: "Write a recorded run in a format that other tools read",
		Long: `Write a recorded run in a format that other tools read. RUN is
` + profileInputs + `.

` + formats.Help() + `  perfetto events of a traced run as a timeline for ui.perfetto.dev (.json.gz)

All formats except prof and perfetto hold one table of all ranks and jobs, with a
row for each call, peer, call site and so on. The names of the files written go to
stdout. For communicators, processes and readings of the MPI's variables, read
comms.arrow, ranks.arrow and pvars.arrow in the run directory, or use --tables.

With --partition N, the table is written as a directory of files with N ranks each,
in Hive's layout: rank_block=0/part-0.parquet, rank_block=1/part-0.parquet ...
DuckDB, Spark, polars and others read these in parallel, as one table. If RUN has several
jobs, the second is in part-1. After 256 MiB of Parquet, the next rows are in part-0-1.

With --tables, several tables are written, each into a directory of its name:
profile, communicators, ranks, vectors and, of a traced run, events and waits; all means
all that the run has. See docs/schema.md for their columns. Rows of the same job
have the same value in the column run. They are sorted by rank, and events by time,
and each row group has the range of each column, so that a filter on run, rank,
call or time reads only part of a file. examples/engines has queries for DuckDB,
Spark and polars.

With --tables and --format arrow, each is a file in the directory -o, as in a run directory;
given profile.arrow, mpitrace reads all. Old profile.arrow are so converted.

If the input is damaged, the error names the file and the position, and nothing is
written. With --skip-damaged, the readable part is written.

For a traced run (mpitrace run --trace), --events writes a row for each event
instead, as csv or parquet: the columns of trace.<rank>.arrow in the run directory,
and the rank.

The perfetto timeline has a track for each thread of each rank, a slice for each
call, an arrow for each message from send to receive, and counters of the bytes
under way. A browser opens some million events. For larger traces, --from, --to and
--ranks select a part; --max-events includes everything in less detail, with short
consecutive calls as one slice.

-o is the name of the file or directory to write, or - for stdout. Without it,
profile.<extension>, the directory prof or, for events, trace.<extension> is written
in the run directory or beside the input.`,
		Example: `  mpitrace export mpitrace-app-20260102-150405 --format parquet
  mpitrace export mpitrace-app-20260102-150405 --format parquet --partition 1024 -o app.parquet
  mpitrace export mpitrace-app-20260102-150405 --format parquet --partition 1024 --tables all -o app
  mpitrace export mpitrace-app-20260102-150405 --format csv -o -
  mpitrace export mpitrace-app-20260102-150405 --format prof -o prof
  mpitrace export old/profile.arrow --format arrow --tables all -o new
  mpitrace export mpitrace-app-20260102-150405 --format perfetto
  mpitrace export mpitrace-app-20260102-150405 --format perfetto --from 10us --to 1.5s --max-events 1000000 -o app.json.gz
  mpitrace export mpitrace-app-20260102-150405 --format parquet --events --ranks 0-15,64`,
		Args: asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, paths []string) error { return o.run(cmd, paths) },
	}
	o.register(cmd)
	return cmd
}

func (o *exportOptions) register(cmd *cobra.Command) {
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the `FORMAT`: "+exportFormats())
	commandline.CompleteFlag(cmd, "format", strings.Split(exportFormats(), ", ")...)
	f.StringVarP(&o.output, "output", "o", "", "`PATH` of the file or directory to write, - for stdout (default: in the run directory or beside the input)")
	f.IntVar(&o.partition, "partition", 0, "write a directory of files with `RANKS` ranks each")
	f.StringSliceVar(&o.tables, "tables", nil, "with --partition or --format arrow: the `TABLES` to write, each into its own directory or file: "+strings.Join(export.Tables, ", ")+", or all")
	commandline.CompleteFlag(cmd, "tables", append([]string{allTables}, export.Tables...)...)
	f.BoolVarP(&o.force, "force", "f", false, "overwrite what an earlier export wrote")
	f.BoolVar(&o.skipDamaged, "skip-damaged", false, "export the readable part of damaged input")
	o.trace.register(f)
}

func (o *exportOptions) run(cmd *cobra.Command, paths []string) error {
	if o.ofTrace() {
		return o.runTrace(cmd, paths)
	}
	out, err := o.options(cmd, paths)
	if err != nil {
		return usage(err)
	}
	if len(o.tables) > 0 && o.onlyTraceTables() {
		return o.writeTables(cmd, paths, nil, out)
	}
	opened, err := source.Open(paths, source.Options{Depth: source.Whole, Log: cmd.ErrOrStderr(), Tables: true})
	if err != nil {
		return err
	}
	warn(cmd.ErrOrStderr(), opened.Unnamed()...)
	if err := opened.NoJob(); err != nil {
		return err
	}
	src, err := source.Intact(opened, o.skipDamaged, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if opened.Dir != "" { // if the paths are files, the user chose the ranks by choosing files
		warn(cmd.ErrOrStderr(), opened.MissingText()...)
	}
	if len(o.tables) > 0 {
		return o.writeTables(cmd, paths, src, out)
	}
	if o.output == "-" {
		return o.writeTo(cmd.OutOrStdout(), src, out.Format)
	}
	files, err := export.Export(src, out)
	return printFiles(cmd.OutOrStdout(), files, err)
}

// printFiles prints the names of the files of an export, or returns its error.
func printFiles(w io.Writer, files []string, err error) error {
	if err != nil {
		return ofInput(err)
	}
	for _, file := range files {
		if _, err := fmt.Fprintln(w, file); err != nil {
			return err
		}
	}
	return nil
}

// ofInput returns an error without "write FILE: " if the damage is in the input and not in FILE.
func ofInput(err error) error {
	if r := (*source.DamagedError)(nil); errors.As(err, &r) {
		return r
	}
	return err
}

// writeTo writes to stdout. Since that cannot be undone, the output goes to a temporary file
// first, unless all damage is known or skipped.
func (o *exportOptions) writeTo(w io.Writer, src *source.IntactSource, format *formats.Format) error {
	if o.skipDamaged || src.Checked() {
		out := bufio.NewWriter(w)
		return cmp.Or(format.Write(out, src), out.Flush()) // Flush only repeats an error of Write
	}
	file, err := atomicfile.Unnamed("")
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 64<<10)
	if err := cmp.Or(format.Write(out, src), out.Flush()); err != nil {
		return ofInput(atomicfile.Nameless(err))
	}
	_, err = file.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(w, file)
	}
	return err
}

// options checks the flags and returns the options of the export.
func (o *exportOptions) options(cmd *cobra.Command, paths []string) (out export.ExportOptions, err error) {
	if o.format == "" {
		return out, fmt.Errorf("no --format given: the formats are %s", exportFormats())
	}
	format, err := formats.ToWrite(o.format)
	if err != nil {
		return out, fmt.Errorf("unknown format %q: the formats are %s", o.format, exportFormats())
	}
	if err := onlyOfTraces(cmd); err != nil {
		return out, err
	}
	out = export.ExportOptions{Format: format, Path: o.output, Partition: o.partition, Force: o.force}
	switch {
	case cmd.Flags().Changed("partition") && o.partition < 1:
		return out, fmt.Errorf("--partition %d: a file has at least one rank", o.partition)
	case o.partition > 0 && export.PerRank(format):
		return out, fmt.Errorf("--partition: %s has a file for each rank already", format.Name)
	case len(o.tables) > 0:
		if err := o.checkTables(out); err != nil {
			return out, err
		}
	case o.output == "-" && out.Directory():
		return out, errors.New("-o -: stdout takes one file, and these are several")
	}
	if out.Path == "" {
		out.Path = export.DefaultExport(paths, format)
		err = rundir.CheckDefaultOutput(out.Path)
	}
	return out, err
}

// allTables is the value of --tables for all tables that a run has.
const allTables = "all"

// checkTables checks the flags of an export of several tables.
func (o *exportOptions) checkTables(out export.ExportOptions) error {
	for _, name := range o.tables {
		if name != allTables && !slices.Contains(export.Tables, name) {
			return fmt.Errorf("--tables: no table %q: the tables are %s, and %s", name, strings.Join(export.Tables, ", "), allTables)
		}
	}
	switch {
	case out.Format.Name == "arrow" && out.Partition == 0 && !slices.ContainsFunc(o.tables, export.TraceTable):
	case out.Format.Name != "parquet" || out.Partition == 0:
		return errors.New("--tables needs --format parquet and --partition, or --format arrow without events and waits")
	case o.output == "-":
		return errors.New("-o -: stdout takes one file, and these are several")
	}
	return nil
}

// writeTables writes several tables of a run.
func (o *exportOptions) writeTables(cmd *cobra.Command, paths []string, src *source.IntactSource, out export.ExportOptions) error {
	if o.output == "" {
		out.Path = filepath.Join(filepath.Dir(out.Path), "tables")
	}
	if out.Format.Name == "arrow" {
		tables := o.tables
		if slices.Contains(tables, allTables) {
			tables = slices.DeleteFunc(slices.Clone(export.Tables), export.TraceTable)
		}
		files, err := export.ExportArrow(tables, src, out)
		return printFiles(cmd.OutOrStdout(), files, err)
	}
	tables, jobs, err := o.tracedJobs(cmd.ErrOrStderr(), paths, src)
	if err != nil {
		return err
	}
	all := profile.Source(profile.List{})
	if src != nil {
		all = src
	}
	files, err := export.ExportTables(tables, all, jobs, out)
	return printFiles(cmd.OutOrStdout(), files, err)
}

// onlyTraceTables reports whether all tables are made from a trace.
func (o *exportOptions) onlyTraceTables() bool {
	return !slices.ContainsFunc(o.tables, func(name string) bool { return !export.TraceTable(name) })
}

// tracedJobs returns the tables to write, and the traced jobs if a table needs
// them.
func (o *exportOptions) tracedJobs(log io.Writer, paths []string, src *source.IntactSource) (tables []string, jobs []export.TracedJob, err error) {
	tables = o.tables
	all := slices.Contains(tables, allTables)
	if all {
		tables = export.Tables
	}
	if !slices.ContainsFunc(tables, export.TraceTable) {
		return tables, nil, nil
	}
	untraced := oneRun(paths)
	var opened *source.Run
	if src != nil && src.Dir != "" {
		opened = src.Run
	}
	if dir := rundir.Dir(paths[0]); untraced == nil && len(dir.TraceFiles()) == 0 && (!dir.Untraced() || dir.Writable() == nil) {
		_, untraced = openTraces(log, dir, opened)
	}
	if untraced != nil {
		if all {
			warn(log, fmt.Sprintf("no tables %s and %s: %v", export.TableEvents, export.TableWaits, untraced))
			return slices.DeleteFunc(slices.Clone(tables), export.TraceTable), nil, nil
		}
		return nil, nil, untraced
	}
	jobs, err = openJobs(log, rundir.Dir(paths[0]), opened, slices.Contains(tables, export.TableWaits))
	return tables, jobs, err
}

// openJobs opens the traces of a run, and analyses them if the waits are needed.
func openJobs(log io.Writer, dir rundir.Dir, opened *source.Run, withWaits bool) (jobs []export.TracedJob, err error) {
	traces, err := openTraces(log, dir, opened)
	if err != nil {
		return nil, err
	}
	for _, job := range trace.Jobs(traces) {
		one := export.TracedJob{Run: job[0].Trace().Run, Sources: job}
		if withWaits {
			if _, one.Waits, err = analyze(log, job, 0, math.MaxInt); err != nil {
				return nil, err
			}
		}
		jobs = append(jobs, one)
	}
	return jobs, nil
}
