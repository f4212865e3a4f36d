package main

import (
	"strings"
	"testing"
)

// If the limit is enough for Go's runtime to start here, but not everywhere, no
// rank may be started.
func TestAddressSpace(t *testing.T) {
	for limit, want := range map[string]string{"ulimit -v 1500000; ": "limited to 1464 MiB (ulimit -v)", "ulimit -v 4000000; ": ""} {
		got := sh(t, t.TempDir(), limit+"$mpitrace run -o run -- sh -c 'echo started'")
		if started := strings.HasPrefix(got.stdout, "started\n"); started != (want == "") || got.code == exitUsage != (want != "") || !strings.Contains(got.stderr, want) {
			t.Errorf("%sstatus %d, output %q\n%s", limit, got.code, got.stdout, got.stderr)
		}
	}
}
