package interpose

import (
	"bytes"
	"debug/elf"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestDispatchedLibrary checks that the copies of a library beside the
// dispatcher import what the library exports as thread-local data, and that the
// dispatcher defines the same.
func TestDispatchedLibrary(t *testing.T) {
	testenv.At(t, testenv.Quick)
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) {
			library := build(t, cc)
			mpi := librariesOf(t, cc)[0]
			file, err := Dispatcher(t.Context(), BuildOptions{CC: "gcc", CFlags: []string{"-Werror"}}, []DispatchedMPI{{mpi, library}})
			testenv.NoError(t, err)
			want := map[string]uint64{"mt_calling": 16, "mt_fortran_noted": 16, "mt_self": 8, "mt_quick_self": 8,
				"mt_lock_depth": 4, "mt_lock_state_before": 4}
			for _, path := range []string{library, file} {
				if diff := cmp.Diff(want, threadData(t, path, true)); diff != "" {
					t.Errorf("%s defines other thread-local data (-want +got):\n%s", path, diff)
				}
			}
			if HasPrebuilt(BuildOptions{MPI: mpi}) {
				return // is unpacked from this program
			}
			for _, name := range []string{sonameOf(mpi), realPath(t, mpi)} {
				path := filepath.Join(filepath.Dir(file), dispatchedName(name))
				if diff := cmp.Diff(want, threadData(t, path, false)); diff != "" {
					t.Errorf("%s imports other thread-local data (-want +got):\n%s", path, diff)
				}
			}
		})
	}
}

// threadData returns the sizes of the thread-local data that a library defines,
// or imports.
func threadData(t *testing.T, path string, defined bool) map[string]uint64 {
	t.Helper()
	f, symbols := openLibrary(t, path)
	sizes := map[string]uint64{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_TLS && (s.Section != elf.SHN_UNDEF) == defined {
			sizes[s.Name] = s.Size
		}
	}
	has := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_TLS })
	if has != defined {
		t.Errorf("%s has a segment of thread-local data: %t, want %t", path, has, defined)
	}
	return sizes
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	testenv.NoError(t, err)
	return real
}

// TestEntries checks that each function of the dispatcher is one jump, through a
// slot.
func TestEntries(t *testing.T) {
	testenv.At(t, testenv.Quick)
	testenv.Need(t, "gcc")
	if runtime.GOARCH != "amd64" {
		t.Skip("reads instructions of x86-64")
	}
	build(t, compilers[0]) // sets the cache
	file, err := Dispatcher(t.Context(), BuildOptions{CC: "gcc", CFlags: []string{"-Werror"}}, nil)
	testenv.NoError(t, err)
	f, symbols := openLibrary(t, file)
	entries := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || !hasPrefix(strings.ToLower(s.Name), "mpi_", "pmpi_") {
			continue
		}
		entries++
		code := make([]byte, 2)
		section := f.Sections[s.Section]
		if _, err := section.ReadAt(code, int64(s.Value-section.Addr)); err != nil || !bytes.Equal(code, []byte{0xff, 0x25}) { // jmp *slot(%rip)
			t.Errorf("%s begins with % x, %v", s.Name, code, err)
		}
	}
	if entries < 3000 {
		t.Errorf("%d entries, want at least 3000", entries)
	}
}

// TestDispatcherSonames checks that the dispatcher knows the sonames of all
// families.
func TestDispatcherSonames(t *testing.T) {
	text := sourceOf(t, "src/dispatch/dispatch.c")
	for _, f := range Families {
		for _, soname := range f.Sonames {
			if !strings.Contains(string(text), `"`+soname+`"`) {
				t.Errorf("dispatch.c does not know %s of %s", soname, f.Name)
			}
		}
	}
}
