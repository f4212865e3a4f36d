package symbolize

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// FuzzFile requires that any contents of a program or library can be read
// without a panic, in memory proportional to their size.
func FuzzFile(f *testing.F) {
	dir := f.TempDir()
	source := filepath.Join(dir, "small.c")
	const text = "static int twice(int n) { return n + n; }\nint once(int n) { return twice(n) + 1; }\nint main(void) { return once(3); }\n"
	testenv.WriteFile(f, source, text)
	for _, flags := range [][]string{{"-O2", "-g"}, {"-gdwarf-4"}, {"-g", "-gz"}, {"-s"}} {
		out := filepath.Join(dir, "small")
		tool(f, slices.Concat([]string{"gcc", "-nostdlib", "-shared", "-fPIC", source, "-o", out}, flags)...)
		content, err := os.ReadFile(out)
		testenv.NoError(f, err)
		f.Add(content, uint64(0x1000))
		f.Add(content[:len(content)/2], uint64(0x1010))
	}
	path := filepath.Join(dir, "fuzzed")
	f.Fuzz(func(t *testing.T, content []byte, address uint64) {
		testenv.WriteFile(t, path, content)
		addresses := []uint64{address, address + 0x10, address + 0x20, address + 0x400}
		slices.Sort(addresses)
		used := testenv.Allocated(func() {
			var err error
			var in *elfFile
			if in, err = openFile(path); err == nil {
				defer in.close()
				in.linksTo(path)
				err = in.name(addresses, map[uint64]profile.Symbol{})
			}
			if err != nil && errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		})
		if most := uint64(64<<20 + 64*maxUnpacked*len(content)); used > most { // a header may claim 65535 sections
			t.Errorf("reading %d bytes allocated %d bytes", len(content), used)
		}
	})
}

// FuzzPlainName requires that any symbol can be demangled, and that the result
// has a bounded length.
func FuzzPlainName(f *testing.F) {
	for _, symbol := range []string{"main", "MAIN__", "solve.part.0", "__grid_MOD_exchange", "grid_mp_exchange_", "_QMgridPexchange",
		"_ZN4halo8exchangeIdEEvRSt6vectorIT_SaIS2_EE", "_RNvC6_123foo3bar", "_ZNK3FooIXadL_Z3barvEEE1xEv"} {
		f.Add(symbol)
	}
	f.Fuzz(func(t *testing.T, symbol string) {
		if name := plainName(symbol); len(name) > len(symbol)+1<<maxName {
			t.Errorf("got a name of %d bytes for a symbol of %d bytes", len(name), len(symbol))
		}
	})
}

// A symbol may be as long as its file, and as deeply nested.
func TestDeepName(t *testing.T) {
	for _, nested := range []string{"P", "N", "I", "F", "1x", "St"} {
		if name := plainName("_Z1f" + strings.Repeat(nested, 1<<22)); name == "" {
			t.Errorf("%s: no name", nested)
		}
	}
}
