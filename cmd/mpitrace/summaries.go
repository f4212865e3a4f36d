package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"github.com/mpitrace/mpitrace/internal/launch"
	"io"
	"path"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/page"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
)

// summaries are those of the jobs or, with --rank, of the rank in each job that
// has it.
type summaries struct {
	jobs  []*aggregate.Summary
	whole []*aggregate.Job // the same jobs, for a page; nil for text and JSON
	ranks []*aggregate.RankSummary

	placed map[*aggregate.Summary]*placement.Answer // of jobs on several nodes
	made   map[string]*patterns.Decomposition       // by the name of the run; none of large jobs
	traced analyses
}

// useTraced adds the analyses of the traces.
func (s *summaries) useTraced(traced analyses) {
	s.traced = traced
	for _, job := range s.jobs {
		findings.UseTrace(job, traced.results[job.Run])
	}
}

// scratchBudget is the memory, in bytes, that each part of a summary needs for the sums of
// pairs of one class. Those of 10,000 ranks with 26 peers each fit.
const scratchBudget = 16 << 20

// The limit of memory of a summary, in bytes: memoryOfSums, and memoryOfProcess for each process. With
// 60 bytes less for each process a summary also ends, but garbage collection takes longer.
const (
	memoryOfSums    = 200 << 20
	memoryOfProcess = 610
)

// scratchFor returns where the sums of pairs of a run go that do not fit into memory.
func scratchFor(opened *source.Run) *matrix.Scratch {
	if opened.ReadOnce() {
		// Garbage is collected when the memory reaches what a summary gets, which keeps
		// that of a million ranks below 1 GiB. With the usual setting it is collected more
		// often at the start, and needs twice the memory at the end.
		n := int64(0)
		for _, j := range opened.Jobs {
			n = max(n, int64(j.Processes))
		}
		debug.SetMemoryLimit(memoryOfSums + n*memoryOfProcess)
		debug.SetGCPercent(400)
	}
	place := string(opened.Dir)
	if opened.Dir.Writable() != nil {
		place = "" // where the system has temporary files
	}
	return matrix.NewScratch(scratchBudget, func() (matrix.ScratchFile, error) { return atomicfile.Unnamed(place) })
}

// summarize returns the summaries of a run whose recordings were read at a time. With
// forPage, it also keeps what a page needs.
func summarize(opened *source.Run, scratch *matrix.Scratch, read time.Time, forPage bool) (found summaries, err error) {
	o := aggregate.Options{MustAgree: settingsThatAgree(), Scratch: scratch}
	found.placed, found.made = map[*aggregate.Summary]*placement.Answer{}, map[string]*patterns.Decomposition{}
	if forPage {
		o.PairDetails = page.MostPairs
	}
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(source.LiveSource{Of: src, Read: read, Ended: opened.Ended()}, o)
		if err != nil {
			return summaries{}, err
		}
		s := j.Summary()
		if err := j.Err(); err != nil {
			return summaries{}, err
		}
		found.jobs = append(found.jobs, s)
		if n := j.Size(); n >= leastPatterned && n <= mostPatterned {
			made := patterns.Find(j.Matrices(), j.Size())
			found.made[s.Run] = &made
		}
		if answer := searchOrder(j, s); answer != nil {
			found.placed[s] = answer
		}
		if forPage {
			found.whole = append(found.whole, j)
		}
	}
	unnamed := unnamedFiles(opened)
	for _, s := range found.jobs {
		s.UnnamedFiles, s.Shared = unnamed, sharedFunction(s)
	}
	return found, nil
}

// leastCallers is the number of places that call a function from which on it counts as shared.
const leastCallers = 3

// sharedFunction returns the function with most of the time in MPI, if many places call it.
func sharedFunction(s *aggregate.Summary) *aggregate.SharedFunction {
	site, f := aggregate.LargestFunction(s.CallSites)
	if site == nil {
		return nil
	}
	if f.Callers = symbolize.Callers(site.Module, site.BuildID, site.Offset); f.Callers < leastCallers {
		return nil
	}
	return &f
}

// unnamedFiles returns the files in which call sites have no names. It is complete when the jobs
// were read.
func unnamedFiles(opened *source.Run) (files []aggregate.UnnamedFile) {
	for _, e := range opened.UnnamedFiles() {
		file := aggregate.UnnamedFile{Module: e.Path, Reason: e.Err.Error(), Stripped: e.Stripped}
		if e.Stripped {
			file.Package = symbolize.DebugPackage(e.Path)
		}
		files = append(files, file)
	}
	return files
}

// leastPatterned is the number of ranks from which on a report looks for patterns: of two ranks,
// all are the same.
const leastPatterned = 3

// mostPatterned is the number of ranks up to which a report looks for patterns. With 26
// neighbours each this takes about a second.
const mostPatterned = 32768

// A report searches for a better order if there are at most mostSearched ranks, and if the
// work is at most mostSearchWork. This is that of 1,000 ranks with 26 neighbours each, for
// which it takes a second.
const (
	mostSearched   = 4096
	mostSearchWork = 30_000_000
)

// searchOrder searches for a better order of the ranks of a job, as `mpitrace reorder
// --effort fast` does, and adds it to the orders of the summary. It returns nil if there is
// one node, or if there are too many ranks or pairs.
func searchOrder(j *aggregate.Job, s *aggregate.Summary) *placement.Answer {
	if len(s.Orders) == 0 || s.RanksExpected > mostSearched {
		return nil
	}
	source := placement.TopologySource{Ranks: s.RanksExpected}
	for i := range s.Ranks {
		r := &s.Ranks[i]
		source.Processes = append(source.Processes, placement.RankLocation{Rank: r.Rank, Host: r.Host, Placement: r.Placement})
	}
	topology, ran, err := source.Load()
	if err != nil {
		return nil
	}
	counted, _ := placement.Counted(j.Matrices())
	answer, err := placement.Ask(placement.Question{Topology: topology, Matrix: counted, Ranks: source.Ranks, By: placement.Bytes, Ran: ran, Within: mostSearchWork,
		Options: placement.Options{Seed: defaultSeed, Effort: efforts[fast]}})
	if err != nil {
		return nil
	}
	node := topology.NodeOf(answer.Slot)
	s.Orders = append(s.Orders, j.OrderOf(aggregate.BestFound, func(rank int) int { return node[rank] }))
	return answer
}

// summarizeRank returns the summaries of one rank, in each job that has it. It returns an
// error if no job does.
func summarizeRank(opened *source.Run, scratch *matrix.Scratch, read time.Time, rank int) (found summaries, missing error) {
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(source.LiveSource{Of: src, Read: read, Ended: opened.Ended()}, aggregate.Options{
			Keep: func(r int) bool { return r == rank }, MustAgree: settingsThatAgree(), Scratch: scratch})
		if err != nil {
			return summaries{}, err
		}
		s, err := j.RankSummary(rank)
		if err != nil {
			missing = usage(err)
			continue
		}
		found.ranks = append(found.ranks, s)
	}
	if len(found.ranks) == 0 {
		return summaries{}, missing
	}
	unnamed := unnamedFiles(opened)
	for _, s := range found.ranks {
		s.UnnamedFiles = unnamed
	}
	return found, nil
}

// complete reports whether no job lacks anything.
func (s summaries) complete() bool {
	for _, job := range s.jobs {
		if len(job.Problems) > 0 {
			return false
		}
	}
	return len(s.jobs) > 0
}

// unrecordedChildren returns a text if jobs spawned processes and the run has no
// other job: the children would be one.
func (s summaries) unrecordedChildren(dir rundir.Dir) []string {
	calls := uint64(0)
	for _, job := range s.jobs {
		before := calls
		for _, c := range job.Calls {
			if profile.TraitsOf(c.Call).Any(profile.TraitSpawns) {
				calls += c.Totals.Calls
			}
		}
		if calls == before {
			return nil
		}
	}
	if calls == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the processes that MPI_Comm_spawn started are not recorded. To record them, spawn a script with the line: "+
		"exec mpitrace run -o %s -- ./child \"$@\"", text.ShellQuote(cmp.Or(string(dir), "DIR")))}
}

// alone returns a text if processes that were started together were each alone in their
// MPI_COMM_WORLD: the launcher gave them nothing by which their MPI finds the others. Those of a
// script count only if they ran at the same time.
func (s summaries) alone(command []string) []string {
	if len(s.jobs) < 2 {
		return nil
	}
	var begun, ended time.Time // the last begin and the first end
	for _, job := range s.jobs {
		end := job.Started.Add(time.Duration(1e9 * job.WallTimeS))
		if job.RanksExpected != 1 || job.Program != s.jobs[0].Program || job.Library == "" {
			return nil
		}
		if job.Started.After(begun) {
			begun = job.Started
		}
		if ended.IsZero() || end.Before(ended) {
			ended = end
		}
	}
	if begun.After(ended) && (len(command) == 0 || !launch.IsLauncher(command)) {
		return nil
	}
	try := "for one job, use the launcher of the program's MPI"
	if slices.ContainsFunc(command, func(word string) bool { return path.Base(word) == "srun" }) {
		try = "for one job, try srun --mpi=pmix (Open MPI) or pmi2 (MPICH); see srun --mpi=list"
	}
	return []string{fmt.Sprintf("%d jobs of one rank: %s", len(s.jobs), try)}
}

// lacks returns what the run lacks that belongs to none of its jobs.
func (s summaries) lacks(dir rundir.Dir, command []string) []string {
	return slices.Concat(s.unrecordedChildren(dir), s.alone(command))
}

// options returns the options of the view of a job.
func (s summaries) options(job *aggregate.Summary, o views.Options) views.Options {
	o.Traced, o.Patterns, o.Placed = s.traced.results[job.Run], s.made[job.Run], s.placed[job]
	return o
}

// sections returns the view of a job or, if the summaries are of ranks, of the rank in it.
func (s summaries) sections(i int, o views.Options) []views.Section {
	if len(s.ranks) > 0 {
		return views.OfRank(s.ranks[i], o)
	}
	return views.Of(s.jobs[i], s.options(s.jobs[i], o))
}

func (s summaries) writeText(w io.Writer, o views.Options) error {
	sections := views.Jobs(s.jobs)
	for i := range len(s.jobs) + len(s.ranks) {
		sections = append(sections, s.sections(i, o)...)
	}
	return terminal.Write(w, sections, terminalFor(w, "mpitrace report --full DIR | less -S"))
}

// optionsOf returns the options of the view of each job.
func (s summaries) optionsOf(o views.Options) func(*aggregate.Summary) views.Options {
	return func(job *aggregate.Summary) views.Options { return s.options(job, o) }
}

// writeBrief writes the short report for programs.
func (s summaries) writeBrief(w io.Writer, o views.Options) error {
	b, err := views.BriefJSON(schemaVersion, o.Path, s.jobs, s.optionsOf(o))
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// writeShort writes the short report.
func (s summaries) writeShort(w io.Writer, o views.Options) error {
	sections := views.Short(s.jobs, s.optionsOf(o))
	fitted := terminalFor(w, "")
	fitted.Short = true
	return terminal.Write(w, sections, fitted)
}

// writeJSON writes {"schema_version": 1, "run": run.json, "missing": [text …], "jobs": [document …],
// "sections": [the table of jobs]}.
func (s summaries) writeJSON(w io.Writer, info *rundir.Info, o views.Options) error {
	jobs := []document{}
	for i, rank := range s.ranks {
		jobs = append(jobs, document{rank, s.sections(i, o)})
	}
	for i, job := range s.jobs {
		r := findings.ReportOf(job, s.traced.results[job.Run])
		r.Patterns = s.made[job.Run]
		withoutRanks := *job
		withoutRanks.Ranks = nil
		r.Summary = &withoutRanks
		jobs = append(jobs, document{r, s.sections(i, o)})
	}
	var b bytes.Buffer
	err := text.WriteJSON(&b, struct {
		Version  int             `json:"schema_version"`
		Run      *rundir.Info    `json:"run"`
		Missing  []string        `json:"missing"` // what the run lacks and belongs to no job
		Jobs     []document      `json:"jobs"`
		Sections []views.Section `json:"sections"`
	}{schemaVersion, info, slices.Concat([]string{}, o.Missing), jobs, views.Jobs(s.jobs)})
	if err != nil {
		return err
	}
	return s.insertRanks(w, b.Bytes())
}

// insertRanks writes JSON in which the ranks of the jobs are left out, and inserts them one
// by one: those of a million need a gigabyte of memory otherwise.
func (s summaries) insertRanks(w io.Writer, b []byte) error {
	const leftOut = `"ranks": null`
	out := bufio.NewWriterSize(w, 64<<10)
	for _, job := range s.jobs {
		before, after, _ := bytes.Cut(b, []byte(leftOut)) // in a string of JSON, the quotes would be escaped
		out.Write(before)
		if err := writeRanks(out, job.Ranks); err != nil {
			return err
		}
		b = after
	}
	out.Write(b)
	return out.Flush() // returns any error of the writes before
}

func writeRanks(out *bufio.Writer, ranks []aggregate.RankTimes) error {
	const indent = "        "
	if len(ranks) == 0 {
		out.WriteString(`"ranks": []`)
		return nil
	}
	out.WriteString(`"ranks": [`)
	for i := range ranks {
		encoded, err := json.MarshalIndent(&ranks[i], indent, "  ")
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + indent)
		out.Write(text.JSON(encoded))
	}
	out.WriteString("\n" + indent[2:] + "]")
	return nil
}
