package findings

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// endedBadly holds if a process ended without MPI_Finalize, or if ranks wait for each
// other in a ring.
func endedBadly(j *facts) *Finding {
	if len(j.Deadlocks) > 0 {
		return deadlocked(j, j.Deadlocks[0])
	}
	var first *aggregate.End // the list is in the order of ending
	later := 0
	for i := range j.Ends {
		e := &j.Ends[i]
		switch {
		case e.State.Runs(), e.State == profile.EndUnknown: // it may run on another node, or in another namespace
		case first == nil:
			first = e
		default:
			later++
		}
	}
	if first == nil {
		return nil
	}
	if n := cancelled(j, first); n > 0 {
		return &Finding{Text: fmt.Sprintf("SIGTERM ended %d of %s within 1 s: the job was cancelled, or its time was over.", n, text.CountOf(j.RanksRecorded, "rank")),
			Try: "See the log of the batch system; ask for more time, or do less in one job."}
	}
	f := &Finding{Try: "Start with this process, which ended first."}
	who := fmt.Sprintf("Process %d on %s", first.Pid, first.Host)
	if first.Rank >= 0 {
		f.Ranks, who = profile.RankSetOf(first.Rank), fmt.Sprintf("Rank %d", first.Rank)
		f.Try = fmt.Sprintf("Start with rank %d, which ended first.", first.Rank)
	}
	words := who + " " + howEnded(first)
	if len(first.Calls) > 0 {
		c := &first.Calls[0]
		f.Call, f.Callsite = c.Call, c.Callsite.String()
		if words += " in " + place(f.Call, f.Callsite); c.ErrorCode != nil {
			words = fmt.Sprintf("%s called %s with error code %d", who, place(f.Call, f.Callsite), *c.ErrorCode)
		}
	}
	if later > 0 {
		words += fmt.Sprintf(". Afterwards %s ended without MPI_Finalize", text.CountOf(later, "other process"))
	}
	f.Text = words + "."
	return f
}

const (
	mostlyCancelled = 0.9 // of the ranks, ended by SIGTERM
	cancelledWithin = 1   // second
)

// cancelled returns the number of ranks that SIGTERM ended. It returns 0 unless these are nearly all
// ranks, and ended at nearly the same time. first is the process that ended first: if anything else
// than SIGTERM ended this process, the launcher ended the others because of it.
func cancelled(j *facts, first *aggregate.End) (ranks int) {
	last := 0.0
	for i := range j.Ends {
		if e := &j.Ends[i]; e.State == profile.EndKilled && e.Signal == "SIGTERM" && e.EndedS > 0 {
			ranks, last = ranks+1, max(last, e.EndedS)
		}
	}
	if first.Signal != "SIGTERM" || last-first.EndedS > cancelledWithin || float64(ranks) < mostlyCancelled*float64(j.RanksRecorded) {
		return 0
	}
	return ranks
}

// deadlocked returns the finding about a ring of ranks in which each waits for the next.
func deadlocked(j *facts, ring []int) *Finding {
	f := &Finding{Ranks: profile.RankSetOf(ring...), Try: "See how ranks ended: each waits for the next."}
	f.Text = fmt.Sprintf("%s wait for each other in a ring.", sentence(f.Ranks))
	for i := range j.Ends {
		if e := &j.Ends[i]; e.Rank == ring[0] && len(e.Calls) > 0 {
			f.Call, f.Callsite = e.Calls[0].Call, e.Calls[0].Callsite.String()
			f.Text += fmt.Sprintf(" Rank %d is in %s.", e.Rank, place(f.Call, f.Callsite))
			break
		}
	}
	return f
}

func howEnded(e *aggregate.End) string {
	switch {
	case e.State == profile.EndKilled:
		return "was killed by " + e.Signal
	case e.Status != nil:
		return fmt.Sprintf("exited with status %d", *e.Status)
	}
	return "ended without MPI_Finalize"
}

// notMeasured holds if the record lacks something else than the ends of processes.
func notMeasured(j *facts) *Finding {
	if len(j.NotMeasured) == 0 {
		return nil
	}
	words := j.NotMeasured[0]
	if n := len(j.NotMeasured) - 1; n > 0 {
		words += fmt.Sprintf("; and %s", text.CountOf(n, "other problem"))
	}
	return &Finding{Text: strings.ToUpper(words[:1]) + words[1:] + ".",
		Try: "Read what does not add up before you trust the other numbers."}
}

const (
	unbalanced = 0.9 // load balance below this, and
	// least difference of the longest useful time and the mean, as a share of the run time
	longestOver = 0.05
)

// imbalanceOf holds if some ranks compute much longer than the mean. The share is
// the time in which the others cannot compute.
func imbalanceOf(j *facts) *Finding {
	p := j.POP
	over := p.UsefulMaxNs - p.UsefulMeanNs
	if !j.exact() || p.LoadBalance >= unbalanced || over < longestOver*p.RuntimeNs {
		return nil
	}
	slow := slowRanks(j)
	f := &Finding{Share: j.shareOf(over * float64(p.Ranks)), Ranks: slow, SavesS: over / 1e9}
	verb, compute := "compute up to", "compute"
	if slow.Len() == 1 {
		verb, compute = "computes", "computes"
	}
	f.Text = fmt.Sprintf("%s %s %s, the mean is %s.", sentence(slow), verb, duration(p.UsefulMaxNs), duration(p.UsefulMeanNs))
	f.Cause = fmt.Sprintf("%s %s up to %s longer than the mean", slow, compute, duration(over))
	if least := 2*p.UsefulMeanNs - p.UsefulMaxNs; p.Ranks == 2 && least > 0 { // one other rank
		f.Cause = fmt.Sprintf("rank %d computes %s times as long as the other", p.UsefulMaxRank, text.Number(p.UsefulMaxNs/least))
	}
	if site := waitSite(j, slow, over*float64(p.Ranks)); site != nil {
		f.Call, f.Callsite = site.Call, site.String()
		others := "others wait"
		if j.RanksRecorded-slow.Len() == 1 {
			others = "other rank waits"
		}
		f.Text += fmt.Sprintf(" The %s in %s.", others, at(site))
	}
	f.Try = fmt.Sprintf("Move work off %s; at most %s shorter.", slow, duration(over))
	return f
}

// aboveMean is the least excess over the mean of a rank that is named as slow, as a part of the largest
// excess. Ranks with a smaller excess differ from the mean by noise.
const aboveMean = 0.1

// slowRanks returns the ranks whose useful time is above the mean.
func slowRanks(j *facts) profile.RankSet {
	var slow []int
	for i := range j.Ranks {
		r := &j.Ranks[i]
		if useful, known := r.UsefulNs(); known && useful-j.POP.UsefulMeanNs > aboveMean*(j.POP.UsefulMaxNs-j.POP.UsefulMeanNs) {
			slow = append(slow, r.Rank)
		}
	}
	return profile.RankSetOf(slow...)
}

// waitedThere is the least part of the time lost by an imbalance that the other ranks spend at one call
// site, if this call site is named. They may wait at several.
const waitedThere = 0.5

// waitSite returns the call site at which the other ranks waited most for slow ranks. It returns nil
// unless they lost most of lostNs there. Either all ranks call at this site, and a slow rank spends the
// least time there, or only the other ranks call there. Calls that never wait, such as Irecv, do not
// count: they also take long where ranks share cores.
func waitSite(j *facts, slow profile.RankSet, lostNs float64) *aggregate.CallSite {
	waited := func(c *aggregate.CallSite) float64 {
		r := &c.PerRank
		switch {
		case !profile.TraitsOf(c.Call).Any(profile.TraitBlocks):
			return 0
		case r.Ranks == j.RanksRecorded && slow.Contains(r.MinRank):
			return aboveLeast(c)
		case r.Ranks <= j.RanksRecorded-slow.Len() && !slow.Contains(r.MinRank) && !slow.Contains(r.MaxRank):
			return float64(c.OwnNs)
		}
		return 0
	}
	site := j.longestSite(waited)
	if site == nil || waited(site) < waitedThere*lostNs {
		return nil
	}
	return site
}

// aboveLeast returns by how much the time of all ranks at a call site exceeds what it would be if
// each rank had spent as little time there as the rank with the least, in ns.
func aboveLeast(c *aggregate.CallSite) float64 {
	return float64(c.PerRank.Ranks) * (c.PerRank.MeanNs - float64(c.PerRank.MinNs))
}

// longestSite returns the call site for which weigh returns the longest time; nil if it returns 0
// for all.
func (j *facts) longestSite(weigh func(*aggregate.CallSite) float64) *aggregate.CallSite {
	var found *aggregate.CallSite
	longest := 0.0
	for i := range j.CallSites {
		c := &j.CallSites[i]
		if profile.SetsUp(c.Call) {
			continue
		}
		if w := weigh(c); w > longest {
			found, longest = c, w
		}
	}
	return found
}

// timeIf returns a weight for longestSite: the time at the call sites that meet a
// condition.
func timeIf(is func(*aggregate.CallSite) bool) func(*aggregate.CallSite) float64 {
	return func(c *aggregate.CallSite) float64 {
		if is(c) {
			return float64(c.OwnNs)
		}
		return 0
	}
}

func collective(c *aggregate.CallSite) bool {
	class, _ := profile.ParseClass(c.Class)
	return class.Collective()
}

const (
	smallMessage    = 1 << 10 // bytes; messages below are small
	mostlySmall     = 0.5     // least share of small messages at a call site
	perWait         = 4       // least number of messages to one rank between two waits
	pointToPointMin = 0.05    // least share of the time in point-to-point calls
)

// smallMessages holds if a call site sends several small messages to the same rank
// before it waits.
func smallMessages(j *facts) *Finding {
	if j.shareOf(j.pointToPointNs()) < pointToPointMin {
		return nil
	}
	site := j.longestSite(timeIf(func(c *aggregate.CallSite) bool {
		return c.Class == profile.P2P.String() && c.PairWaits > 0 && c.Sent.Messages >= perWait*c.PairWaits &&
			float64(c.MessagesBelow(smallMessage)) >= mostlySmall*float64(c.Sent.Messages)
	}))
	if site == nil {
		return nil
	}
	f := j.at(site, float64(site.OwnNs))
	// A message that is packed into another one saves the time of at least the shortest call. The
	// time is divided by the number of threads.
	saved := float64(site.Sent.Messages-site.PairWaits) * float64(j.leastNs(site.Call)) * float64(site.OwnNs) / float64(site.TimeNs)
	f.SavesS = saved / float64(j.POP.Ranks) / 1e9
	f.Text = fmt.Sprintf("%s sends %s messages of %s on average, %s to a rank between two waits.", at(site), text.Count(site.Sent.Messages),
		text.Bytes(site.Sent.Bytes/site.Sent.Messages), text.Number(float64(site.Sent.Messages)/float64(site.PairWaits)))
	f.Try = "Pack them into one message."
	return f
}

// pointToPointNs returns the time in point-to-point calls and in those that complete
// requests.
func (j *facts) pointToPointNs() (sum float64) {
	for i := range j.Calls {
		c := &j.Calls[i]
		if pointToPoint(c) {
			sum += float64(c.OwnNs)
		}
	}
	return sum
}

// pointToPoint reports whether a call sends or receives point-to-point, or completes requests.
func pointToPoint(c *aggregate.CallTotals) bool {
	return c.Class == profile.P2P.String() || profile.TraitsOf(c.Call).Any(profile.TraitCompletes)
}

// leastNs returns the shortest time of a call.
func (j *facts) leastNs(call string) uint64 {
	for i := range j.Calls {
		if j.Calls[i].Call == call {
			return j.Calls[i].MinNs
		}
	}
	return 0
}

const (
	smallCollective = 128   // bytes; collectives below are small
	manyCollectives = 1_000 // calls of a rank
	// least share of small calls at a call site, whose whole time then counts
	mostlySmallCalls = 0.9
	manyAlone        = 10_000 // least number of calls of a rank on a communicator of one process
	collectivesLeast = 0.05   // share of the time
)

// smallCollectives holds if a rank makes many collective calls with little data, or
// many on a communicator that has no other member.
func smallCollectives(j *facts) *Finding {
	if alone := j.longestSite(timeIf(func(c *aggregate.CallSite) bool { return c.CallsAlone >= manyAlone*uint64(c.PerRank.Ranks) })); alone != nil {
		if f := j.at(alone, float64(alone.OwnNs)); f.Share >= leastShare {
			f.Text = fmt.Sprintf("Each rank makes %s calls of %s on a communicator of one process.", text.Count(alone.CallsAlone/uint64(alone.PerRank.Ranks)), at(alone))
			f.Try = "Skip the call if the communicator has one member."
			return f
		}
	}
	small := func(c *aggregate.CallSite) bool {
		below := c.CallsBelow(smallCollective)
		return collective(c) && below >= manyCollectives*uint64(c.PerRank.Ranks) && float64(below) >= mostlySmallCalls*float64(c.Calls)
	}
	site := j.longestSite(timeIf(small))
	if site == nil {
		return nil
	}
	ns, twins := float64(site.OwnNs), 0
	for i := range j.CallSites {
		c := &j.CallSites[i]
		if c != site && small(c) && c.Calls == site.Calls && c.Function != "" && c.Function == site.Function && c.Module == site.Module {
			ns, twins = ns+float64(c.OwnNs), twins+1
		}
	}
	if twins == 0 && j.shareOf(ns) < collectivesLeast {
		return nil
	}
	f := j.at(site, ns)
	f.Text = fmt.Sprintf("%s %s calls of %s with less than %d bytes each.", j.callers(site), text.Count(site.CallsBelow(smallCollective)/uint64(site.PerRank.Ranks)), at(site), smallCollective)
	f.Try = "Combine several calls into one with an array, or call less often."
	if twins > 0 {
		f.Text += fmt.Sprintf(" The function makes %s as often.", text.CountOf(twins, "other small collective call"))
		f.Try = "Combine the calls of this function into one with an array."
	}
	return f
}

// hotTimes is the least ratio of a hot rank's value to the median. In jobs of fewer than four ranks
// no rank is hot.
const hotTimes = 4

// hotRank holds if one rank has far more messages or bytes than the others.
func hotRank(j *facts) *Finding {
	direct := j.directBalances()
	for i := range direct {
		b := &direct[i]
		if len(b.Standouts) == 0 || b.MaxRank != b.Standouts[0].Rank || b.Median == 0 || b.Max < hotTimes*b.Median {
			continue
		}
		f := &Finding{Share: j.shareOf(j.pointToPointNs()), Ranks: profile.RankSetOf(b.MaxRank)}
		amount, of := func(v float64) string { return text.Count(uint64(v)) + " messages" }, "messages"
		if b.Quantity == "bytes" {
			amount, of = func(v float64) string { return text.Bytes(uint64(v)) }, "bytes"
		}
		does := directionOf(b)
		f.Text = fmt.Sprintf("Rank %d %s %s point-to-point, the median rank %s.", b.MaxRank, does, amount(b.Max), amount(b.Median))
		f.Cause = fmt.Sprintf("rank %d %s %s times as many %s as the median rank", b.MaxRank, does, text.Number(b.Max/b.Median), of)
		if from := sources(j, b); from.Len() > 0 {
			f.Text += fmt.Sprintf(" Most come from %s.", from)
		}
		site := j.longestSite(timeIf(func(c *aggregate.CallSite) bool { return c.Class == profile.P2P.String() }))
		if site != nil {
			f.Call, f.Callsite = site.Call, site.String()
			f.Text += fmt.Sprintf(" Most time is in %s, the longest on rank %d.", at(site), site.PerRank.MaxRank)
		}
		f.Try = "Use a collective (Gather, Reduce, Bcast), or forward the data along a tree of ranks."
		return f
	}
	return nil
}

// mostlyOneWay is the least part of a hot rank's messages or bytes that names their direction.
const mostlyOneWay = 0.9

// directionOf says whether a hot rank mostly sends or receives.
func directionOf(b *aggregate.Balance) string {
	switch {
	case b.Received >= mostlyOneWay*b.Max:
		return "receives"
	case b.Received <= (1-mostlyOneWay)*b.Max:
		return "sends"
	}
	return "sends and receives"
}

// sources returns the ranks among the largest pairs that send to the hot rank; none if they send
// less than half of what the hot rank has.
func sources(j *facts, b *aggregate.Balance) profile.RankSet {
	var from []int
	sum := 0.0
	for _, p := range j.Pairs {
		if p.To != b.MaxRank || p.Messages == 0 {
			continue
		}
		from = append(from, p.From)
		if b.Quantity == "bytes" {
			sum += float64(p.Bytes)
		} else {
			sum += float64(p.Messages)
		}
	}
	if sum < b.Max/2 {
		return nil
	}
	return profile.RankSetOf(from...)
}

const (
	betweenLeast = 0.2 // least share of the bytes that leave nodes
	// most of the bytes between nodes that may remain in a better order, as a share
	orderGains = 0.7
	// a launcher's file is worth writing only if it saves more than this share of the bytes between
	// nodes
	orderWorth = 0.02
)

// bytesBetweenNodes holds if many bytes leave their node and would not in another
// order of the ranks.
func bytesBetweenNodes(j *facts) *Finding {
	if len(j.Orders) < 2 || j.Orders[0].All.Bytes == 0 {
		return nil
	}
	was, best := j.Orders[0], bestOrder(j.Orders[1:])
	all := float64(was.All.Bytes)
	share := float64(was.Between.Bytes) / all
	if share < betweenLeast || float64(best.Between.Bytes) > orderGains*float64(was.Between.Bytes) {
		return nil
	}
	f := &Finding{Share: share, Of: OfBytes}
	name := best.Name + " order"
	f.Try = fmt.Sprintf("Start the ranks in %s (mpirun --map-by, srun --distribution); `mpitrace reorder RUN` compares orders.", name)
	if best.Name == aggregate.BestFound {
		name = "the best order found"
		f.Try = "`mpitrace reorder RUN` finds this order and writes the launcher's file."
	}
	f.Text = fmt.Sprintf("%s of the bytes between ranks leave their node. In %s it is %s.", text.Percent(share), name, text.Percent(float64(best.Between.Bytes)/all))
	return f
}

// bestOrder returns the order with the fewest bytes between nodes. It prefers a simple order, which
// launchers know by name, to one that has at most orderWorth fewer bytes.
func bestOrder(orders []aggregate.NodeOrder) aggregate.NodeOrder {
	best := orders[0]
	for _, o := range orders[1:] {
		least := best.Between.Bytes
		if o.Name == aggregate.BestFound {
			least -= uint64(orderWorth * float64(least))
		}
		if o.Between.Bytes < least {
			best = o
		}
	}
	return best
}

// manyConstructors is the number of calls of a rank from which on a constructor is taken to be
// called in a loop.
const manyConstructors = 100

// setUpInALoop holds if communicators, windows, datatypes or persistent requests are made again and
// again at one place.
func setUpInALoop(j *facts) *Finding {
	site := j.longestSite(timeIf(func(c *aggregate.CallSite) bool {
		return profile.MakesObject(c.Call) && c.Calls >= manyConstructors*uint64(c.PerRank.Ranks)
	}))
	if site == nil {
		return nil
	}
	f := j.at(site, float64(site.OwnNs))
	f.Text = fmt.Sprintf("%s %s calls of %s.", j.callers(site), text.Count(site.Calls/uint64(site.PerRank.Ranks)), at(site))
	f.Try = createOnce(site.Call)
	return f
}

const (
	pollsPerMessage = 10
	pollingLeast    = 0.05 // share of the time
)

// busyPolling holds if the program tests for messages far more often than it receives one.
func busyPolling(j *facts) *Finding {
	if j.Receives != "" && j.Receives != profile.ReceivesOn {
		return nil // the messages that Irecv received are not known
	}
	polls := func(call string) bool {
		t := profile.TraitsOf(call)
		return t.Any(profile.TraitTests) || t.Any(profile.TraitCompletes|profile.TraitProbes) && !t.Any(profile.TraitBlocks)
	}
	var calls, messages uint64
	ns := 0.0
	for i := range j.Calls {
		c := &j.Calls[i]
		if polls(c.Call) {
			calls += c.Calls
			ns += float64(c.OwnNs)
		}
		if pointToPoint(c) {
			messages += c.Received.Messages
		}
	}
	if calls < pollsPerMessage*max(messages, 1) || j.shareOf(ns) < pollingLeast {
		return nil
	}
	f := &Finding{}
	words := fmt.Sprintf("%s calls of Test, Iprobe and the like for %s received.", text.Count(calls), text.CountOf(messages, "message"))
	if site := j.longestSite(timeIf(func(c *aggregate.CallSite) bool { return polls(c.Call) })); site != nil {
		f = j.at(site, ns)
		words += fmt.Sprintf(" Most time is in %s.", at(site))
	}
	f.Share, f.Text = j.shareOf(ns), words
	f.Try = "Use Wait if there is nothing else to do, else ask less often."
	return f
}

const (
	mostlyUnused = 0.75 // of the destinations
	sparseLeast  = 0.05 // share of the time
)

// sparseAllToAll holds if an all-to-all operation sends nothing to most ranks.
func sparseAllToAll(j *facts) *Finding {
	site := j.longestSite(timeIf(func(c *aggregate.CallSite) bool {
		return c.Destinations > 0 && float64(c.Destinations-c.DestinationsUsed) >= mostlyUnused*float64(c.Destinations)
	}))
	if site == nil || j.shareOf(float64(site.OwnNs)) < sparseLeast {
		return nil
	}
	f := j.at(site, float64(site.OwnNs))
	f.Text = fmt.Sprintf("%s sends nothing to %s of the ranks; on average a rank sends to %s.", at(site),
		text.Percent(1-float64(site.DestinationsUsed)/float64(site.Destinations)), text.Number(float64(site.DestinationsUsed)/float64(site.Calls)))
	f.Try = "Use a neighbourhood collective (Neighbor_alltoallv), or point-to-point messages."
	return f
}

// callers returns the start of a sentence about the calls of a rank at a place.
func (j *facts) callers(c *aggregate.CallSite) string {
	switch {
	case c.PerRank.Ranks < j.RanksRecorded:
		return fmt.Sprintf("%s of %s each make", text.CountOf(c.PerRank.Ranks, "rank"), text.Count(j.RanksRecorded))
	case c.FewestCalls != c.MostCalls:
		return "On average, each rank makes"
	}
	return "Each rank makes"
}

// createOnce returns what to try if a constructor takes long.
func createOnce(call string) string {
	return fmt.Sprintf("Create the %s once, before the loop, and use it again.", objectOf(call))
}

// objectOf returns what a constructor makes.
func objectOf(call string) string {
	t := profile.TraitsOf(call)
	switch {
	case t.Any(profile.TraitMakesComm):
		return "communicator"
	case t.Any(profile.TraitMakesWindow):
		return "window"
	case t.Any(profile.TraitMakesDatatype):
		return "datatype"
	case t.Any(profile.TraitPersistent):
		return "request"
	}
	return "processes"
}

// at returns a finding about time spent at a call site.
func (j *facts) at(c *aggregate.CallSite, ns float64) *Finding {
	return &Finding{Share: j.shareOf(ns), Call: c.Call, Callsite: c.String()}
}

// at returns the call and the place of a call site.
func at(c *aggregate.CallSite) string { return c.Call + " at " + c.Name() }

func duration(ns float64) string { return text.Duration(ns, false) }

func seconds(s float64) string { return duration(1e9 * s) }

// place is a call with its call site.
func place(call, site string) string {
	if site == "" {
		return call
	}
	return call + " at " + site
}

// sentence returns ranks for the start of a sentence.
func sentence(ranks profile.RankSet) string { return "R" + ranks.String()[len("r"):] }
