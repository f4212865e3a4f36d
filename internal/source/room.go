package source

import (
	"sync/atomic"
	"unsafe"

	"github.com/mpitrace/mpitrace/profile"
)

// KeptMemory is the memory in bytes for profiles that are kept. Tests change it.
var KeptMemory int64 = 384 << 20

// mostOfTables is that for profiles of tables of which only the jobs were asked for.
const mostOfTables = 48 << 20

// Room is the memory for profiles that are kept.
type Room struct{ left atomic.Int64 }

// NewRoom returns the room of a command.
func NewRoom() *Room { return newRoom(KeptMemory) }

func newRoom(bytes int64) *Room {
	r := &Room{}
	r.left.Store(bytes)
	return r
}

func (r *Room) full() bool { return r.left.Load() <= 0 }

// take takes the room of a profile, and reports whether there was any.
func (r *Room) take(p *profile.Profile) bool { return r.left.Add(-memoryOf(p)) > 0 }

// memoryOf returns about how many bytes a profile takes.
func memoryOf(p *profile.Profile) int64 {
	const fixed, row, comm = 2048, int64(unsafe.Sizeof(profile.Row{})), 512
	n := fixed + int64(cap(p.Rows))*row + int64(len(p.Comms))*comm
	for i := range p.Comms {
		n += int64(len(p.Comms[i].Members.List)) * 4
	}
	for i := range p.Vectors {
		n += int64(len(p.Vectors[i].Bytes)) * 8
	}
	return n
}
