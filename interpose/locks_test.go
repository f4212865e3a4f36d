package interpose

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestLockOrder checks that a library that is built to check its locks aborts
// where a thread takes one of a lower or equal rank than one that it holds.
func TestLockOrder(t *testing.T) {
	testenv.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "lock_order")
	out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DMT_CHECK_LOCKS", "-Isrc", "-o", program,
		filepath.Join("..", "tests", "programs", "lock_order.c"), filepath.Join("src", "base", "lock.c"),
		filepath.Join("src", "base", "thread_local.c"), "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ first, second, want string }{
		{"SLICE", "COMM", "ok"},
		{"COMM", "SLICE", "mpitrace: lock SLICE (rank 6) is taken while COMM (rank 7) is held"},
		{"TYPES", "WORLD", "mpitrace: lock WORLD (rank 10) is taken while TYPES (rank 10) is held"},
		{"FILE", "FILE", "mpitrace: lock FILE (rank 13) is taken while FILE (rank 13) is held"},
		{"COMM", "LINKER", "mpitrace: lock LINKER (rank 3) is taken while COMM (rank 7) is held"},
	} {
		t.Run(c.first+" "+c.second, func(t *testing.T) {
			out, err := exec.Command(program, c.first, c.second).CombinedOutput()
			if got := strings.TrimSpace(string(out)); got != c.want || (err == nil) != (c.want == "ok") {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

var lockPattern = regexp.MustCompile(`MT_LOCK_([A-Z_]+)`)

// TestLocksAreUsed checks that each lock of the table is taken somewhere.
func TestLocksAreUsed(t *testing.T) {
	table := sourceOf(t, "src/base/lock.h")
	var all bytes.Buffer
	for _, name := range sourcesOf(t, ".c") {
		text := sourceOf(t, name)
		all.Write(text)
	}
	used := map[string]bool{}
	for _, m := range lockPattern.FindAllStringSubmatch(all.String(), -1) {
		used[m[1]] = true
	}
	rows := regexp.MustCompile(`(?m)^    X\(([A-Z_]+), \d+, "`).FindAllStringSubmatch(string(table), -1)
	for _, m := range rows {
		if !used[m[1]] {
			t.Errorf("nobody takes the lock %s", m[1])
		}
	}
	if len(rows) < 20 {
		t.Errorf("%d locks in the table", len(rows))
	}
}

// sourcesOf returns the library's files with this ending.
func sourcesOf(t *testing.T, ending string) (files []string) {
	t.Helper()
	all, err := library.sources()
	testenv.NoError(t, err)
	for _, f := range all {
		if strings.HasSuffix(f.name, ending) {
			files = append(files, f.name)
		}
	}
	return files
}
