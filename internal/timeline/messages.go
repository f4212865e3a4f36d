package timeline

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/mpitrace/mpitrace/profile"
)

const (
	// maxLinks is the largest number of messages that a picture gets. It never
	// draws more.
	maxLinks = 4000
	// maxEnds is the largest number of sends, and of receives, that are kept
	// until they are matched. It is well above maxLinks, because the other end
	// of a message may not be in the picture.
	maxEnds = 1 << 15
)

// messages selects the messages of a picture and matches their ends. If there
// are too many, it keeps the largest messages, and of these the slowest. Sends
// and receives are selected independently while events are read, by an order
// that is the same for both ends of a message: first the bytes, then a hash of
// the key.
type messages struct {
	from, to int64  // ends of the axis, Unix ns
	wanted   []bool // whether a rank is drawn
	most     int    // number of messages to select

	mutex           sync.Mutex
	sends, receives largest
	received        uint64            // number of messages received within the axis
	spare           [][]end           // buffers to reuse for the next processes
	comms           map[uint64]string // labels of the communicators by their hashes
}

// newMessages returns messages that keep at most `ends` sends and as many receives, and select
// at most `most` of the messages of which both ends are kept.
func newMessages(p *drawing, ends, most int) *messages {
	m := &messages{from: p.from, to: p.to, most: most, comms: map[uint64]string{},
		sends: largest{most: ends}, receives: largest{most: ends}}
	for _, l := range p.lines {
		if l.rank >= len(m.wanted) {
			m.wanted = append(m.wanted, make([]bool, l.rank+1-len(m.wanted))...)
		}
		if l.rank >= 0 {
			m.wanted[l.rank] = true
		}
	}
	return m
}

// key identifies a message. seq is its number among the messages that agree in
// everything else.
type key struct {
	comm          uint64 // hash of the communicator's label
	from, to, tag int32
	seq           uint32
}

// hash distributes the messages of one size, or of one pair of ranks, evenly.
func (k key) hash() uint64 {
	h := k.comm
	for _, v := range [...]uint64{uint64(uint32(k.from))<<32 | uint64(uint32(k.to)), uint64(uint32(k.tag))<<32 | uint64(k.seq)} {
		h = (h ^ v) * 0x9e3779b97f4a7c15 // the finalizer of splitmix64, once for each v
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// end is the send or the receive of a message.
type end struct {
	key
	bytes uint64
	order uint64 // hash of the key; orders ends of equally many bytes
	at    int64  // Unix ns: start of the send, or end of the receive
	line  int
}

// larger compares two ends for sorting, the largest first.
func larger(a, b end) int {
	if a.bytes != b.bytes {
		return cmp.Compare(b.bytes, a.bytes)
	}
	return cmp.Compare(b.order, a.order)
}

// largest keeps the largest of the ends that are added. It holds up to twice as
// many as it keeps.
type largest struct {
	most int // number of ends to keep
	ends []end
	cut  bool // whether ends smaller than least were left out
	// least is the smallest end that was kept when ends were last left out.
	least end
}

func (l *largest) add(e end) {
	if l.cut && e.bytes < l.least.bytes {
		return
	}
	e.order = e.hash()
	if l.cut && larger(e, l.least) > 0 {
		return
	}
	l.ends = append(l.ends, e)
	if len(l.ends) >= 2*l.most {
		l.shrink()
	}
}

func (l *largest) shrink() {
	if len(l.ends) <= l.most {
		return
	}
	slices.SortFunc(l.ends, larger)
	l.ends = l.ends[:l.most]
	l.cut, l.least = true, l.ends[l.most-1]
}

// processEnds holds the ends of one process's messages.
type processEnds struct {
	picture         *messages
	rank            int32
	comms           []uint64 // hashes of the communicators' labels
	sends, receives largest
	received        uint64
}

// of returns the processEnds for a process, or nil if no messages are drawn.
func (m *messages) of(t *profile.Trace) *processEnds {
	if m == nil {
		return nil
	}
	p := &processEnds{picture: m, rank: int32(t.Rank)}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, c := range t.Comms {
		h := fnv.New64a()
		h.Write([]byte(c.Label))
		p.comms = append(p.comms, h.Sum64())
		m.comms[h.Sum64()] = c.Label
	}
	p.sends, p.receives = m.sends.next(m.memory()), m.receives.next(m.memory())
	return p
}

// next returns an empty selection for the next process. Both selections leave out the same
// small ends.
func (l *largest) next(memory []end) largest {
	return largest{most: l.most, ends: memory, cut: l.cut, least: l.least}
}

func (m *messages) memory() []end {
	n := len(m.spare)
	if n == 0 {
		return nil
	}
	memory := m.spare[n-1]
	m.spare = m.spare[:n-1]
	return memory
}

// join adds the ends of a process.
func (m *messages) join(p *processEnds) {
	if m == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, e := range p.sends.ends {
		m.sends.add(e)
	}
	for _, e := range p.receives.ends {
		m.receives.add(e)
	}
	m.received += p.received
	m.spare = append(m.spare, p.sends.ends[:0], p.receives.ends[:0])
}

func (p *processEnds) add(e *profile.Events, kinds []profile.EventKind, s *strip) {
	if p == nil {
		return
	}
	for i, seq := range e.Seq {
		if seq == 0 {
			continue
		}
		kind := &kinds[e.Kind[i]]
		if kind.Class != profile.P2P || kind.Action > profile.Moved || !p.picture.wants(kind.Peer) {
			continue
		}
		end := end{key: key{p.comm(kind.Comm), p.rank, kind.Peer, e.Tag[i], seq}, bytes: e.Bytes[i], at: e.Start[i], line: s.line[s.thread(kind)]}
		switch kind.Direction {
		case profile.Send: // that starts within the picture, or not long before it
			if m := p.picture; m.from-m.margin() <= end.at && end.at <= m.to {
				p.sends.add(end)
			}
		case profile.Recv:
			end.from, end.to = end.to, end.from
			end.at += e.Duration[i]
			p.got(end)
		}
	}
}

func (m *messages) wants(rank int32) bool {
	return rank >= 0 && int(rank) < len(m.wanted) && m.wanted[rank]
}

func (p *processEnds) comm(index int32) uint64 {
	if index < 0 || int(index) >= len(p.comms) {
		return 0
	}
	return p.comms[index]
}

// got adds a receive that ends within the picture, or not long after it.
func (p *processEnds) got(e end) {
	m := p.picture
	if e.at < m.from || e.at > m.to+m.margin() {
		return
	}
	if e.at <= m.to {
		p.received++
	}
	p.receives.add(e)
}

// margin returns how far outside the picture the other end of a message may be,
// in ns.
func (m *messages) margin() int64 { return m.to - m.from }

// joined returns the messages of which both ends are known, the slowest first,
// and the number of messages in the picture. If some ends were left out, that
// number is how many messages were received in the picture.
func (m *messages) joined() (found []drawnMessage, of int) {
	m.sends.shrink()
	m.receives.shrink()
	sends := make(map[key]end, len(m.sends.ends))
	for _, e := range m.sends.ends {
		sends[e.key] = e
	}
	for _, r := range m.receives.ends {
		if s, ok := sends[r.key]; ok && s.at <= m.to && r.at >= m.from {
			found = append(found, drawnMessage{s, r})
		}
	}
	slices.SortFunc(found, func(a, b drawnMessage) int {
		return cmp.Or(cmp.Compare(b.duration(), a.duration()), larger(a.received, b.received))
	})
	of = len(found)
	if m.sends.cut || m.receives.cut {
		of = max(of, int(m.received))
	}
	return found[:min(len(found), m.most)], of
}

// drawnMessage is a message with both ends.
type drawnMessage struct{ sent, received end }

func (m drawnMessage) duration() int64 { return m.received.at - m.sent.at }
