package trace

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// ms is a millisecond, the unit of these programs, in ns.
const ms = 1_000_000

// program is what one rank of an invented job did: each call with its beginning
// and end, in ms since Init.
type program struct {
	*jobs.Process
	next map[string]uint32 // number of the next message, by where it goes or comes from
}

// job returns ranks without calls that end after so many ms.
func job(ranks int, end float64) []*program {
	list := make([]*program, ranks)
	for i := range list {
		list[i] = &program{next: map[string]uint32{}, Process: jobs.ProcessOf(profile.Trace{
			Rank: i, Size: ranks, State: profile.Finalized, Start: at(-1), InitEnd: at(0), FinalizeStart: at(end), End: at(end + 1),
			Threads: 1, Comms: []profile.TraceComm{{Label: "world", ID: "77", Size: ranks, Rank: i}}})}
		list[i].Batch = 3
	}
	return list
}

func at(t float64) int64 { return 1_700_000_000_000_000_000 + int64(t*ms) }

// messageBytes is the size of all messages.
const messageBytes = 1000

// add appends an event. Its call site has the name of the call.
func (p *program) add(k profile.EventKind, from, to float64, tag int32, seq uint32) int {
	k.Callsite = k.Call
	p.Add(jobs.Event{EventKind: k, Start: at(from), Duration: at(to) - at(from), Bytes: messageBytes, Tag: tag, Seq: seq})
	return p.Events.Len() - 1
}

func (p *program) link(i, j int) {
	p.Events.Link[i], p.Events.Link[j] = int32(j-i), int32(i-j)
}

// number returns the number of a message to or from a rank.
func (p *program) number(way profile.Direction, peer int, tag int32) uint32 {
	key := fmt.Sprint(way, peer, tag)
	p.next[key]++
	return p.next[key]
}

func (p *program) send(call string, to int, from, until float64) int {
	return p.sendTagged(call, to, 0, from, until)
}

func (p *program) sendTagged(call string, to int, tag int32, from, until float64) int {
	k := profile.EventKind{Call: call, Direction: profile.Send, Peer: int32(to)}
	return p.add(k, from, until, tag, p.number(profile.Send, to, tag))
}

func (p *program) recv(source int, from, until float64) int {
	k := profile.EventKind{Call: "Recv", Direction: profile.Recv, Peer: int32(source)}
	return p.add(k, from, until, 0, p.number(profile.Recv, source, 0))
}

func (p *program) irecv(source int, from, until float64) int {
	return p.add(profile.EventKind{Call: "Irecv", Peer: int32(source)}, from, until, 0, 0)
}

// wait adds a call that waits. got and sent complete in it.
func (p *program) wait(call string, from, until float64) {
	p.add(profile.EventKind{Call: call, Comm: -1, Peer: profile.PeerNone}, from, until, profile.NoTag, 0)
}

// got adds the message of an Irecv, behind the call that ended at that time.
func (p *program) got(irecv, source int, when float64) {
	k := profile.EventKind{Action: profile.Moved, Call: "Irecv", Direction: profile.Recv, Peer: int32(source)}
	p.link(irecv, p.add(k, when, when, 0, p.number(profile.Recv, source, 0)))
}

// dropped adds the end of an Irecv that did not receive a known message.
func (p *program) dropped(irecv int, why profile.AbnormalKind, source int, when float64) {
	k := profile.EventKind{Action: profile.Abnormal, AbnormalKind: why, Call: "Irecv", Peer: int32(source)}
	seq := uint32(0)
	if source >= 0 {
		seq = p.number(profile.Recv, source, 0)
	}
	p.link(irecv, p.add(k, when, when, 0, seq))
}

// done adds the end of the operation that the event began.
func (p *program) done(begun int, when float64) {
	k := p.Kinds[p.Events.Kind[begun]]
	k.Action, k.Direction = profile.Completed, profile.None
	p.link(begun, p.add(k, when, when, profile.NoTag, 0))
}

var classes = map[string]profile.Class{"Bcast": profile.OneToAll, "Scatter": profile.OneToAll, "Reduce": profile.AllToOne, "Gather": profile.AllToOne}

// collective adds a collective call. The root is -1 if there is none.
func (p *program) collective(call string, root int, from, until float64) int {
	class, ok := classes[call]
	if !ok {
		class = profile.AllToAll
	}
	k := profile.EventKind{Call: call, Class: class, Direction: profile.Send, Peer: int32(root)}
	return p.add(k, from, until, profile.NoTag, 0)
}

func analyzed(t *testing.T, list []profile.EventSource, o Options) *Result {
	t.Helper()
	got, err := Analyze(list, o)
	testenv.NoError(t, err)
	checkCosts(t, list, got)
	return got
}

// analyze analyses the job with its ranks in several orders and its events in
// batches of several sizes. The result must always be the same.
func analyze(t *testing.T, job []*program, o Options) *Result {
	t.Helper()
	want := analyzed(t, jobs.Sources(job...), o)
	list := jobs.Sources(job...)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, p := range job {
			p.Batch = 1 + r.IntN(9)
		}
		got := analyzed(t, list, o)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("in another order (-want +got):\n%s", diff)
		}
	}
	return want
}
