package testenv

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
)

// Allow returns how long something may take on this machine now, given how long
// it takes at most on an idle machine. It multiplies quiet by the number of
// runnable processes per processor, now or on average over the last minute,
// whichever is more; the factor is between 1 and 30.
func Allow(quiet time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg") // for example "2.42 5.00 5.19 3/281 12345"
	if err != nil {
		return quiet
	}
	return time.Duration(float64(quiet) * busyness(string(text), runtime.NumCPU()))
}

// busyness returns the factor of Allow from the text of /proc/loadavg.
func busyness(loadavg string, processors int) float64 {
	var minute, other, running float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(loadavg, "/", " "), "%f %f %f %f", &minute, &other, &other, &running); err != nil {
		return 1
	}
	return min(max(1, math.Max(minute, running)/float64(processors)), 30)
}
