package nullmpi

import (
	"maps"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// withChecks runs a test, and at level all a second time with the compiler's checks of
// addresses and of undefined behaviour, and those of the library's locks.
func withChecks(t *testing.T, f func(*testing.T, *MPI)) {
	t.Run("plain", func(t *testing.T) { f(t, Build(t)) })
	t.Run("sanitized", func(t *testing.T) {
		testenv.At(t, testenv.All)
		f(t, Build(t, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DMT_CHECK_LOCKS", "-O1", "-g"))
	})
}

// flow is who sent to whom, and by which call.
type flow struct {
	call  string
	from  bool  // received from the peer, not sent to it
	other int32 // the peer, as in a row
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
		if r.Messages > 0 {
			received := r.Direction == profile.Recv || r.Direction == profile.Read
			of(r.Slice).add(flow{r.Call, received, r.Peer}, r.Messages, r.Bytes)
		}
	}
	for _, a := range p.Abnormal {
		of(a.Slice).ended(a.Kind, a.Count)
	}
	return phases
}

// checkPhases requires the phases of a program that was rank 1 of a world of this size.
func checkPhases(t *testing.T, p *profile.Profile, size int, want map[string]phase) {
	t.Helper()
	if p.Rank != 1 || p.Size != size || p.State != profile.Finalized || p.Losses.Any() {
		t.Errorf("rank %d of %d, state %v, lost %+v", p.Rank, p.Size, p.State, p.Losses)
	}
	got := phasesOf(p)
	for name, want := range want {
		found, known := got[name]
		if !known {
			found = newPhase()
		}
		delete(got, name)
		if !maps.Equal(found.moved, want.moved) || !maps.Equal(found.abnormal, want.abnormal) {
			t.Errorf("%s:\n got %v\nwant %v", name, found, want)
		}
	}
	if len(got) > 0 {
		t.Errorf("more phases: %v", got)
	}
}
