package tabletest

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// StencilRows is the number of rows of each process of Stencil: a send and a
// receive for each of 26 neighbors, and some collectives.
const StencilRows = 75

// Stencil is a Source of a job with this number of ranks, made one at a time.
type Stencil int

// Each implements profile.Source.
func (n Stencil) Each(f func(*profile.Profile) error) error {
	for rank := range int(n) {
		if err := f(n.process(rank)); err != nil {
			return err
		}
	}
	return nil
}

func (n Stencil) process(rank int) *profile.Profile {
	p := Profile("run", 0)
	all := profile.Group{Stride: 1, N: int(n)}
	p.Rank, p.Size, p.Pid = rank, int(n), 1000+rank%97
	p.Host = fmt.Sprintf("node%05d", rank/64)
	p.Source = fmt.Sprintf("run/recordings/%s-%d-1700000000.rec", p.Host, p.Pid)
	p.Start, p.InitEnd = p.Start+int64(rank*7919%1000003), p.InitEnd+int64(rank*7907%1000003)
	p.Stacks, p.Vectors, p.Abnormal, p.Problems, p.Losses = nil, nil, nil, nil, profile.Losses{}
	p.Slices = p.Slices[:1]
	p.Comms = []profile.Comm{
		{ID: strings.Repeat("0", 31) + "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: all},
		{ID: fmt.Sprintf("%032x", 1<<40+rank), Name: "MPI_COMM_SELF", Parent: -1, Members: profile.Group{Base: rank, Stride: 1, N: 1}},
		{ID: fmt.Sprintf("%032x", 2<<40+rank/64), Constructor: "Comm_split", Parent: 0, Rank: rank % 64, Members: profile.Group{Base: rank / 64 * 64, Stride: 1, N: 64}},
	}
	p.Rows = p.Rows[:0]
	for k := range StencilRows {
		r := profile.Row{Call: "Isend", Direction: profile.Send, Spread: profile.ToPeer, SizeClass: uint8(k % 20),
			Peer: int32((rank + k*k*k) % int(n)), Callsite: Exchange + uint64(k/8)*16, Calls: 10, Messages: 10, Bytes: uint64(10 << (k % 20)),
			TimeNs: uint64(rank*7919+k*104729) % 10000019, MinNs: uint64(rank+k*31) % 1009, MaxNs: 1 + uint64(rank*31+k*17)%100003}
		if k%2 == 1 {
			r.Call, r.Direction = "Irecv", profile.Recv
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}
