package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

const (
	mostlyExplained = 0.5  // least share of the time in MPI that findings explain
	unexplained     = 0.05 // least share of the time that is worth a line
	mostSites       = 3    // call sites that are listed
)

// explained returns the share of the time in MPI that findings are about. Like their costs, it
// includes the time without a core. Findings about one call site overlap: the largest counts, or the
// sum of what ranks wait there.
func (j *facts) explained(found []Finding) (share float64) {
	bySite, waits := map[string]float64{}, map[string]float64{}
	for i := range found {
		f := &found[i]
		if f.Of != OfTime || slices.Contains(noCoreRules, f.Rule) {
			continue
		}
		if f.waits != nil {
			for site, own := range f.waitShares() {
				waits[site] += own
			}
			continue
		}
		own := f.Share
		if f.Rule == LoadImbalance { // those who compute less may end early instead of waiting in MPI
			own = max(own-j.Tree.ShareOf(float64(j.Tree.Before[aggregate.EndedEarly])), 0)
		}
		key := place(f.Call, f.Callsite)
		bySite[key] = max(bySite[key], own)
	}
	for site, own := range waits {
		bySite[site] = max(bySite[site], own)
	}
	for _, own := range bySite {
		share += own
	}
	return min(share, j.Tree.InMPIBefore())
}

// withCore returns the part of the time in MPI that is left when the time without a core is taken off.
func (j *facts) withCore() float64 {
	if before := j.Tree.InMPIBefore(); before > 0 {
		return j.Tree.InMPI() / before
	}
	return 1
}

// notExplained returns the share of the time that is in MPI and in no finding; 0 if it is too small
// to be worth a line.
func (j *facts) notExplained(found []Finding) float64 {
	if j.Tree == nil || j.POP == nil || j.POP.RuntimeNs < leastRunNs {
		return 0
	}
	rest := (j.Tree.InMPIBefore() - j.explained(found)) * j.withCore()
	if rest < unexplained || findingOf(found, TimeInMPI) != nil {
		return 0
	}
	return rest
}

// timeInMPI holds if the other findings explain less than half of the time in MPI. It never holds if
// ranks had no core for long: then the time in MPI says nothing about the program.
func timeInMPI(j *facts, found []Finding) *Finding {
	rest := j.notExplained(found)
	if rest == 0 || j.quiet() || j.noCore() || j.explained(found) >= mostlyExplained*j.Tree.InMPIBefore() {
		return nil
	}
	f := &Finding{Rule: TimeInMPI, Share: rest}
	var sites []string
	for i := range j.CallSites { // the longest time first
		c := &j.CallSites[i]
		share := j.shareOf(float64(c.OwnNs)) * j.withCore()
		if profile.SetsUp(c.Call) || share < leastShare || len(sites) == mostSites {
			continue
		}
		if len(sites) == 0 {
			f.Call, f.Callsite = c.Call, c.String()
		}
		sites = append(sites, fmt.Sprintf("%s is in %s%s.", text.Percent(share), at(c), onCommunicator(c)))
	}
	if f.Text = "No call site stands out."; len(sites) > 0 {
		f.Text = strings.Join(sites, " ")
	}
	f.Text += j.waitingText()
	f.Try = j.tryTrace()
	if f.Call != "" {
		f.Cause = "most in " + place(f.Call, f.Callsite)
	}
	return f
}

func onCommunicator(c *aggregate.CallSite) string {
	switch c.Communicator {
	case "":
		return ""
	case aggregate.Mixed:
		return " on several communicators"
	}
	return " on " + c.Communicator
}

// waitingText says how much of the time in MPI is waiting, as far as that is known.
func (j *facts) waitingText() string {
	waiting := text.Percent(j.Tree.Share(aggregate.Waiting))
	switch {
	case j.Tree.Traced:
		return fmt.Sprintf(" Ranks wait for each other in %s, and move data in %s.", waiting, text.Percent(j.Tree.Share(aggregate.MovingData)))
	case j.exact() && j.Tree.Ranks > 1 && j.Tree.Share(aggregate.Waiting) >= leastShare:
		return fmt.Sprintf(" About %s is waiting in collectives.", waiting)
	}
	return ""
}

// tryTrace returns what tells why ranks are in MPI.
func (j *facts) tryTrace() string {
	switch {
	case j.Tree.Traced:
		return "See the causes of the waits: `mpitrace analyze`."
	case j.trace != nil:
		return "The trace lacks calls: record fewer steps, or raise its limit, to see who waits for whom."
	case j.TraceWanted:
		return "Its trace tells who waits for whom: `mpitrace analyze`."
	case j.Tree.Ranks == 1:
		return "Call MPI less often."
	}
	return "Record who waits for whom with `mpitrace run --trace`."
}
