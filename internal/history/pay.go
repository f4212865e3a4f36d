package history

import "math"

// Which numbers of ranks pay, and how the work is divided among them.

// compareWith sets what a number of ranks gains over the smallest one.
func (p *Point) compareWith(first *Point) {
	if p.WallTimeS == 0 || first.WallTimeS == 0 {
		return
	}
	more := float64(p.Ranks) / float64(first.Ranks)
	p.SpeedUp = first.WallTimeS / p.WallTimeS
	p.Efficiency = p.SpeedUp / more
	p.IdealS = first.WallTimeS / more
}

// Work says how the work on several numbers of ranks was divided.
type Work string

const (
	// Strong: the ranks divide the work.
	Strong Work = "strong"
	// Constant: each rank computes as long on any number of ranks. The work grows with their number
	// (weak scaling), or each rank does all of it.
	Constant Work = "constant"
)

// tellsWork is the largest difference of the exponent of the time per rank outside MPI from -1 (the
// ranks divide the work) or from 0 (each rank computes as long on any number of ranks). The standard
// error of the exponent must be smaller, too. The limit is less than 0.5, half of the way from -1 to 0,
// so that nothing is said of exponents in the middle.
const tellsWork = 0.25

// leastGain is the part of its full share that each added rank must contribute, so that more ranks pay:
// twice the ranks must make the run 1.5 times faster, for a third more core-seconds. If they contribute
// less, most of what is added is lost. The efficiency is not used as the limit, because it depends on
// how many ranks are added at once: twice the ranks with an efficiency of 0.5 gain nothing.
const leastGain = 0.5

// leastCounts is how many different numbers of ranks must have been run before the history says what
// pays: two of them show no trend.
const leastCounts = 3

// judge sets how the work was divided, and which numbers of ranks pay. If ranks shared cores, it
// does not judge the work: a rank that waits for a core computes longer. The wall times are still
// what the user waited for, so that it judges what pays.
func (s *Scaling) judge() {
	if len(s.Points) < leastCounts {
		return
	}
	if !s.SharedCores() && s.OutsideMPI != nil && s.OutsideMPI.Certain() && *s.OutsideMPI.Error < tellsWork {
		switch e := s.OutsideMPI.Exponent; {
		case math.Abs(e+1) <= tellsWork:
			s.Work = Strong
		case math.Abs(e) <= tellsWork:
			s.Work = Constant
		}
	}
	if s.Work != Constant {
		s.LastThatPays = s.lastThatPays()
	}
}

// SharedCores reports whether the ranks of a run shared cores.
func (s *Scaling) SharedCores() bool {
	for i := range s.Points {
		if s.Points[i].SharedCores > 0 {
			return true
		}
	}
	return false
}

// lastThatPays returns the largest number of ranks that pays: each rank that it has more than the
// last number that pays must contribute leastGain of its share. It returns nil if a wall time is not
// known.
func (s *Scaling) lastThatPays() *int {
	last := 0
	for i := range s.Points {
		p, before := &s.Points[i], &s.Points[last]
		if p.SpeedUp == 0 {
			return nil
		}
		if faster, more := p.SpeedUp/before.SpeedUp, float64(p.Ranks)/float64(before.Ranks); faster-1 >= leastGain*(more-1) {
			last = i
		}
	}
	return &last
}
