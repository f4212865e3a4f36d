package arrowfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/facts/factstest"
	"github.com/mpitrace/mpitrace/profile"
)

// benchJob is a job of 256 ranks that each have 500 rows.
func benchJob() (ps []*profile.Profile, rows int) {
	for rank := range 256 {
		p := factstest.Profile("run", rank%4)
		p.Rank = rank
		for len(p.Rows) < 500 {
			r := p.Rows[len(p.Rows)%15]
			r.Callsite += uint64(len(p.Rows)) * 8
			r.Bytes, r.TimeNs = r.Bytes+uint64(rank), r.TimeNs*uint64(len(p.Rows))
			p.Rows = append(p.Rows, r)
		}
		ps, rows = append(ps, p), rows+len(p.Rows)
	}
	return ps, rows
}

func BenchmarkWriteProfile(b *testing.B) {
	ps, rows := benchJob()
	for b.Loop() {
		if err := WriteProfile(io.Discard, profile.List(ps)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(len(encode(b, ps)))/float64(rows), "B/row")
}

func BenchmarkRead(b *testing.B) {
	ps, rows := benchJob()
	data := encode(b, ps)
	for b.Loop() {
		if _, err := readBytes(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// stencilRows is what each process of stencil has: a send and a receive for
// each of 26 neighbours, and some collectives.
const stencilRows = 75

// stencil is a Source of a job of so many ranks, made one at a time.
type stencil int

func (n stencil) Each(f func(*profile.Profile) error) error {
	for rank := range int(n) {
		if err := f(n.process(rank)); err != nil {
			return err
		}
	}
	return nil
}

func (n stencil) process(rank int) *profile.Profile {
	p := factstest.Profile("run", 0)
	all := profile.Group{Stride: 1, N: int(n)}
	p.Rank, p.Size, p.Pid = rank, int(n), 1000+rank%97
	p.Host = fmt.Sprintf("node%05d", rank/64)
	p.Source = fmt.Sprintf("run/recordings/%s-%d-1700000000.rec", p.Host, p.Pid)
	p.Start, p.InitEnd = p.Start+int64(rank*7919%1000003), p.InitEnd+int64(rank*7907%1000003)
	p.Stacks, p.Vectors, p.Asides, p.Problems, p.Losses = nil, nil, nil, nil, profile.Losses{}
	p.Slices = p.Slices[:1]
	p.Comms = []profile.Comm{
		{ID: strings.Repeat("0", 31) + "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: all},
		{ID: fmt.Sprintf("%032x", 1<<40+rank), Name: "MPI_COMM_SELF", Parent: -1, Members: profile.Group{Base: rank, Stride: 1, N: 1}},
		{ID: fmt.Sprintf("%032x", 2<<40+rank/64), Constructor: "Comm_split", Parent: 0, Rank: rank % 64, Members: profile.Group{Base: rank / 64 * 64, Stride: 1, N: 64}},
	}
	p.Rows = p.Rows[:0]
	for k := range stencilRows {
		r := profile.Row{Call: "Isend", Direction: profile.Send, Spread: profile.ToPeer, SizeClass: uint8(k % 20),
			Peer: int32((rank + k*k*k) % int(n)), Callsite: factstest.Exchange + uint64(k/8)*16, Calls: 10, Messages: 10, Bytes: uint64(10 << (k % 20)),
			TimeNs: uint64(rank*7919+k*104729) % 10000019, MinNs: uint64(rank+k*31) % 1009, MaxNs: 1 + uint64(rank*31+k*17)%100003}
		if k%2 == 1 {
			r.Call, r.Direction = "Irecv", profile.Recv
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

// BenchmarkStream writes and reads jobs of ever more ranks, one process at a
// time: the memory may grow by what is written, but not by what is read.
func BenchmarkStream(b *testing.B) {
	for _, ranks := range []int{1000, 10_000, 100_000} {
		path := filepath.Join(b.TempDir(), "profile.arrow")
		b.Run("write/"+strconv.Itoa(ranks), func(b *testing.B) {
			for b.Loop() {
				writeStream(b, path, stencil(ranks))
			}
			reportStream(b, path, ranks)
		})
		b.Run("read/"+strconv.Itoa(ranks), func(b *testing.B) {
			for b.Loop() {
				f, err := Open(path)
				if err == nil {
					err = f.Each(func(*profile.Profile) error { return nil })
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			reportStream(b, path, ranks)
		})
	}
}

func writeStream(b *testing.B, path string, src profile.Source) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := WriteProfile(f, src); err != nil {
		b.Fatal(err)
	}
}

func reportStream(b *testing.B, path string, ranks int) {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(ranks*stencilRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(info.Size())/float64(ranks), "B/rank")
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}
