package text

import "testing"

func TestUnits(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 1536: "1.50 KiB", 10240: "10.0 KiB", 1 << 20: "1.00 MiB",
		1023 << 10: "1.00 MiB", 999 << 10: "999 KiB", 1<<64 - 1: "16.0 EiB", 5 << 30: "5.00 GiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 1<<64 - 1: "18,446,744,073,709,551,615"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	for ns, want := range map[float64]string{
		0: "0 ns", 999: "999 ns", 999.6: "1.00 us", 1234: "1.23 us", 56_789: "56.8 us", 123_456: "123 us",
		999_600: "1.00 ms", 1.5e9: "1.50 s", 86_400e9: "86400 s",
	} {
		if got := Duration(ns, true); got != want {
			t.Errorf("Duration(%v) = %q, want %q", ns, got, want)
		}
	}
}

func TestEstimateText(t *testing.T) {
	for want, c := range map[string][2]float64{
		"0 ns ±1":         {0, 0.5},
		"12 ns ±3":        {12, 3},
		"500 ns ±2":       {500, 1.2},
		"1.50 µs ±0.001":  {1500, 1},
		"12.3 ms ±0.1":    {12.3e6, 100_000},
		"12.3 ms ±0.2":    {12.34e6, 100_001},
		"336 ms ±0.01":    {336e6, 10},
		"336 ms ±0.2":     {336e6, 120_000},
		"1.88 s ±0.0002":  {1.88e9, 110_000},
		"1.24 s ±0.25":    {1.24e9, 0.25e9},
		"99.9 s ±1.0":     {99.9e9, 1e9},
		"5.00 ms ±120.00": {5e6, 120e6},
	} {
		if got := Estimate(c[0], c[1], false); got != want {
			t.Errorf("%g ns, error %g: got %q, want %q", c[0], c[1], got, want)
		}
	}
}

func TestCountOf(t *testing.T) {
	for want, got := range map[string]string{"1 process": CountOf(1, "process"), "2 processes": CountOf(2, "process"),
		"0 messages": CountOf(0, "message"), "1,234 more places": CountOf(1234, "more place")} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNumberText(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 1234567: "1,234,567", -1234567: "-1,234,567", 2.5: "2.50", -0.25: "-0.25",
		1234.5: "1,235", 1e15: "1e+15", 0.00123: "0.00123", 999.7: "1,000"} {
		if got := Number(n); got != want {
			t.Errorf("%v: got %s, want %s", n, got, want)
		}
	}
}
