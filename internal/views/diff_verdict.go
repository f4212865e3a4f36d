package views

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// The verdict of a comparison names at most mostCarriers parts of the run time, so that it remains one
// sentence. Each of them carries at least leastCarried of the change.
const (
	mostCarriers = 3
	leastCarried = 0.1
)

// leastStart is the share of the longer wall time from which the verdict names a change of the time
// in MPI_Init and MPI_Finalize, which are no part of the run time.
const leastStart = 0.1

// verdict returns the section that says first how the run time changed, and what carries the change.
func (d *diff) verdict() Section {
	out := Section{ID: "verdict", Title: "Verdict"}
	out.Say(strings.Join(slices.DeleteFunc([]string{d.speed(), d.start(), d.volume(), d.noise()}, func(s string) bool { return s == "" }), " "))
	return out
}

// times returns how the times changed; nil if they do not compare, or the user does not want them.
func (d *diff) times() *aggregate.TimeChange {
	if d.IgnoreTime {
		return nil
	}
	return d.RunTime
}

// speed returns the sentence about the run time, or why there is none.
func (d *diff) speed() string {
	t := d.times()
	switch {
	case d.IgnoreTime:
		return "Times are not compared (--ignore-time)."
	case t == nil && d.A.Unfinished+d.B.Unfinished > 0:
		return fmt.Sprintf("The times do not compare: %s did not reach MPI_Finalize.", d.unfinished())
	case t == nil:
		return "The times are not compared, as those of a run are not known."
	}
	words := fmt.Sprintf("B is %s (%s)", speedWords(float64(t.Ns.A), float64(t.Ns.B), "as fast as A"), d.fromTo(t))
	if d.A.RanksExpected != d.B.RanksExpected {
		words += fmt.Sprintf(" on %s instead of %s", text.CountOf(d.B.RanksExpected, "rank"), text.Count(d.A.RanksExpected))
	}
	switch {
	case asFast(float64(t.Ns.A), float64(t.Ns.B)):
	case t.WallTime:
		words += "; " + d.untimed() + ", so what carries the difference is not known"
	case len(largeParts(t)) == 0:
	case len(carriersOf(t)) == 0:
		words += "; what carries the difference is within the error of --timing sampled"
	default:
		words += "; " + carriersWords(carriersOf(t))
	}
	return words + "."
}

func (d *diff) fromTo(t *aggregate.TimeChange) string {
	words := fmt.Sprintf("%s → %s", text.Duration(float64(t.Ns.A), false), text.Duration(float64(t.Ns.B), false))
	if t.WallTime {
		words = "wall time " + words
	}
	return words
}

// untimed says why the parts of the wall time are not known.
func (d *diff) untimed() string {
	var sides []string
	for _, side := range d.lettered() {
		if side.Timing != profile.TimingExact.String() && side.Timing != profile.TimingSampled.String() {
			sides = append(sides, fmt.Sprintf("--timing %s in %s", side.Timing, side.letter))
		}
	}
	if len(sides) == 0 {
		return "how long each rank ran is not known"
	}
	return fmt.Sprintf("times of calls were not recorded (%s)", text.List(sides))
}

// unfinished returns the ranks of each side that did not finalize.
func (d *diff) unfinished() string {
	var sides []string
	for _, side := range d.lettered() {
		if n := side.Unfinished; n > 0 {
			sides = append(sides, fmt.Sprintf("%s of %s in %s", text.Count(n), text.CountOf(side.RanksRecorded, "rank"), side.letter))
		}
	}
	return text.List(sides)
}

// letteredSide is a side with its name.
type letteredSide struct {
	letter string
	*aggregate.DiffSide
}

func (d *diff) lettered() []letteredSide { return []letteredSide{{"A", &d.A}, {"B", &d.B}} }

// sameSpeed is the relative difference of two times below which they are called equal: the numbers
// beside them, which have three digits, hardly differ.
const sameSpeed = 0.01

func asFast(a, b float64) bool { return a == b || math.Abs(b-a) < sameSpeed*min(a, b) }

// speedWords compares two times of the same work: it returns "2.0 times slower" if b is twice a. For
// equal times it returns equal.
func speedWords(a, b float64, equal string) string {
	switch {
	case asFast(a, b):
		return equal
	case b > a:
		return fmt.Sprintf("%s times slower", timesWords(b/a))
	}
	return fmt.Sprintf("%s times faster", timesWords(a/b))
}

// timesWords returns a ratio of at least 1. It has few digits, since a repetition would change the
// others.
func timesWords(ratio float64) string {
	switch {
	case ratio < 1.195:
		return fmt.Sprintf("%.2f", ratio)
	case ratio < 9.95:
		return fmt.Sprintf("%.1f", ratio)
	}
	return text.Count(uint64(ratio + 0.5))
}

// carrier is a part of the run time with its words.
type carrier struct {
	*aggregate.PartChange
	name  string
	where string // "… of the difference is <where>"; empty if it is "<name> carries … of the difference"
}

// largeParts returns the parts that carry much of the change of the run time, the largest first.
// There are none if the run time hardly changed.
func largeParts(t *aggregate.TimeChange) (out []carrier) {
	if t.WallTime || asFast(float64(t.Ns.A), float64(t.Ns.B)) {
		return nil
	}
	for i := range t.CallSites {
		p := &t.CallSites[i]
		only := map[aggregate.DiffStatus]string{aggregate.StatusNew: " (only in B)", aggregate.StatusGone: " (only in A)"}[p.Status]
		out = append(out, carrier{p, fmt.Sprintf("MPI_%s at %s%s", p.Call, p.Site.Label, only), ""})
	}
	out = append(out, carrier{t.OutsideMPI, "the time outside MPI", "outside MPI"},
		carrier{t.OtherCalls, "other MPI calls together", "in other MPI calls together"},
		carrier{t.Idle, "the time of ranks that ended early or began later", "in ranks that ended early or began later"})
	out = slices.DeleteFunc(out, func(c carrier) bool { return math.Abs(c.Share) < leastCarried })
	slices.SortStableFunc(out, func(x, y carrier) int { return cmp.Compare(math.Abs(y.Share), math.Abs(x.Share)) })
	return out
}

// carriersOf returns the parts that the verdict names: the largest whose change is certain.
func carriersOf(t *aggregate.TimeChange) []carrier {
	certain := slices.DeleteFunc(largeParts(t), func(c carrier) bool { return !c.Certain() })
	return certain[:min(len(certain), mostCarriers)]
}

// carriersWords says what carries a change. If some parts became longer and others shorter, shares
// of the difference would mean little: some are negative, and others above 100 %.
func carriersWords(parts []carrier) string {
	opposed := slices.ContainsFunc(parts, func(c carrier) bool { return c.Share < 0 })
	words, before := make([]string, len(parts)), ""
	for i := range parts {
		words[i] = parts[i].share(i == 0)
		if opposed {
			words[i], before = parts[i].time(i == 0), "in the mean over ranks, "
		}
	}
	return before + strings.Join(words, ", ")
}

// share returns the share of the difference that the part carries.
func (c *carrier) share(first bool) string {
	share := fmt.Sprintf("%.0f %%", 100*c.Share)
	if first {
		share += " of the difference"
	}
	if c.where != "" {
		return fmt.Sprintf("%s is %s", share, c.where)
	}
	return fmt.Sprintf("%s carries %s", c.name, share)
}

// time returns by how much longer the part is in B.
func (c *carrier) time(first bool) string {
	words, more := c.name+" ", "longer"
	if first {
		words += "takes "
	}
	if c.B < c.A {
		more = "shorter"
	}
	return words + text.Duration(math.Abs(c.B-c.A), false) + " " + more
}

// start returns the sentence about MPI_Init and MPI_Finalize, if their time changed much.
func (d *diff) start() string {
	t := d.times()
	if t == nil || t.WallTime || !d.TimesCompared {
		return ""
	}
	a, b := float64(d.InitFinalize.A)/float64(d.A.RanksRecorded), float64(d.InitFinalize.B)/float64(d.B.RanksRecorded)
	if math.Abs(b-a) < leastStart*float64(max(d.WallTime.A, d.WallTime.B)) {
		return ""
	}
	return fmt.Sprintf("Beside this, MPI_Init and MPI_Finalize take %s instead of %s (mean over ranks).", text.Duration(b, false), text.Duration(a, false))
}

// noise returns why a change of time may be noise.
func (d *diff) noise() string {
	t := d.times()
	if t == nil {
		return ""
	}
	var shared []string
	for _, side := range d.lettered() {
		if side.SharedCores {
			shared = append(shared, side.letter)
		}
	}
	switch {
	case len(shared) > 0:
		return fmt.Sprintf("Ranks shared cores in %s: times are uncertain. Run each three times, and see mpitrace history.", text.List(shared))
	case t.MayBeNoise:
		return "One run each does not tell so small a difference from noise: run each three times, and see mpitrace history."
	}
	return ""
}

// volume returns the sentence about bytes and messages, if times do not say what carries a
// difference.
func (d *diff) volume() string {
	if t := d.times(); t != nil && len(carriersOf(t)) > 0 {
		return ""
	}
	bytes, messages := d.Total.Bytes, d.Total.Messages
	switch {
	case bytes.Changed():
		size := float64(bytes.Size())
		words := fmt.Sprintf("B sends %s (%s → %s)", moreOf(bytes, "bytes"), text.Bytes(bytes.A), text.Bytes(bytes.B))
		most := slices.MaxFunc(append([]aggregate.SiteChange{{}}, d.CallSites...), func(x, y aggregate.SiteChange) int { return cmp.Compare(x.Bytes.Size(), y.Bytes.Size()) })
		if float64(most.Bytes.Size()) > size/2 {
			words += fmt.Sprintf(", most of the difference by MPI_%s at %s", most.Call, most.Label)
		}
		return words + "."
	case messages.Changed():
		return fmt.Sprintf("B sends as many bytes in %s (%s → %s).", moreOf(messages, "messages"), text.Count(messages.A), text.Count(messages.B))
	}
	return "B sends as many bytes and messages as A."
}

// moreOf returns how many more or fewer B has.
func moreOf(m aggregate.Measure, noun string) string {
	share, ok := m.Relative()
	switch {
	case !ok:
		return noun + ", A none"
	case share >= 1:
		return fmt.Sprintf("%s times as many %s", timesWords(1+share), noun)
	case share > 0:
		return fmt.Sprintf("%s more %s", text.Percent(share), noun)
	}
	return fmt.Sprintf("%s fewer %s", text.Percent(-share), noun)
}
