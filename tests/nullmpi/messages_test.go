package nullmpi

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// flow is who sent to whom, and by which call. The other one is a rank of the world.
type flow struct {
	call  string
	from  bool // received from the other one, not sent to it
	other int32
}

type volume struct{ messages, bytes uint64 }

// A phase is what a phase of a program has moved, and what did not complete normally.
type phase struct {
	moved    map[flow]volume
	abnormal map[profile.AbnormalKind]uint64
}

func newPhase() phase {
	return phase{map[flow]volume{}, map[profile.AbnormalKind]uint64{}}
}

func (p phase) add(f flow, messages, bytes uint64) {
	v := p.moved[f]
	p.moved[f] = volume{v.messages + messages, v.bytes + bytes}
}

// sent adds a message of each size.
func (p phase) sent(call string, to int32, sizes ...uint64) phase {
	for _, size := range sizes {
		p.add(flow{call, false, to}, 1, size)
	}
	return p
}

func (p phase) received(call string, from int32, sizes ...uint64) phase {
	for _, size := range sizes {
		p.add(flow{call, true, from}, 1, size)
	}
	return p
}

func (p phase) ended(kind profile.AbnormalKind, count uint64) phase {
	p.abnormal[kind] += count
	return p
}

// phasesOf returns the phases of a profile, without those in which nothing was moved.
func phasesOf(p *profile.Profile) map[string]phase {
	phases := map[string]phase{}
	of := func(slice uint32) phase {
		name := p.Slices[slice].Name
		if _, known := phases[name]; !known {
			phases[name] = newPhase()
		}
		return phases[name]
	}
	for _, r := range p.Rows {
		if r.Class == profile.P2P && r.Messages > 0 {
			of(r.Slice).add(flow{r.Call, r.Direction == profile.Recv, r.Peer}, r.Messages, r.Bytes)
		}
	}
	for _, a := range p.Abnormal {
		of(a.Slice).ended(a.Kind, a.Count)
	}
	return phases
}

// messages are the phases of programs/messages.c.
func messages() map[string]phase {
	five := []uint64{12, 12, 12, 12, 12}
	return map[string]phase{
		"sends": newPhase().sent("Send", 0, 1).sent("Bsend", 0, 2*4).sent("Ssend", 0, 3*8).sent("Rsend", 0, 4*2).
			sent("Isend", 2, 50).sent("Ibsend", 2, 60).sent("Issend", 2, 70).sent("Irsend", 2, 80),
		"receives": newPhase().received("Recv", 0, 1, 2*4).received("Mrecv", 0, 3*8).received("Imrecv", 0, 4*2).
			received("Irecv", 2, 50, 60, 70, 80),
		"nobody": newPhase(),
		"both": newPhase().sent("Sendrecv", 2, 10*4).received("Sendrecv", 2, 10*4).
			sent("Isendrecv", 0, 11*4).received("Isendrecv", 0, 11*4),
		"persistent": newPhase().sent("Startall", 2, five...).received("Startall", 2, five...).
			sent("Start", 2, 3*4).received("Recv", 2, 3*4),
		"partitioned": newPhase().sent("Startall", 0, 80, 80, 80).received("Startall", 0, 80, 80, 80),
		"truncated": newPhase().sent("Send", 2, 20, 20, 20, 20).received("Irecv", 2, 20).
			ended(profile.TruncatedReceive, 3),
		"chosen": newPhase().sent("Send", 0, 7, 7).received("Recv", 2, 5000000000, 4),
		"failed": newPhase().sent("Send", 0, 50, 60, 70, 80, 90).sent("Sendrecv", 0, 95).
			ended(profile.FailedReceive, 1+1+1+2+1).ended(profile.DoubtfulSend, 1),
		"cancelled": newPhase().sent("Isend", 0, 30, 30, 30, 40, 30).ended(profile.CancelledSend, 2+1).
			ended(profile.FreedSend, 1).ended(profile.CancelledReceive, 1).ended(profile.FreedReceive, 1),
		"cancelled persistent": newPhase().sent("Start", 0, 20, 20, 20).
			ended(profile.CancelledSend, 2).ended(profile.FreedSend, 1),
		"unfinished": newPhase().ended(profile.UnfinishedReceive, 2),
	}
}

// TestMessages compares what a program moved and what failed with what its source says.
// The second time, the library cannot find the count in a status and has to ask the MPI.
func TestMessages(t *testing.T) {
	m := Build(t)
	program := m.Compile(t, filepath.Join("programs", "messages.c"), "-I"+m.dir)
	for _, count := range []string{"", "hidden"} {
		p := m.Record(t, []string{"NULLMPI_SIZE=3", "NULLMPI_RANK=1", "NULLMPI_COUNT=" + count}, program)
		if p.Rank != 1 || p.Size != 3 || p.State != profile.Finalized || p.Losses.Any() {
			t.Errorf("rank %d of %d, state %v, lost %+v", p.Rank, p.Size, p.State, p.Losses)
		}
		got := phasesOf(p)
		for name, want := range messages() {
			if found, known := got[name]; !known {
				got[name] = newPhase()
			} else if !maps.Equal(found.moved, want.moved) || !maps.Equal(found.abnormal, want.abnormal) {
				t.Errorf("%s, count %q:\n got %v\nwant %v", name, count, found, want)
			}
		}
		if len(got) != len(messages()) {
			t.Errorf("phases %v", got)
		}
	}
}
