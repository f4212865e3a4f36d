package profile

import (
	"math"
)

var pvarBindingNames = [NumPvarBindings]string{"none", "communicator", "window"}

// String returns the name of the kind of object in files.
func (b PvarBinding) String() string { return nameOf(pvarBindingNames[:], b) }

// ParsePvarBinding is the inverse of PvarBinding.String.
func ParsePvarBinding(s string) (PvarBinding, bool) {
	return valueOf[PvarBinding](pvarBindingNames[:], s)
}

// ParsePvarClass is the inverse of PvarClass.String.
func ParsePvarClass(s string) (PvarClass, bool) {
	c, ok := valueOf[PvarClass](pvarClassNames[:], s)
	return c, ok && c > 0
}

var momentNames = [NumMoments]string{"unknown", "init", "slice", "interval", "finalize", "free", "bind"}

// String returns the name of the moment in files.
func (m Moment) String() string { return nameOf(momentNames[:], m) }

// ParseMoment is the inverse of Moment.String.
func ParseMoment(s string) (Moment, bool) {
	m, ok := valueOf[Moment](momentNames[:], s)
	return m, ok && m > 0
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
