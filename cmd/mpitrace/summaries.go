package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/report/page"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
)

// summaries are those of the jobs or, with --rank, of the rank in each job that
// has it.
type summaries struct {
	jobs  []*aggregate.Summary
	whole []*aggregate.Job // the same jobs, for a page; nil for text and JSON
	ranks []*aggregate.RankSummary

	traced analyses
}

// summarize returns the summaries of a run whose recordings were read at a time. With
// forPage, it also keeps what a page needs.
func summarize(opened *run.Run, read time.Time, forPage bool) (found summaries, err error) {
	o := aggregate.Options{MustAgree: settingsThatAgree()}
	if forPage {
		o.PairDetails = page.MostPairs
		// The jobs stay in memory until the page is written. Collecting garbage more often
		// keeps that of 100,000 ranks below 1 GiB.
		debug.SetGCPercent(40)
	}
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(run.LiveSource{Of: src, Read: read}, o)
		if err != nil {
			return summaries{}, err
		}
		found.jobs = append(found.jobs, j.Summary())
		if forPage {
			found.whole = append(found.whole, j)
		}
	}
	return found, nil
}

// summarizeRank returns the summaries of one rank, in each job that has it. It returns an
// error if no job does.
func summarizeRank(opened *run.Run, read time.Time, rank int) (found summaries, missing error) {
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(run.LiveSource{Of: src, Read: read}, aggregate.Options{
			Keep: func(r int) bool { return r == rank }, MustAgree: settingsThatAgree()})
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

func (s summaries) writeText(w io.Writer, o report.Options) error {
	o.Traced = s.traced.results
	report.Jobs(w, s.jobs, o)
	missing := o.Missing // follows the last summary
	n := len(s.jobs) + len(s.ranks)
	for i := range n {
		if i > 0 {
			fmt.Fprintln(w)
		}
		o.Missing = nil
		if i == n-1 {
			o.Missing = missing
		}
		var err error
		if len(s.ranks) > 0 {
			err = report.Rank(w, s.ranks[i], o)
		} else {
			err = s.writeJob(w, s.jobs[i], o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeJob writes the summary of a job and, if it was traced, the analysis.
func (s summaries) writeJob(w io.Writer, job *aggregate.Summary, o report.Options) error {
	if err := report.Summary(w, job, o); err != nil {
		return err
	}
	traced := s.traced.results[job.Run]
	if traced == nil {
		return nil
	}
	fmt.Fprintln(w)
	return report.Trace(w, traced, o)
}

// writeJSON writes {"run": run.json, "missing": [text …], "jobs": [summary …]}.
func (s summaries) writeJSON(w io.Writer, dir run.Dir, missing []string) error {
	info, _ := dir.ReadInfo() // empty on an error, which was already reported
	var jobs any = s.ranks
	if len(s.ranks) == 0 {
		all := []findings.Report{}
		for _, job := range s.jobs {
			all = append(all, findings.ReportOf(job, s.traced.results[job.Run]))
		}
		jobs = all
	}
	return text.WriteJSON(w, struct {
		Run     *run.Info `json:"run"`
		Missing []string  `json:"missing"` // what the run lacks and belongs to no job
		Jobs    any       `json:"jobs"`
	}{info, slices.Concat([]string{}, missing), jobs})
}
