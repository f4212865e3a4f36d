package profile

import (
	"slices"
	"testing"
)

func TestClockLines(t *testing.T) {
	hosts := func(of ...HostClock) *JobClocks {
		return &JobClocks{Hosts: append([]HostClock{{Host: "a", Evidence: ClockReference}}, of...)}
	}
	moved := HostClock{Host: "b", Rank: 1, Evidence: ClockBothWays, ErrorNs: 1234, Correction: ClockCorrection{Offset: -5_000_400}}
	oneWay := func(host string) HostClock { return HostClock{Host: host, Rank: 2, Evidence: ClockOneWay} }
	wrong := hosts(moved)
	wrong.Backwards, wrong.LeftEarly, wrong.WorstNs = 3, 1, 4000
	const still = "clocks of 2 hosts were not moved: no message arrives before it was sent"
	for _, test := range []struct {
		name   string
		clocks *JobClocks
		want   []string
	}{
		{"not moved", hosts(HostClock{Host: "b", Rank: 1, Evidence: ClockBothWays, ErrorNs: 26_396}), []string{still + "; they agree within 26.4µs"}},
		{"answered late", hosts(HostClock{Host: "b", Rank: 1, Evidence: ClockBothWays, ErrorNs: 208_127_320}), []string{still + "; they agree within 208.13ms"}},
		{"one way", hosts(oneWay("b")), []string{still, "how well the clock of b agrees with the others is not known: messages go one way only"}},
		{"moved", hosts(moved, oneWay("c"), oneWay("d"), oneWay("e"), oneWay("f"), oneWay("g")), []string{
			"clocks of 1 of 7 hosts were moved by up to 5ms; they agree within 1.23µs",
			"how well the clock of c, d, e and 2 others agrees with the others is not known: messages go one way only"}},
		{"not connected", hosts(HostClock{Host: "b", Rank: 1, Evidence: ClockReference}), []string{
			"clocks of 2 hosts were not compared: no message or collective connects them"}},
		{"contradicting", wrong, []string{"clocks of 1 of 2 hosts were moved by up to 5ms; they agree within 1.23µs",
			"clocks contradict each other by up to 4µs: messages that arrive before they were sent: 3; hosts that leave a collective before another enters: 1"}},
	} {
		if got := test.clocks.Lines(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
