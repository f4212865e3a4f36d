package views_test

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestBalanceOfPrograms checks that the balance of a program is shown only if it has several ranks.
func TestBalanceOfPrograms(t *testing.T) {
	const ms = time.Millisecond
	job := synthetic(synth.Coupled(
		synth.Model{Name: "ocean", Useful: []time.Duration{300 * ms, 150 * ms, 150 * ms}},
		synth.Model{Name: "atmos", Build: "abcd", Useful: []time.Duration{900 * ms}}))
	var b bytes.Buffer
	testenv.NoError(t, terminal.Write(&b, views.Of(job, views.Options{}), terminal.Options{}))
	for _, line := range []string{`ocean +0-2 +20\.0 % +66\.7 % +30\.0 %`, `atmos +3 +90\.0 % +– +90\.0 %`} {
		if !regexp.MustCompile(`(?m)^` + line).MatchString(b.String()) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
}
