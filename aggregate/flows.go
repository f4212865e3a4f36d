package aggregate

import "github.com/mpitrace/mpitrace/profile"

// eachFlow calls f for every part of what the processes sent: what each
// profile knows by itself, and what takes two to know.
func (j *Job) eachFlow(f func(profile.Flow)) {
	for _, p := range j.Profiles {
		p.EachFlow(func(_ *profile.Row, flow profile.Flow) { f(flow) })
	}
	j.eachCrossing(f)
}

// crossing is a Reduce_scatter over an intercommunicator, as one of its groups
// called it.
type crossing struct {
	comm, call string
	first      int // world rank of the group's first member
}

// eachCrossing spreads Reduce_scatter over intercommunicators: what a process
// sends to each member of the other group is in the counts that the other
// group gave, and all of its members gave the same. Where nobody of the other
// group was recorded the messages are in no matrix, which Problems tells.
func (j *Job) eachCrossing(f func(profile.Flow)) {
	received := j.crossings()
	type half struct {
		crossing
		rank int
	}
	spread := map[half]bool{}
	j.eachOwnGroup(func(p *profile.Profile, c *profile.Comm, v *profile.Vector) {
		if c.Remote.Len() == 0 {
			return
		}
		other := crossing{c.ID, v.Call, c.Remote.At(0)}
		bytes := received[other]
		if len(bytes) != c.Remote.Len() {
			return
		}
		for i, n := range bytes {
			if spread[half{other, p.Rank}] {
				n = 0 // the sum over all call sites was given with the first
			}
			if to := c.Remote.At(i); to >= 0 {
				f(profile.Flow{Kind: profile.Collective, From: p.Rank, To: to, Bytes: n, Messages: v.Calls})
			}
		}
		spread[half{other, p.Rank}] = true
	})
}

// crossings sums what each group's members receive, as one of them says it.
func (j *Job) crossings() map[crossing][]uint64 {
	received, whose := map[crossing][]uint64{}, map[crossing]int{}
	j.eachOwnGroup(func(p *profile.Profile, c *profile.Comm, v *profile.Vector) {
		key := crossing{c.ID, v.Call, c.Members.At(0)}
		if received[key] == nil {
			received[key], whose[key] = make([]uint64, len(v.Bytes)), p.Rank
		}
		if whose[key] != p.Rank || len(v.Bytes) != len(received[key]) {
			return
		}
		for i, n := range v.Bytes {
			received[key][i] += n
		}
	})
	return received
}

func (j *Job) eachOwnGroup(visit func(*profile.Profile, *profile.Comm, *profile.Vector)) {
	for _, p := range j.Profiles {
		for i := range p.Vectors {
			v := &p.Vectors[i]
			if v.Comm < 0 || int(v.Comm) >= len(p.Comms) || v.Calls == 0 {
				continue
			}
			if c := &p.Comms[v.Comm]; v.OwnGroup(c) && c.Members.Len() > 0 {
				visit(p, c, v)
			}
		}
	}
}
