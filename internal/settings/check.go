package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Each function here returns the Check for one kind of value.

func words(all ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		if !slices.Contains(all, value) {
			return "", fmt.Errorf("it can be %s", strings.Join(all, ", "))
		}
		return value, nil
	}
}

// onOff checks the value of a switch. Files and the environment may contain
// many words for on and off.
func onOff(value string) (string, error) {
	switch strings.ToLower(value) {
	case "on", "true", "yes", "1":
		return "on", nil
	case "off", "false", "no", "0":
		return "off", nil
	}
	return "", errors.New("it can be on, off")
}

func integer(least, most int) func(string) (string, error) {
	return func(value string) (string, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return "", fmt.Errorf("give a number from %d to %d", least, most)
		}
		return strconv.Itoa(n), nil
	}
}

// callers checks the depth of a stack: 0, or at least 2, because every call
// site has one level anyway.
func callers(most int) func(string) (string, error) {
	return func(value string) (string, error) {
		if value == "auto" {
			return value, nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n != 0 && n < 2 || n > most {
			return "", fmt.Errorf("give auto, 0 for none, or a number from 2 to %d", most)
		}
		return strconv.Itoa(n), nil
	}
}

// longest is the longest time that the library accepts, in ms.
const longest = 1_000_000_000

// duration checks a time in whole milliseconds, such as 100ms or 2s.
func duration(least time.Duration) func(string) (string, error) {
	return func(value string) (string, error) {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			return "", errors.New("give a time like 100ms or 2s")
		case d%time.Millisecond != 0 || d < least && least > 0:
			return "", errors.New("give whole milliseconds, at least one")
		case d < 0 || d > longest*time.Millisecond:
			return "", fmt.Errorf("give a time up to %ds", longest/1000)
		case d == 0:
			return "0", nil
		case d%time.Second == 0:
			return fmt.Sprintf("%ds", d/time.Second), nil
		}
		return fmt.Sprintf("%dms", d.Milliseconds()), nil
	}
}

// textOf accepts everything that an environment variable can hold. The code
// that uses the value checks what it means.
func textOf(value string) (string, error) {
	if strings.ContainsAny(value, "\x00\n") {
		return "", errors.New("it is one line")
	}
	return value, nil
}

// something accepts any text that is not empty.
func something(value string) (string, error) {
	if value == "" {
		return "", errors.New("it is empty")
	}
	return textOf(value)
}

func assignment(value string) (string, error) {
	name, _, found := strings.Cut(value, "=")
	if !found || strings.TrimSpace(name) == "" {
		return "", errors.New("give NAME=VALUE")
	}
	return textOf(value)
}

// implementations are the names of MPIs. internal/launch finds them.
var implementations = []string{"auto", "openmpi", "mpich", "intelmpi", "mvapich", "mpi-abi"}

func implementation(value string) (string, error) {
	if name := strings.ToLower(value); slices.Contains(implementations, name) {
		return name, nil
	}
	if _, err := os.Stat(value); err != nil && !strings.Contains(value, "/") {
		return "", fmt.Errorf("it can be %s, or a path", strings.Join(implementations, ", "))
	}
	return value, nil
}

// size checks a number of bytes, at least least, such as 64M or 2G.
func size(least uint64) func(string) (string, error) {
	return func(value string) (string, error) {
		digits := strings.TrimRight(value, "KMGTiB")
		prefix := strings.TrimSuffix(strings.TrimSuffix(value[len(digits):], "B"), "i")
		unit := strings.Index("KMGT", prefix)
		n, err := strconv.ParseUint(digits, 10, 32)
		switch {
		case err != nil || unit < 0 || len(prefix) != 1:
			return "", errors.New("give a size like 64M or 2G")
		case n > 1<<40>>(10*(unit+1)):
			return "", errors.New("give 1T at most")
		case n<<(10*(unit+1)) < least:
			return "", fmt.Errorf("give %dM at least", least>>20)
		}
		return fmt.Sprintf("%d%c", n, "KMGT"[unit]), nil
	}
}

func rankList(value string) (string, error) {
	if value == "" { // all ranks
		return value, nil
	}
	_, err := profile.ParseRankSet(value)
	return value, err
}

// eventClasses are the classes of calls that can be traced separately.
var eventClasses = []string{"p2p", "coll", "one-sided", "io", "other"}
