package testenv

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
)

// Allow returns how long something may take that takes no longer than quiet where
// nothing else runs: so many times longer as more processes want to run than there
// are processors, by the average of the last minute or now, and at most 30 times.
func Allow(quiet time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg") // 2.42 5.00 5.19 3/281 12345
	if err != nil {
		return quiet
	}
	return time.Duration(float64(quiet) * busyness(string(text), runtime.NumCPU()))
}

// busyness is that factor, from the text of /proc/loadavg.
func busyness(loadavg string, processors int) float64 {
	var minute, other, running float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(loadavg, "/", " "), "%f %f %f %f", &minute, &other, &other, &running); err != nil {
		return 1
	}
	return min(max(1, math.Max(minute, running)/float64(processors)), 30)
}
