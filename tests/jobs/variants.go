package jobs

import "github.com/mpitrace/mpitrace/profile"

// Asked returns a variable that the user has set with --cvar.
func Asked(name, value string, scope profile.Scope) profile.Variable {
	return profile.Variable{Name: name, Value: value, Asked: true, Scope: scope}
}

// WithVariables returns Fixture with the variables of(r) on rank r.
func WithVariables(of func(rank int) []profile.Variable) []*profile.Profile {
	ps := Fixture()
	for r, p := range ps {
		p.Variables = of(r)
	}
	return ps
}

// Sampled returns Fixture with estimated times: those of Send have an error of
// 3 ms on each rank, those of Recv 4 ms. The errors of the sums over the four
// ranks are therefore 6 and 8 ms, and that of the total is 10 ms.
func Sampled() []*profile.Profile {
	ps := Fixture()
	for _, p := range ps {
		p.Timing = profile.TimingSampled
		for i := range p.Rows {
			switch r := &p.Rows[i]; r.Call {
			case "Send":
				r.TimeErrorNs = 3 * MS
			case "Recv":
				r.TimeErrorNs = 4 * MS
			}
		}
	}
	return ps
}

// Untimed returns Fixture without times. It is also unknown what Irecv
// received, on ranks 2 and 3.
func Untimed() []*profile.Profile {
	ps := Fixture()
	for _, p := range ps {
		p.Timing, p.Unfollowed = profile.TimingOff, true
		for i := range p.Rows {
			r := &p.Rows[i]
			r.TimeNs, r.MinNs, r.MaxNs = 0, 0, 0
			if r.Call == "Irecv" {
				r.Direction, r.Calls, r.Messages, r.Bytes = profile.None, 1, 0, 0
			}
		}
	}
	return ps
}

// Changed returns Fixture after four changes: rank 2 sends 100 bytes more to
// rank 3, which receives them; rank 0 calls Rput instead of Put; each rank
// spends 50 ms more in Allreduce; and rank 1 calls Barrier twice.
func Changed() []*profile.Profile {
	ps := Fixture()
	for _, p := range ps {
		for i := range p.Rows {
			switch r := &p.Rows[i]; {
			case r.Call == "Send" && p.Rank == 2, r.Call == "Recv" && p.Rank == 3:
				r.Bytes += 100
			case r.Call == "Put":
				r.Call = "Rput"
			case r.Call == "Allreduce":
				r.TimeNs += 50 * MS
			case r.Call == "Barrier" && p.Rank == 1:
				r.Calls++
			}
		}
	}
	return ps
}

// Sent returns Fixture with what the MPI library reports to have sent. Its
// point-to-point messages are those of the program, except that it misses the
// one message of 7 bytes of rank 1. It also sends messages of its own, from
// rank 0 to 1 and 2, and from rank 1 to 3. What rank 2 sent is unknown; rank 3
// reports nothing sent.
func Sent() []*profile.Profile {
	ps := Fixture()
	flow := func(k profile.Kind, from, to int, bytes, messages uint64) profile.Flow {
		return profile.Flow{Kind: k, From: from, To: to, Bytes: bytes, Messages: messages}
	}
	ps[0].Physical = &profile.Physical{Flows: []profile.Flow{flow(profile.External, 0, 1, 30, 3), flow(profile.External, 0, 2, 7, 1),
		flow(profile.Internal, 0, 1, 116, 3), flow(profile.Internal, 0, 2, 116, 3)}}
	ps[1].Physical = &profile.Physical{Flows: []profile.Flow{flow(profile.External, 1, 2, 33, 3), flow(profile.Internal, 1, 3, 116, 3)}}
	ps[2].Physical = &profile.Physical{Unknown: "the disk was full"}
	ps[3].Physical = &profile.Physical{}
	return ps
}
