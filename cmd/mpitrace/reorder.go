package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
)

type reorderOptions struct {
	topologies []string
	distance   string
	distances  []int64 // parsed from distance
	nodes      int
	selection  commandline.SelectionFlags
	by         placement.CostUnit
	effort     effort
	seed       uint64
	job        int // 0 for all
	top        topFlag
	json       bool
	output     string
	format     string // of output; empty for that of the run's MPI
	plot       string
	force      bool
}

// effort is a value of --effort.
type effort string

// The values of --effort, with those of placement.Options.
const (
	fast     effort = "fast"
	normal   effort = "normal"
	thorough effort = "thorough"
)

const defaultSeed = 1

var efforts = map[effort]int{fast: 1, normal: 2, thorough: 3}

func newReorder() *cobra.Command {
	var o reorderOptions
	cmd := &cobra.Command{
		Use:   "reorder RUN",
		Short: "Find which rank should run where, and what that saves",
		Long: `Find an order of the ranks of a run that brings ranks which exchange much near each
other, and say what it saves. RUN is a run directory, or anything else from which mpitrace
matrix makes matrices and that says where the ranks ran.

An order is compared by its objective: the sum, over all pairs of ranks, of the bytes
that they send to each other × the distance of their slots. The first row of the table
is the order in which the job ran. The others are the best one that was found, and for
comparison block (each node is filled in turn), round-robin (each node gets one rank in
turn) and random. "ratio" is the objective divided by that of the first row.

Point-to-point and one-sided calls count, because what an MPI library sends for a
collective is not known. A job without such calls is compared by the logical volume of
its collectives. --class coll or --class all counts collectives too; --class, --call,
--comm, --slice and so on select a part of the traffic, as in mpitrace matrix.

--topology says where ranks can run, and how far these slots are from each other:
  auto                     the recorded places of the ranks (the default)
  "node:4 socket:2 core:8" levels, outermost first, in hwloc's synthetic form
  machine.xml              one node, as lstopo --of xml writes it
  topology.conf            switches and nodes, as Slurm reads it. Give --topology a
                           second time for the inside of the nodes.
A topology of one node is repeated for as many nodes as the ranks need, or --nodes. It
may have more slots than there are ranks.

-o writes the order as a file for the launcher, and prints the command line that uses
it. Formats (--format):

` + fileFormatHelp() + `
The default is the format of the run's MPI. If the job ran within 2 % of the best order
found, no file is written unless --force is given.

--plot draws the matrix before and after in the order of slots; one, if none is better.

The search ends after a time that grows with the job and with --effort. Its result is
the same for the same --seed.`,
		Example: `  mpitrace reorder mpitrace-app-20260102-150405
  mpitrace reorder -o app.rankfile --format rankfile mpitrace-app-20260102-150405
  mpitrace reorder --topology node.xml --nodes 4 --distance 1:5:50 mpitrace-app-20260102-150405
  mpitrace reorder --class all --by messages --plot order.png mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd); err != nil {
				return usage(err)
			}
			return o.run(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.topologies, "topology", nil, "where ranks can run: `auto` (as recorded), a specification such as \"node:4 socket:2 core:8\", or a file: hwloc's XML or Slurm's topology.conf")
	f.IntVar(&o.nodes, "nodes", 0, "how many nodes there are of a topology of one node: `N` (default: as many as the ranks need)")
	f.StringVar(&o.distance, "distance", "", "distances of the levels, innermost first: `1:10:100` (default: by the names of the levels)")
	addWord(cmd, &o.by, "by", "what counts: `bytes` or messages", placement.Bytes, placement.Messages)
	commandline.AddSelection(cmd, &o.selection)
	addWord(cmd, &o.effort, "effort", "how long to search: `normal`, fast or thorough", normal, fast, thorough)
	f.Uint64Var(&o.seed, "seed", defaultSeed, "`number` from which random choices are made; the same gives the same order")
	f.IntVar(&o.job, "job", 0, "only the `N`-th job of the run (default: all jobs)")
	addTop(cmd, &o.top, "the `number` of nodes to list, or all")
	f.BoolVar(&o.json, "json", false, "print JSON instead of text")
	f.StringVarP(&o.output, "output", "o", "", "write the best order found to `FILE`, for the launcher")
	f.StringVar(&o.format, "format", "", "`format` of the file: "+strings.Join(fileFormats(), ", ")+" (default: that of the run's MPI)")
	f.StringVar(&o.plot, "plot", "", "draw the matrix before and after to `FILE`, .png, .svg or .pdf")
	f.BoolVarP(&o.force, "force", "f", false, "overwrite existing files, and write an order that saves less than 2 %")
	commandline.CompleteFlag(cmd, "format", fileFormats()...)
	return cmd
}

// parse checks the flags before anything is read.
func (o *reorderOptions) parse(cmd *cobra.Command) (err error) {
	changed := cmd.Flags().Changed
	switch {
	case changed("job") && o.job < 1:
		return fmt.Errorf("--job %d: jobs count from 1", o.job)
	case changed("nodes") && o.nodes < 1:
		return fmt.Errorf("--nodes %d: give a number above 0", o.nodes)
	case changed("distance"):
		if o.distances, err = placement.ParseDistances(o.distance); err != nil {
			return fmt.Errorf("--distance: %w", err)
		}
	}
	return errors.Join(o.selection.Parse(), o.checkFiles(changed))
}

// checkFiles checks the names of files.
func (o *reorderOptions) checkFiles(changed func(flag string) bool) error {
	if o.output == "" && (changed("output") || changed("format")) {
		return errors.New("-o needs the name of a file, and --format needs -o")
	}
	if o.format != "" {
		if _, err := placement.FileFormatOf(o.format); err != nil {
			return fmt.Errorf("--format: %w", err)
		}
	}
	if err := plot.CheckName(o.plot); err != nil && changed("plot") {
		return fmt.Errorf("--plot %w", err)
	}
	if o.output != "" && filepath.Clean(o.output) == filepath.Clean(o.plot) {
		return fmt.Errorf("-o and --plot are both %s: give two files", o.output)
	}
	for _, path := range []string{o.output, o.plot} {
		if path == "" {
			continue
		}
		if err := export.CheckOutput(path, o.force); err != nil {
			return err
		}
	}
	return nil
}

// fileFormats returns the names of the formats of launchers' files.
func fileFormats() []string {
	var names []string
	for _, f := range placement.FileFormats {
		names = append(names, f.Name)
	}
	return names
}

func fileFormatHelp() string {
	var b strings.Builder
	for _, f := range placement.FileFormats {
		fmt.Fprintf(&b, "  %-9s %s\n", f.Name, f.Description)
	}
	return b.String()
}

// reordered is a job with the answer about it.
type reordered struct {
	Program string `json:"program"`
	Run     string `json:"run"`
	Counted string `json:"counted"`            // classes of calls, or what was selected
	LeftOut uint64 `json:"left_out,omitempty"` // what of the quantity collectives sent in addition
	*placement.Answer
	File  string `json:"file,omitempty"`  // that was written for the launcher
	Start string `json:"start,omitempty"` // the command line that uses the file

	job      *placedJob
	topology *placement.Topology
	ran      placement.Order
	traffic  *matrix.Matrix
}

func (o *reorderOptions) run(cmd *cobra.Command, path string) error {
	log := cmd.ErrOrStderr()
	jobs, err := o.jobs(path, cmd.InOrStdin(), log)
	if err != nil {
		return err
	}
	if len(jobs) > 1 && (o.output != "" || o.plot != "") {
		return usage(fmt.Errorf("%s has %s: choose the one to write a file for with --job N", path, text.CountOf(len(jobs), "job")))
	}
	var answers []*reordered
	for _, j := range jobs {
		answer, err := o.answer(j, log)
		if err != nil && len(jobs) > 1 {
			err = fmt.Errorf("%s: %w", j.Program, err)
		}
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	if o.output != "" || o.plot != "" {
		if err := o.write(answers[0]); err != nil {
			return err
		}
	}
	return o.print(cmd, answers, path)
}

// placedJob is what is read of a job.
type placedJob struct {
	*source.Traffic
	processes []placement.RankLocation
	killed    []int    // ranks that ended without MPI_Finalize
	library   string   // MPI library
	command   string   // the program and its arguments
	launched  []string // the recorded command with its launcher; nil if it is not known
}

// formatLaunchers are the launchers whose files the formats are.
var formatLaunchers = map[string]launch.System{"rankfile": launch.OpenMPILauncher, "seq": launch.OpenMPILauncher, "hydra": launch.HydraLauncher,
	"intel": launch.HydraLauncher, "slurm": launch.SlurmLauncher, "mpich": launch.SlurmLauncher, "flux": launch.FluxLauncher}

// withOptions returns the command of the job behind the options, other than those that place ranks,
// that the launcher of a format was given.
func (j *placedJob) withOptions(format string) string {
	words := ""
	options, _ := launch.OtherOptions(j.launched, formatLaunchers[format]) // else there are none to keep
	for _, word := range options {
		words += text.ShellQuote(word) + " "
	}
	return words + j.command
}

// jobs reads the job or the jobs.
func (o *reorderOptions) jobs(path string, stdin io.Reader, log io.Writer) ([]*placedJob, error) {
	var jobs []*placedJob
	var damage source.DamageList
	info := new(rundir.Info)
	if dir := rundir.Dir(path); dir.Used() {
		info, _ = dir.ReadInfo() // without it, the command line lacks options
	}
	next, count := &placedJob{}, 0
	in := source.TrafficReader{Log: log, Stdin: stdin, Selection: &o.selection.Selection, Hosts: true, Damage: &damage,
		Warn: func(err error) { warn(log, err) },
		Each: next.add,
		Use: func(t *source.Traffic) error {
			if count++; o.job == 0 || o.job == count {
				jobs = append(jobs, &placedJob{t, next.processes, next.killed, next.library, next.command, info.Command})
			}
			*next = placedJob{}
			return nil
		}}
	if err := in.Read([]string{path}); err != nil {
		return nil, err
	}
	for _, err := range damage.Errors {
		warnIncomplete(log, err.Error())
	}
	if o.job > count {
		return nil, usage(fmt.Errorf("--job %d: %s has %s", o.job, path, text.CountOf(count, "job")))
	}
	return jobs, nil
}

func (j *placedJob) add(p *profile.Profile) {
	if p.Rank < 0 {
		return
	}
	j.processes = append(j.processes, placement.RankLocation{Rank: p.Rank, Host: p.Host, Placement: p.Placement})
	if p.State != profile.Finalized {
		j.killed = append(j.killed, p.Rank)
	}
	if p.Rank == 0 {
		j.library = p.LibraryLine()
		words := []string{}
		for _, word := range p.Command {
			words = append(words, text.ShellQuote(word))
		}
		j.command = cmp.Or(strings.Join(words, " "), "./"+text.ShellQuote(p.Name()))
	}
}

// answer compares orders of a job's ranks.
func (o *reorderOptions) answer(j *placedJob, log io.Writer) (*reordered, error) {
	unmatched, err := j.Builder.Unmatched()
	if err != nil {
		return nil, usage(err)
	}
	warn(log, unmatched...)
	if len(j.killed) > 0 {
		warnIncomplete(log, fmt.Sprintf("%s did not reach MPI_Finalize: what was recorded until then counts", profile.RankSetOf(j.killed...)))
	}
	if missing := j.Missing(); missing.Len() > 0 {
		warnIncomplete(log, fmt.Sprintf("no recording of %s of %d", missing, j.Size()))
	}
	source := placement.TopologySource{Topologies: o.topologies, Nodes: o.nodes, Distances: o.distances, Processes: j.processes, Ranks: j.Size(),
		Read: func(file string) ([]byte, error) { return atomicfile.Read(file, placement.MaxTopologyFile) }}
	topology, ran, err := source.Load()
	if elsewhere := (*placement.NotPresentError)(nil); errors.As(err, &elsewhere) && len(topology.Slots) >= j.Size() {
		warn(log, fmt.Errorf("%w; the present order is left out", err))
	} else if err != nil {
		return nil, err
	}
	ms := j.Builder.Matrices()
	counted, class := placement.Counted(ms)
	out := &reordered{Program: j.Program, Run: j.Run, Counted: class.String(), job: j, topology: topology, ran: ran, traffic: counted}
	if selected := o.selection.Parts(); len(selected) > 0 {
		out.Counted = commandline.InWords(selected)
	}
	if o.selection.Kinds() {
		out.traffic = &ms[matrix.All]
	} else if class == matrix.Direct {
		out.LeftOut = o.by.Of(ms[matrix.Collective].Total())
	}
	out.Answer, err = placement.Ask(placement.Question{Topology: topology, Matrix: out.traffic, Ranks: j.Size(), By: o.by, Ran: ran,
		Options: placement.Options{Seed: o.seed, Effort: efforts[o.effort]}})
	return out, err
}

// libraryFormats are the formats of files for the launchers of MPI libraries, by a part of
// the name of the library. The first that matches counts.
var libraryFormats = []struct {
	library string
	formats []string // seq if the cores of ranks are not known
}{
	{"Open MPI", []string{"rankfile", "seq"}}, {"CRAY MPICH", []string{"mpich"}}, {"Intel", []string{"intel"}}, {"MPICH", []string{"hydra"}}, {"MVAPICH", []string{"hydra"}},
}

// launcherFormat returns the format of the launcher's file; nil if it is not known.
func (o *reorderOptions) launcherFormat(a *reordered) *placement.FileFormat {
	names := []string{o.format}
	if _, bySlurm := launch.OtherOptions(a.job.launched, launch.SlurmLauncher); bySlurm && o.format == "" {
		names = []string{"slurm"}
	}
	for _, l := range libraryFormats {
		if names[0] == "" && strings.Contains(a.job.library, l.library) {
			names = l.formats
			break
		}
	}
	var format *placement.FileFormat
	for _, name := range names {
		if f, err := placement.FileFormatOf(name); err == nil {
			if f.Write(io.Discard, a.topology, a.Slot) == nil {
				return f
			}
			format = cmp.Or(format, f)
		}
	}
	return format // whose Write says why not
}

// write writes the files that were asked for.
func (o *reorderOptions) write(a *reordered) error {
	if o.output != "" && (o.force || a.Gains()) {
		format := o.launcherFormat(a)
		if format == nil {
			return usage(fmt.Errorf("choose a --format for -o: the run's MPI, %q, has no default", a.job.library))
		}
		err := export.WriteOutput(o.output, o.force, func(w io.Writer) error { return format.Write(w, a.topology, a.Slot) })
		if err != nil {
			return err
		}
		a.File, a.Start = o.output, format.Command(o.output, a.topology, a.Slot, a.job.withOptions(format.Name))
	}
	if o.plot == "" {
		return nil
	}
	before, name := a.ran, placement.AsItRan
	if before == nil {
		before, name = placement.Block(a.Ranks), placement.InBlocks
	}
	present := o.heatmap(a, name, before)
	if !a.Gains() {
		present.Title += "; no better order"
		return export.WriteOutput(o.plot, o.force, func(w io.Writer) error { return plot.Write(w, o.plot, present) })
	}
	pair := plot.NewHeatmapPair(*present, *o.heatmap(a, placement.BestFound, a.Slot))
	return export.WriteOutput(o.plot, o.force, func(w io.Writer) error { return plot.Write(w, o.plot, pair) })
}

// amountText returns an amount of what the objective counts.
func (o *reorderOptions) amountText(n uint64) string {
	if o.by == placement.Messages {
		return text.CountOf(n, "message")
	}
	return text.Binary.Format(float64(n), 3)
}

// heatmap returns the matrix with the ranks in the order of their slots.
func (o *reorderOptions) heatmap(a *reordered, name string, order placement.Order) *plot.Heatmap {
	ranks := make([]int, a.Ranks) // in the order of their slots
	for r := range ranks {
		ranks[r] = r
	}
	slices.SortFunc(ranks, func(x, y int) int { return cmp.Compare(order[x], order[y]) })
	line, labels := make([]int, a.Ranks), make([]string, a.Ranks)
	node, names := a.topology.NodeOf(order), a.topology.NodeNames()
	var borders []int
	for i, r := range ranks {
		line[r], labels[i] = i, fmt.Sprint(r)
		if a.Nodes > 1 {
			labels[i] += " on " + names[node[r]]
		}
		if i > 0 && node[r] != node[ranks[i-1]] {
			borders = append(borders, i)
		}
	}
	sheet := &matrixfile.Sheet{N: a.Ranks, Matrix: a.traffic.Fold(func(rank int) int {
		if rank < 0 || rank >= len(line) {
			return -1
		}
		return line[rank]
	}), Program: a.Program, Run: a.Run, Line: "rank", Labels: labels}
	quantity := matrixfile.Size
	if o.by == placement.Messages {
		quantity = matrixfile.Msg
	}
	h := matrixfile.Heatmap(sheet, quantity)
	h.Borders = borders
	h.Title = fmt.Sprintf("%s, %s: %s", a.Program, name, quantity.Text())
	if row := a.Row(name); row != nil && a.Nodes > 1 {
		h.Title += fmt.Sprintf(", %s between nodes", o.amountText(row.LeavesNode))
	}
	return h
}

// print prints the answers.
func (o *reorderOptions) print(cmd *cobra.Command, answers []*reordered, path string) error {
	out := cmd.OutOrStdout()
	jobs, all := []document{}, []views.Section{}
	for i, a := range answers {
		head := views.Section{ID: "job", Title: "Job"}
		head.Say(fmt.Sprintf("%s on %s: %s with %s", a.Program, text.CountOf(a.Ranks, "rank"), text.CountOf(a.Nodes, "node"), text.CountOf(a.Slots, "slot")))
		head.Say("counted: " + o.countedText(a))
		orders := views.Placement(a.Answer, views.Options{Top: int(o.top)})
		orders[0].Joined = true
		sections := slices.Concat(views.Finish(head), orders, views.Finish(o.advice(cmd, a, path, len(answers) > 1, i)))
		jobs, all = append(jobs, document{a, sections}), append(all, sections...)
	}
	if o.json {
		return text.WriteJSON(out, struct {
			Version int        `json:"schema_version"`
			Jobs    []document `json:"jobs"`
		}{schemaVersion, jobs})
	}
	return terminal.Write(out, all, terminalFor(out, "mpitrace reorder RUN | less -S"))
}

// countedText says which traffic counts, and what is left out.
func (o *reorderOptions) countedText(a *reordered) string {
	counted := map[string]string{matrix.Direct.String(): "point-to-point and one-sided", matrix.All.String(): "collectives, by their logical volume"}[a.Counted]
	if counted == "" || o.selection.Kinds() {
		counted = a.Counted
	}
	if a.LeftOut > 0 {
		amount := text.CountOf(a.LeftOut, "message")
		if o.by == placement.Bytes {
			amount = text.Bytes(a.LeftOut)
		}
		counted += fmt.Sprintf("; without collectives (%s of logical volume; --class all)", amount)
	}
	return counted
}

// advice returns the section of how to use the order.
func (o *reorderOptions) advice(cmd *cobra.Command, a *reordered, path string, several bool, i int) views.Section {
	out := views.Section{ID: "advice", Title: "How to use the order"}
	switch {
	case a.File != "":
		out.Say(fmt.Sprintf("The order is in %s. Start the job with it:", a.File))
		out.Toned(views.Code, a.Start)
		return out
	case o.output != "":
		out.Say(fmt.Sprintf("%s is not written. To write it all the same, give --force.", o.output))
		return out
	case !a.Gains():
		return out
	}
	words := []string{"mpitrace reorder", text.ShellQuote(path)}
	words = append(words, givenFlags(cmd.Flags(), "top", "json", "plot", "force")...)
	if several {
		words = append(words, fmt.Sprintf("--job %d", i+1))
	}
	name := "FORMAT"
	if format := o.launcherFormat(a); format != nil {
		if err := format.Write(io.Discard, a.topology, a.Slot); err != nil {
			out.Say(fmt.Sprintf("This order cannot be written for the launcher: %v.", err))
			return out
		}
		name = format.Name
	}
	out.Say("To write a file for the launcher:")
	out.Toned(views.Code, fmt.Sprintf("%s -o FILE --format %s", strings.Join(words, " "), name))
	return out
}

// givenFlags returns the flags of a command line, except some, as a shell reads them.
func givenFlags(flags *pflag.FlagSet, except ...string) []string {
	var words []string
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(except, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+" "+text.ShellQuote(v))
		}
	})
	return words
}
