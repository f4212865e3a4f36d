package findings

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// rules are all rules, in the order in which equal findings are shown.
var rules = []struct {
	name  Rule
	timed bool // whether the finding is about time
	check func(*facts) *Finding
}{
	{EndedBadly, false, endedBadly},
	{NotMeasured, false, notMeasured},
	{Oversubscribed, false, oversubscribed},
	{CoresTaken, false, coresTaken},
	{LoadImbalance, true, loadImbalance},
	{CollectiveWaits, true, collectiveWaits},
	{SmallMessages, true, smallMessages},
	{SmallCollectives, true, smallCollectives},
	{HotRank, true, hotRank},
	{BytesBetweenNodes, false, bytesBetweenNodes},
	{SetUpInALoop, true, setUpInALoop},
	{BusyPolling, true, busyPolling},
	{SparseAllToAll, true, sparseAllToAll},
	{IdleCores, false, idleCores},
	{FileAccess, true, fileAccess},
}

// Of returns the findings of a job, the most important first: at most seven. It
// returns none if nothing stands out. traced is the analysis of the job's traces, nil
// if there is none.
func Of(s *aggregate.Summary, traced *trace.Result) []Finding {
	j := &facts{s, traced}
	found, uncertain := []Finding{}, ""
	if j.noCore() {
		uncertain = "ranks had no core"
	}
	for _, r := range rules {
		if r.timed && j.quiet() {
			continue
		}
		f := r.check(j)
		if f == nil || r.timed && f.Share < leastShare {
			continue
		}
		f.Rule = r.name
		if slices.Contains(noCoreRules, r.name) {
			uncertain = "ranks shared cores"
		}
		if r.timed {
			f.timed(uncertain)
		}
		found = append(found, *f)
	}
	for _, f := range causeFindings(j, uncertain != "") {
		f.timed(uncertain)
		found = append(found, f)
	}
	found = withoutSymptoms(found)
	if f := timeInMPI(j, found); f != nil {
		f.timed(uncertain)
		found = append(found, *f)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.group(j), b.group(j)), cmp.Compare(b.Share, a.Share))
	})
	return found[:min(len(found), most)]
}

// explains is the largest ratio of the time of a symptom to that of the waits that explain it.
const explains = 1.25

// withoutSymptoms removes findings about calls in which ranks wait because of another finding, whose
// text names the call. It keeps those that take much longer than the waits explain.
func withoutSymptoms(found []Finding) []Finding {
	waits, hot := map[string]float64{}, map[string]bool{}
	for i := range found {
		f := &found[i]
		for site, share := range f.waitShares() {
			waits[site] += share
		}
		if f.Rule == LoadImbalance && f.waits == nil && f.Callsite != "" {
			waits[place(f.Call, f.Callsite)] += f.Share
		}
		hot[keyOf(f.Ranks)] = hot[keyOf(f.Ranks)] || f.Rule == HotRank && f.waits != nil
	}
	return slices.DeleteFunc(found, func(f Finding) bool {
		switch {
		case f.Of != OfTime || f.Rule == LoadImbalance || f.waits != nil:
			return false
		case f.Rule == HotRank && hot[keyOf(f.Ranks)]:
			return true // others wait for this rank
		}
		return f.Share <= explains*waits[place(f.Call, f.Callsite)]
	})
}
