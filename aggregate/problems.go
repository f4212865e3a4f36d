package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Loss is a kind of what is missing from a record, was lost or does not add up.
type Loss struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"` // of what the kind names
	Texts int    `json:"texts"` // number of problems of this kind
	Text  string `json:"text"`  // the first of them
}

// Kinds of losses that several functions find.
const (
	notRecorded     = "ranks without a recording"
	recordedTwice   = "ranks recorded twice"
	variablesNotSet = "variables of the MPI not set"
	countsUnknown   = "counts of the MPI library not known"
	inNoMatrix      = "messages in no matrix"
)

// Problems returns what is missing, was lost or does not add up: one sentence
// each, and none for a complete record of a job that finished. Conservation
// checks whether all messages that were sent were received.
func (j *Job) Problems() []string { return textsOf(j.problems()) }

// problems returns each problem as a Loss of its own.
func (j *Job) problems() []Loss {
	if running := j.unfinished(); len(running) > 0 {
		return append([]Loss{notFinalized(running)}, j.notMeasured()...)
	}
	return j.notMeasured()
}

// notMeasured returns the problems without those of processes that did not finalize.
func (j *Job) notMeasured() []Loss {
	var out []Loss
	if j.Processes() == 0 {
		return []Loss{{notRecorded, uint64(j.Size()), 1, "nothing was recorded"}}
	}
	if missing := j.Missing(); missing.Len() > 0 {
		out = append(out, Loss{notRecorded, uint64(missing.Len()), 1, profile.NoRecording(missing, j.Size())})
	}
	if twice := profile.RankSetOf(j.Ranks.Duplicated()...); len(twice) > 0 {
		out = append(out, Loss{recordedTwice, uint64(twice.Len()), 1, fmt.Sprintf("more than one recording of %s: these may be of several runs", twice)})
	}
	out = append(out, each("processes without a rank", j.strangers())...)
	out = append(out, each("ranks that contradict others", j.disagreements())...)
	out = append(out, each("settings that differ between ranks", j.settingProblems())...)
	out = append(out, each("traces not written", j.traceProblems())...)
	out = append(out, each(variablesNotSet, j.variableProblems())...)
	out = append(out, j.losses()...)
	out = append(out, j.completeness.leftCalls()...)
	out = append(out, each("functions not recorded", j.unseen())...)
	out = append(out, each("clocks that contradict others", j.clockProblems())...)
	out = append(out, each(countsUnknown, j.physical.problems())...)
	return append(out, each(inNoMatrix, j.unplaced())...)
}

// each returns each text as a problem of a kind. The count is the number of the texts.
func each(kind string, texts []string) (out []Loss) {
	for _, text := range texts {
		out = append(out, Loss{kind, 1, 1, text})
	}
	return out
}

func textsOf(list []Loss) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Text
	}
	return out
}

// byKind adds up the problems of each kind, in the order of their first ones.
func byKind(list []Loss) []Loss {
	out, index := []Loss{}, map[string]int{}
	for _, l := range list {
		i, met := index[l.Kind]
		if !met {
			index[l.Kind] = len(out)
			out = append(out, l)
			continue
		}
		out[i].Count += l.Count
		out[i].Texts += l.Texts
	}
	return out
}

// finalized returns the ranks whose recordings are all finalized, in ascending order.
func (j *Job) finalized() []int {
	var out []int
	ps := j.ordered()
	for i := 0; i < len(ps); {
		rank, all := ps[i].Rank, true
		for ; i < len(ps) && ps[i].Rank == rank; i++ {
			all = all && ps[i].State == profile.Finalized.String()
		}
		if all && rank >= 0 {
			out = append(out, rank)
		}
	}
	return out
}

func (j *Job) unfinished() profile.RankSet {
	done := j.finalized()
	var out []int
	for _, p := range j.ordered() {
		if _, ok := slices.BinarySearch(done, p.Rank); p.Rank >= 0 && !ok {
			out = append(out, p.Rank)
		}
	}
	return profile.RankSetOf(out...)
}

// strangers returns a text for each process that ended before MPI told it its
// rank.
func (j *Job) strangers() []string {
	var out []string
	for _, p := range j.ordered() {
		if p.Rank < 0 {
			out = append(out, fmt.Sprintf("process %d on %s ended before its rank was known: it is in no matrix", p.Pid, p.Host))
		}
	}
	return out
}

// disagreements returns a text for each value that should be the same in all
// processes of a job and is not.
func (j *Job) disagreements() []string {
	var out []string
	size, library := -1, ""
	for _, p := range j.ordered() {
		if size >= 0 && p.size >= 0 && p.size != size {
			out = append(out, fmt.Sprintf("rank %d counts %d ranks, others %d: these may be of several runs", p.Rank, p.size, size))
		}
		if library != "" && p.library != "" && p.library != library {
			out = append(out, fmt.Sprintf("rank %d ran with another MPI library: %s", p.Rank, p.library))
		}
		if p.size >= 0 {
			size = p.size
		}
		if p.library != "" {
			library = p.library
		}
	}
	return out
}

// losses returns each kind of loss, with the sum over the recordings.
func (j *Job) losses() []Loss {
	kinds := []struct {
		kind  string
		count func(l *profile.Losses) uint64
		text  string
	}{
		{"calls not recorded", func(l *profile.Losses) uint64 { return l.Calls }, "calls were not recorded at all"},
		{"calls without their peer", func(l *profile.Losses) uint64 { return l.Folded }, "calls were counted without their peer and communicator"},
		{"requests not followed", func(l *profile.Losses) uint64 { return l.Requests }, "requests could not be followed to their completion, for want of memory"},
		{"communicators not described", func(l *profile.Losses) uint64 { return l.Comms }, "communicators could not be described"},
		{"calls without time", func(l *profile.Losses) uint64 { return l.NegativeTicks }, "calls have no time, since the clock ran backwards"},
		{"calls without their callers", func(l *profile.Losses) uint64 { return l.Stacks }, "calls have their call site, but not the callers that were asked for"},
		{"readings of variables not kept", func(l *profile.Losses) uint64 { return l.Readings }, "readings of performance variables were not kept"},
		{"damaged parts of recordings", func(l *profile.Losses) uint64 { return l.Damaged }, "damaged parts of recordings were skipped"},
	}
	var out []Loss
	for _, k := range kinds {
		var sum uint64
		var ranks []int
		for _, p := range j.ordered() {
			if p.losses == nil || k.count(p.losses) == 0 {
				continue
			}
			sum += k.count(p.losses)
			ranks = append(ranks, p.Rank)
		}
		if sum > 0 {
			out = append(out, Loss{k.kind, sum, 1, fmt.Sprintf("%s %s (%s)", text.Count(sum), k.text, profile.RankSetOf(ranks...))})
		}
	}
	return out
}

// leftCalls returns a problem for each call that was left without returning.
func (c *completeness) leftCalls() []Loss {
	var out []Loss
	for _, call := range slices.Sorted(maps.Keys(c.left)) {
		var sum uint64
		for _, n := range c.left[call] {
			sum += n
		}
		out = append(out, Loss{"calls left without returning", sum, 1, fmt.Sprintf("%s of %s left by an exception or longjmp, and not counted (%s)",
			text.CountOf(sum, "call"), call, profile.RankSetOf(slices.Sorted(maps.Keys(c.left[call]))...))})
	}
	return out
}

// unplaced compares the volume in the rows with that in the matrices. The
// difference went to processes that are no rank of this job, or to peers that
// were not kept.
func (j *Job) unplaced() []string {
	rows, placed := j.builder.Placed(j.Matrices())
	switch {
	case rows.Messages == placed.Messages && rows.Bytes == placed.Bytes:
		return nil
	case rows.Messages < placed.Messages || rows.Bytes < placed.Bytes:
		return []string{fmt.Sprintf("matrices hold %s (%s), the calls only %s (%s)",
			text.CountOf(placed.Messages, "message"), text.CountOf(placed.Bytes, "byte"), text.Count(rows.Messages), text.Count(rows.Bytes))}
	}
	return []string{fmt.Sprintf("not in any matrix: %s (%s) to other worlds, or to peers that were not kept",
		text.CountOf(rows.Messages-placed.Messages, "message"), text.CountOf(rows.Bytes-placed.Bytes, "byte"))}
}

// clockProblems returns a text for the ranks whose times may be wrong. If the
// time of day was set by the same amount on all ranks, no time is wrong: the
// times of a rank are counted from its start by a clock that is never set.
func (j *Job) clockProblems() []string {
	var wrong []int
	var most time.Duration
	steps := map[time.Duration][]int{}
	for _, p := range j.ordered() {
		if d := time.Duration(p.clocks.Error).Abs(); d > 0 {
			wrong, most = append(wrong, p.Rank), max(most, d)
		}
		step := time.Duration(p.clocks.Step).Round(time.Second)
		steps[step] = append(steps[step], p.Rank)
	}
	var out []string
	if len(wrong) > 0 {
		out = append(out, fmt.Sprintf("the CPU's clock and the system's do not agree, by up to %v (%s): times may be wrong", most.Round(time.Millisecond), profile.RankSetOf(wrong...)))
	}
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		if len(steps) > 1 && step != 0 {
			out = append(out, fmt.Sprintf("the time of day was set by %v during the run (%s): times cannot be compared with those of other ranks", step, profile.RankSetOf(steps[step]...)))
		}
	}
	return out
}

// unseen returns a text for each reason why calls did not reach mpitrace's
// library, with the ranks.
func (j *Job) unseen() []string {
	ranks := map[string][]int{}
	for _, p := range j.ordered() {
		for text := range strings.Lines(p.unseen) {
			text = strings.TrimSuffix(text, "\n")
			ranks[text] = append(ranks[text], p.Rank)
		}
	}
	var out []string
	for _, text := range slices.Sorted(maps.Keys(ranks)) {
		out = append(out, fmt.Sprintf("%s (%s)", text, profile.RankSetOf(ranks[text]...)))
	}
	return out
}

// unseenTexts returns which calls of a process did not reach mpitrace's library,
// in lines.
func unseenTexts(p *profile.Profile) string {
	var texts []string
	if i := p.Intercepted; i != nil {
		texts = append(texts, fmt.Sprintf("calls of %s were not recorded: %s comes before mpitrace's library and intercepts them", firstNames(i), i.Library))
	}
	if d := p.Direct; d != nil {
		texts = append(texts, fmt.Sprintf("calls of %s were not recorded: %s calls the MPI itself, past mpitrace's library", firstNames(d), d.Library))
	}
	return strings.Join(texts, "\n")
}

func firstNames(f *profile.FileAndFunctions) string {
	const shown = 8
	if len(f.Functions) <= shown {
		return strings.Join(f.Functions, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(f.Functions[:shown], ", "), len(f.Functions)-shown)
}
