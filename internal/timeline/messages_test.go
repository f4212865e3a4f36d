package timeline

import (
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/profile"
)

// pair returns two processes that send each other messages.
func pair() (a, b *process) {
	a, b = newProcess(0, 2), newProcess(1, 2)
	for _, p := range []*process{a, b} {
		p.call("Init", profile.Other, 0, ms)
		p.call("Finalize", profile.Other, 999*ms, ms)
	}
	return a, b
}

func link(from, to int, start, end int64) plot.Link {
	return plot.Link{From: from, To: to, Start: time.Duration(start).Seconds(), End: time.Duration(end).Seconds()}
}

// checkLinks compares the links that are drawn, in any order.
func checkLinks(t *testing.T, p *plot.Timeline, want ...plot.Link) {
	t.Helper()
	for _, l := range want {
		if !slices.Contains(p.Links, l) {
			t.Errorf("missing link %+v", l)
		}
	}
	if len(p.Links) != len(want) || p.AllLinks != len(want) {
		t.Errorf("%d of %d links, want %d: %+v", len(p.Links), p.AllLinks, len(want), p.Links)
	}
}

// TestMatching requires that a send and a receive are one message only if
// communicator, tag, number and direction agree.
func TestMatching(t *testing.T) {
	a, b := pair()
	a.Trace().Comms = append(a.Trace().Comms, profile.TraceComm{Label: "ours"})
	b.Trace().Comms = append([]profile.TraceComm{{Label: "ours"}}, b.Trace().Comms...) // the first communicator here, but not on rank 0
	a.send("Isend", 1, 10*ms, ms, 8, 7, 1)
	a.send("Isend", 1, 20*ms, ms, 8, 7, 2)
	a.send("Isend", 1, 30*ms, ms, 8, 6, 1)
	a.add(profile.EventKind{Call: "Send", Direction: profile.Send, Peer: 1, Comm: 1}, 40*ms, ms, 8, 7, 1)
	b.add(profile.EventKind{Call: "Send", Direction: profile.Send, Peer: 0, Comm: 1}, 50*ms, ms, 8, 7, 1)
	recv := func(call string, comm int32, start, duration int64, tag int32, seq uint32) {
		action := profile.Called
		if duration == 0 {
			action = profile.Moved
		}
		b.add(profile.EventKind{Action: action, Call: call, Direction: profile.Recv, Peer: 0, Comm: comm}, start, duration, 8, tag, seq)
	}
	recv("Recv", 1, 60*ms, 5*ms, 6, 1)
	recv("Irecv", 1, 70*ms, 0, 7, 2)
	recv("Irecv", 1, 71*ms, 0, 7, 1)
	recv("Recv", 0, 80*ms, 5*ms, 7, 1)
	a.receive("Recv", 1, 90*ms, 5*ms, 8, 7, 1)
	a.receive("Recv", 1, 91*ms, 5*ms, 8, 7, 9) // no such send
	// Neither a receive that is only posted nor a collective is a message.
	a.add(profile.EventKind{Call: "Irecv", Peer: profile.PeerAnySource}, 100*ms, ms, 0, profile.AnyTag, 0)
	a.add(profile.EventKind{Call: "Bcast", Class: profile.OneToAll, Direction: profile.Send, Peer: 1}, 101*ms, ms, 8, profile.NoTag, 0)
	p := draw(t, []*process{a, b}, Options{Messages: true})
	checkLinks(t, p, link(0, 1, 10*ms, 71*ms), link(0, 1, 20*ms, 70*ms), link(0, 1, 30*ms, 65*ms), link(0, 1, 40*ms, 85*ms), link(1, 0, 50*ms, 95*ms))
	if p := draw(t, []*process{a, b}, Options{}); len(p.Links) != 0 || p.AllLinks != 0 {
		t.Errorf("%d messages drawn without Options.Messages", len(p.Links))
	}
}

func TestMessagesOfARange(t *testing.T) {
	a, b := pair()
	for seq, at := range []int64{100, 190, 195, 240, 290, 310} {
		a.send("Send", 1, at*ms, ms, 8, 0, uint32(seq+1))
	}
	for seq, end := range []int64{150, 199, 205, 260, 320, 330} {
		b.receive("Recv", 0, end*ms-ms, ms, 8, 0, uint32(seq+1))
	}
	o := Options{Messages: true, From: 200 * time.Millisecond, To: 300 * time.Millisecond}
	checkLinks(t, draw(t, []*process{a, b}, o), link(0, 1, 195*ms, 205*ms), link(0, 1, 240*ms, 260*ms), link(0, 1, 290*ms, 320*ms))
}

// TestMessagesOfOtherRanks requires that a message is drawn only if both its
// ranks are in the picture.
func TestMessagesOfOtherRanks(t *testing.T) {
	ps := make([]*process, 3)
	for r := range ps {
		ps[r] = newProcess(r, 3)
		ps[r].call("Init", profile.Other, 0, 100*ms)
	}
	for r, p := range ps {
		p.send("Send", (r+1)%3, 10*ms, ms, 8, 0, 1)
		p.receive("Recv", (r+2)%3, 20*ms, ms, 8, 0, 1)
	}
	checkLinks(t, draw(t, ps, Options{Messages: true}), link(0, 1, 10*ms, 21*ms), link(1, 2, 10*ms, 21*ms), link(2, 0, 10*ms, 21*ms))
	checkLinks(t, draw(t, ps[1:], Options{Messages: true}), link(0, 1, 10*ms, 21*ms)) // only ranks 1 and 2
}

// TestManyMessages gives more messages than are kept. The largest must be kept, the slowest of
// them first.
func TestManyMessages(t *testing.T) {
	const n = 200_000
	a, b := newProcess(0, 2), newProcess(1, 2)
	a.Batch, b.Batch = 1000, 1000
	for i := range int64(n) {
		bytes, took := uint64(100), int64(500)
		switch {
		case i%100 == 7:
			bytes, took = 1<<20, 700
		case i%1000 == 0:
			took = 900 // slow but small
		}
		a.send("Send", 1, 1000*i, 100, bytes, 0, uint32(i+1))
		b.receive("Recv", 0, 1000*i+took-50, 50, bytes, 0, uint32(i+1))
	}
	p := draw(t, []*process{a, b}, Options{Messages: true})
	if p.AllLinks != n || len(p.Links) != maxLinks || p.LinkChoice != "the longest of the largest that can be distinguished" {
		t.Fatalf("%d of %d links, %s", len(p.Links), p.AllLinks, p.LinkChoice)
	}
	slow, large := 0, 0
	for i, l := range p.Links {
		switch took := time.Duration((l.End - l.Start) * 1e9).Round(100 * time.Nanosecond); {
		case took == 700:
			large++
		case took == 900 && i < 200:
			slow++
		}
	}
	// All large messages are kept. Of the others about one in seven is kept,
	// among them some of the 200 slow ones.
	if large != n/100 || slow == 0 || slow == 200 {
		t.Errorf("%d large messages, want %d; %d slow ones", large, n/100, slow)
	}
}

// TestSameSize requires that, of messages of one size, the sends and receives
// that are kept belong to the same messages.
func TestSameSize(t *testing.T) {
	const n = 5 * maxEnds
	a, b := newProcess(0, 2), newProcess(1, 2)
	for i := range int64(n) {
		a.send("Send", 1, 1000*i, 100, 8, int32(i%7), uint32(i/7+1))
		b.receive("Recv", 0, 1000*(n-i), 50, 8, int32(i%7), uint32(i/7+1)) // in another order
	}
	m := newMessages(&drawing{from: 0, to: 1000 * (n + 1), lines: []line{{0, 0, -1}, {1, 1, -1}}}, maxEnds, maxLinks)
	for _, p := range []*process{a, b} {
		s := &strip{firstPass: &firstPass{threads: make([]bool, 1)}, line: []int{p.Trace().Rank}}
		ends := m.of(p.Trace())
		ends.add(&p.Events, p.Kinds, s)
		m.join(ends)
	}
	m.sends.shrink()
	m.receives.shrink()
	byKey := map[key]bool{}
	for _, e := range m.sends.ends {
		byKey[e.key] = true
	}
	for _, e := range m.receives.ends {
		if !byKey[e.key] {
			t.Fatalf("the send of %+v was left out", e.key)
		}
	}
	if len(m.sends.ends) != maxEnds || len(m.receives.ends) != maxEnds {
		t.Errorf("%d sends and %d receives, want %d", len(m.sends.ends), len(m.receives.ends), maxEnds)
	}
}
