package testenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal reports a failure that lists the differences unless two values are
// equal.
func Equal[V any](t testing.TB, want, got V, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
