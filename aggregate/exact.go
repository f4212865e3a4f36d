package aggregate

import (
	"math"
	"math/big"
)

// exactSum adds up doubles without rounding: sums of doubles that are rounded on
// the way depend on the order in which processes come.
type exactSum struct{ f *big.Float }

// exactBits hold any sum of 2^64 doubles: from the lowest bit of the smallest to
// the highest of the largest there are 2098.
const exactBits = 2098 + 64

func (s *exactSum) add(v float64) { s.plus(new(big.Float).SetFloat64(v)) }

func (s *exactSum) merge(o *exactSum) {
	if o.f != nil {
		s.plus(o.f)
	}
}

func (s *exactSum) plus(f *big.Float) {
	if s.f == nil {
		s.f = new(big.Float).SetPrec(exactBits)
	}
	s.f.Add(s.f, f)
}

// value is the sum, rounded once.
func (s *exactSum) value() float64 {
	if s.f == nil {
		return 0
	}
	v, _ := s.f.Float64()
	return finite(v)
}

// finite is the largest double for what is beyond it, as JSON has no infinity.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }
