package profile

import (
	"math"
	"slices"
)

var pvarBindingNames = [NumPvarBindings]string{"none", "communicator", "window"}

// String returns the name of the kind of object in files.
func (b PvarBinding) String() string {
	if b < NumPvarBindings {
		return pvarBindingNames[b]
	}
	return "unknown"
}

// ParsePvarBinding is the inverse of PvarBinding.String.
func ParsePvarBinding(s string) (PvarBinding, bool) {
	i := slices.Index(pvarBindingNames[:], s)
	return PvarBinding(max(i, 0)), i >= 0
}

// ParsePvarClass is the inverse of PvarClass.String.
func ParsePvarClass(s string) (PvarClass, bool) {
	i := slices.Index(pvarClassNames[:], s)
	return PvarClass(max(i, 0)), i > 0
}

var momentNames = [NumMoments]string{"unknown", "init", "slice", "interval", "finalize", "free", "bind"}

// String returns the name of the moment in files.
func (m Moment) String() string {
	if m < NumMoments {
		return momentNames[m]
	}
	return "unknown"
}

// ParseMoment is the inverse of Moment.String.
func ParseMoment(s string) (Moment, bool) {
	i := slices.Index(momentNames[:], s)
	return Moment(max(i, 0)), i > 0
}

// Finite returns a value as a floating-point number, and false if it is
// infinite or NaN.
func (t PvarType) Finite(value uint64) (float64, bool) {
	v := t.Number(value)
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Increase returns to - from. Integers are subtracted before they are converted
// to floating point, so the result is exact even if both are large.
func (t PvarType) Increase(from, to uint64) float64 {
	switch {
	case t == PvarDouble:
		return t.Number(to) - t.Number(from)
	case t == PvarSigned && int64(to) < int64(from), t != PvarSigned && to < from:
		return -float64(from - to)
	}
	return float64(to - from)
}

// Text returns the values of a PvarText as a string: the characters up to the
// first NUL.
func (r *Reading) Text() string {
	out := make([]byte, 0, len(r.Values))
	for _, c := range r.Values {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}
