package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// allTables is the value of --tables for all tables that a run has.
const allTables = "all"

// checkTables checks the flags of an export of several tables.
func (o *exportOptions) checkTables(out run.ExportOptions) error {
	for _, name := range o.tables {
		if name != allTables && !slices.Contains(run.Tables, name) {
			return fmt.Errorf("--tables: no table %q: the tables are %s, and %s", name, strings.Join(run.Tables, ", "), allTables)
		}
	}
	switch {
	case out.Format.Name != "parquet" || out.Partition == 0:
		return errors.New("--tables needs --format parquet and --partition")
	case o.output == "-":
		return errors.New("-o -: stdout takes one file, and these are several")
	}
	return nil
}

// writeTables writes several tables of a run.
func (o *exportOptions) writeTables(cmd *cobra.Command, paths []string, src profile.Source, out run.ExportOptions) error {
	if o.output == "" {
		out.Path = filepath.Join(filepath.Dir(out.Path), "tables")
	}
	tables, jobs, err := o.tracedJobs(cmd.ErrOrStderr(), paths)
	if err != nil {
		return err
	}
	files, err := run.ExportTables(tables, src, jobs, out)
	return printFiles(cmd.OutOrStdout(), files, err)
}

// onlyTraceTables reports whether all tables are made from a trace.
func (o *exportOptions) onlyTraceTables() bool {
	return !slices.ContainsFunc(o.tables, func(name string) bool { return !run.TraceTable(name) })
}

// tracedJobs returns the tables to write, and the traced jobs if a table needs
// them.
func (o *exportOptions) tracedJobs(log io.Writer, paths []string) (tables []string, jobs []run.TracedJob, err error) {
	tables = o.tables
	all := slices.Contains(tables, allTables)
	if all {
		tables = run.Tables
	}
	if !slices.ContainsFunc(tables, run.TraceTable) {
		return tables, nil, nil
	}
	untraced := oneRun(paths)
	if untraced == nil && len(run.Dir(paths[0]).TraceFiles()) == 0 {
		_, untraced = openTraces(log, run.Dir(paths[0]))
	}
	if untraced != nil {
		if all {
			warn(log, fmt.Sprintf("no tables %s and %s: %v", run.TableEvents, run.TableWaits, untraced))
			return slices.DeleteFunc(slices.Clone(tables), run.TraceTable), nil, nil
		}
		return nil, nil, untraced
	}
	jobs, err = openJobs(log, run.Dir(paths[0]), slices.Contains(tables, run.TableWaits))
	return tables, jobs, err
}

// openJobs opens the traces of a run, and analyses them if the waits are needed.
func openJobs(log io.Writer, dir run.Dir, withWaits bool) (jobs []run.TracedJob, err error) {
	traces, err := openTraces(log, dir)
	if err != nil {
		return nil, err
	}
	for _, job := range trace.Jobs(traces) {
		one := run.TracedJob{Run: job[0].Trace().Run, Sources: job}
		if withWaits {
			o := analyzeOptions{waits: run.TableWaits} // to be collected
			if _, one.Waits, err = o.analyze(log, job); err != nil {
				return nil, err
			}
			sortWaits(one.Waits)
		}
		jobs = append(jobs, one)
	}
	return jobs, nil
}
