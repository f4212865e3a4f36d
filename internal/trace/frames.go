package trace

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// volume is an amount of messages.
type volume struct{ messages, bytes uint64 }

type cell struct {
	frame    int64
	from, to int32
}

// frames are the matrices of what was sent point-to-point in each interval.
type frames struct {
	interval, start int64 // length of an interval in ns; start of frame 0, Unix ns
	cells           map[cell]volume
}

// count adds a message to the interval in which its send started. A route
// collects the messages of one interval, so that each cell is looked up once
// per interval.
func (f *frames) count(rt *route, start int64, bytes uint64) {
	if f.interval == 0 {
		return
	}
	at := max(start-f.start, 0) / f.interval
	if at != rt.frame {
		f.leave(rt)
		rt.frame = at
	}
	rt.volume.messages++
	rt.volume.bytes += bytes
}

// leave adds what a route has collected to its cell.
func (f *frames) leave(rt *route) {
	if rt.volume.messages == 0 {
		return
	}
	at := cell{rt.frame, rt.from, rt.to}
	v := f.cells[at]
	f.cells[at] = volume{v.messages + rt.volume.messages, v.bytes + rt.volume.bytes}
	rt.volume = volume{}
}

// Frames is the matrix of point-to-point messages over time.
type Frames struct {
	Interval float64        `json:"interval_s"`
	Start    int64          `json:"start_ns"` // start of frame 0, Unix ns
	Frames   []SentInterval `json:"frames"`   // frames with messages, in order
}

// SentInterval is what was sent in one interval, by the start of the sends.
type SentInterval struct {
	Index int64       `json:"frame"`
	Start float64     `json:"start_s"` // since Frames.Start
	Pairs []FramePair `json:"pairs"`   // pairs with messages, sorted by sender and receiver
}

// FramePair is what one rank sent to another in one interval.
type FramePair struct {
	From     int    `json:"from"`
	To       int    `json:"to"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// result returns the frames in order, or nil if none were requested.
func (f *frames) result() *Frames {
	if f.interval == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(f.cells), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.frame, b.frame), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	out := &Frames{Interval: time.Duration(f.interval).Seconds(), Start: f.start, Frames: []SentInterval{}}
	for _, key := range keys {
		n := len(out.Frames)
		if n == 0 || out.Frames[n-1].Index != key.frame {
			out.Frames = append(out.Frames, SentInterval{Index: key.frame, Start: seconds(key.frame * f.interval)})
			n++
		}
		v := f.cells[key]
		last := &out.Frames[n-1]
		last.Pairs = append(last.Pairs, FramePair{int(key.from), int(key.to), v.messages, v.bytes})
	}
	return out
}
