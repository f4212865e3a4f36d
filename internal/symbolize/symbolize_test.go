package symbolize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A truth is a call site as the program itself prints it.
type truth struct {
	function string
	line     int
	address  uint64
}

// tool runs a command, which must succeed, and returns its output.
func tool(t testing.TB, command ...string) []byte {
	t.Helper()
	testenv.Need(t, command[0])
	cmd := exec.Command(command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, &stderr)
	}
	return out
}

// truths runs a program and returns the call sites that it prints.
func truths(t testing.TB, program string) []truth {
	t.Helper()
	var out []truth
	lines := bufio.NewScanner(bytes.NewReader(tool(t, program)))
	for lines.Scan() {
		var c truth
		if _, err := fmt.Sscanf(lines.Text(), "%s %d %x", &c.function, &c.line, &c.address); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		t.Fatal("the program printed nothing")
	}
	return out
}

// compile compiles testdata/name to a program in dir and returns its path.
func compile(t testing.TB, dir, name string, command ...string) string {
	t.Helper()
	program := filepath.Join(dir, strings.TrimSuffix(name, filepath.Ext(name)))
	tool(t, slices.Concat(command[:1], []string{filepath.Join("testdata", name)}, command[1:], []string{"-o", program, "-ldl"})...)
	return program
}

// look returns the symbols of the calls of a program, which must have its
// current build-id.
func look(t testing.TB, program, debugDir string, calls []truth) (map[uint64]profile.Symbol, error) {
	t.Helper()
	f, err := openFile(program)
	testenv.NoError(t, err)
	defer f.close()
	return lookFor(moduleAddresses{path: program, buildID: f.buildID, ran: time.Now().Add(time.Hour)}, debugDir, calls)
}

func lookFor(m moduleAddresses, debugDir string, calls []truth) (map[uint64]profile.Symbol, error) {
	p := &profile.Profile{Modules: []profile.Module{{Path: m.path, BuildID: m.buildID, End: 1 << 62}}}
	for _, c := range calls {
		p.Rows = append(p.Rows, profile.Row{Callsite: c.address})
	}
	var s Sites
	s.Add(p, p.Start)
	m.addresses = s.wanted(nil)[0].addresses
	symbols, err := m.symbols(debugDir)
	out := map[uint64]profile.Symbol{}
	for place, s := range symbols {
		out[place.Offset] = s
	}
	return out, err
}

// checkLines requires the right function and line for each call.
func checkLines(t *testing.T, source string, calls []truth, got map[uint64]profile.Symbol) {
	t.Helper()
	for _, c := range calls {
		s := got[c.address]
		if s.Function != c.function || s.Line != c.line || filepath.Base(s.Source) != source || s.Into != 0 {
			t.Errorf("%#x: got %+v, want %s %s:%d", c.address, s, c.function, source, c.line)
		}
	}
}

// checkFunctions requires the function that want returns for each call, and no
// lines, as without debug information. There is an offset if a function has several calls.
func checkFunctions(t *testing.T, calls []truth, got map[uint64]profile.Symbol, want func(function string) string) {
	t.Helper()
	addresses := map[string]map[uint64]bool{}
	for _, c := range calls {
		name := want(c.function)
		if addresses[name] == nil {
			addresses[name] = map[uint64]bool{}
		}
		addresses[name][c.address] = true
	}
	for _, c := range calls {
		s, name := got[c.address], want(c.function)
		if s.Function != name || s.Line != 0 || s.Source != "" || name != "" && (s.Into != 0) != (len(addresses[name]) > 1) {
			t.Errorf("%#x: got %+v, want a place in %q", c.address, s, name)
		}
	}
}

// checkNear requires the exported function before each call that has no name: the last one that nm
// lists at a lower address.
func checkNear(t *testing.T, program string, calls []truth, got map[uint64]profile.Symbol) {
	t.Helper()
	type symbol struct {
		start uint64
		name  string
	}
	var exported []symbol
	for line := range strings.Lines(string(tool(t, "nm", "-D", "--defined-only", "--numeric-sort", program))) {
		var one symbol
		var kind string
		if n, _ := fmt.Sscanf(line, "%x %s %s", &one.start, &kind, &one.name); n == 3 && kind == "T" {
			exported = append(exported, one)
		}
	}
	for _, c := range calls {
		s := got[c.address]
		if s.Function != "" {
			continue
		}
		var want symbol
		for _, e := range exported {
			if e.start < c.address {
				want = e
			}
		}
		if s.Near != want.name || s.Near != "" && s.Into != 0 && s.Into != c.address-want.start {
			t.Errorf("%#x: got %+v, want a place after %+v", c.address, s, want)
		}
	}
}

func TestLines(t *testing.T) {
	for name, command := range map[string][]string{
		"PIE":                 {"gcc", "-O2", "-g", "-pie", "-fPIE"},
		"not PIE":             {"gcc", "-O2", "-g", "-no-pie"},
		"DWARF 4":             {"gcc", "-O2", "-gdwarf-4"},
		"DWARF 5":             {"gcc", "-O2", "-gdwarf-5"},
		"compressed":          {"gcc", "-O2", "-g", "-gz"},
		"compressed, old way": {"gcc", "-O2", "-gdwarf-4", "-gz=zlib-gnu"},
		"not optimized":       {"gcc", "-O0", "-g"},
		"functions apart":     {"gcc", "-O2", "-g", "-ffunction-sections"},
		"link time":           {"gcc", "-O2", "-g", "-flto"},
		"clang":               {"clang", "-O2", "-g"},
		"clang, DWARF 5":      {"clang", "-O2", "-gdwarf-5"},
		"no build-id":         {"gcc", "-O2", "-g", "-Wl,--build-id=none"},
	} {
		t.Run(name, func(t *testing.T) {
			if command[0] == "clang" {
				testenv.At(t, testenv.All)
			}
			program := compile(t, t.TempDir(), "marks.c", command...)
			calls := truths(t, program)
			got, err := look(t, program, t.TempDir(), calls)
			if err != nil {
				t.Error(err)
			}
			checkLines(t, "marks.c", calls, got)
		})
	}
}

// The names of inlined functions are in another file, which is not read: .dwo, or that of dwz -m.
// Then the line is right and there is no function, never that of another one.
func TestNamesElsewhere(t *testing.T) {
	for name, command := range map[string][]string{
		"split DWARF 5": {"gcc", "-O2", "-gdwarf-5", "-gsplit-dwarf"},
		"split DWARF 4": {"gcc", "-O2", "-gdwarf-4", "-gsplit-dwarf"},
		"dwz -m":        {"gcc", "-O2", "-g"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := compile(t, dir, "marks.c", command...)
			if name == "dwz -m" {
				testenv.At(t, testenv.All)
				other := compile(t, t.TempDir(), "marks.c", append(command, "-DOTHER")...)
				tool(t, "dwz", "-m", filepath.Join(dir, "common"), program, other)
			}
			calls := truths(t, program)
			got, err := look(t, program, t.TempDir(), calls)
			if err != nil {
				t.Error(err)
			}
			hidden := 0
			for _, c := range calls {
				s := got[c.address]
				if s.Line != c.line || filepath.Base(s.Source) != "marks.c" || s.Function != "" && s.Function != c.function {
					t.Errorf("%#x: got %+v, want %s marks.c:%d", c.address, s, c.function, c.line)
				}
				if s.Function == "" {
					hidden++
				}
			}
			if hidden == 0 {
				t.Error("no function is in another file")
			}
		})
	}
}

func TestSharedLibrary(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "libmarks.so")
	tool(t, "gcc", "-O2", "-g", "-fPIC", "-shared", "-DLIBRARY", "testdata/marks.c", "-o", lib, "-ldl")
	// The library calls its own shown(), because the program's has another
	// name.
	program := compile(t, dir, "marks.c", "gcc", "-O1", "-DCALL_LIBRARY", "-Dshown=other", "-Wl,--no-as-needed", "-L"+dir, "-lmarks", "-Wl,-rpath,"+dir)
	calls := truths(t, program)
	// main's own call comes first, then the library's, then those of other().
	own := calls[1:6]
	got, err := look(t, lib, t.TempDir(), own)
	if err != nil {
		t.Error(err)
	}
	if last := own[len(own)-1]; last.function != "from_library" {
		t.Errorf("the library's last call is from %s", last.function)
	}
	checkLines(t, "marks.c", own, got)
}

func TestScopes(t *testing.T) {
	for name, flag := range map[string]string{"lines": "-g", "symbols": "-g0"} {
		t.Run("C++, "+name, func(t *testing.T) {
			testenv.At(t, testenv.All)
			program := compile(t, t.TempDir(), "scopes.cpp", "clang", "-O1", flag)
			calls := truths(t, program)
			got, err := look(t, program, t.TempDir(), calls)
			if err != nil {
				t.Error(err)
			}
			if flag == "-g" {
				checkLines(t, "scopes.cpp", calls, got)
				return
			}
			checkFunctions(t, calls, got, func(function string) string { return function })
		})
		t.Run("Fortran, "+name, func(t *testing.T) {
			dir := t.TempDir()
			object := filepath.Join(dir, "place.o")
			tool(t, "gcc", "-c", "-O1", "testdata/place.c", "-o", object)
			program := compile(t, dir, "scopes.F90", "gfortran", "-O0", "-cpp", "-J"+dir, flag, object)
			calls := truths(t, program)
			got, err := look(t, program, t.TempDir(), calls)
			if err != nil {
				t.Error(err)
			}
			named := func(main string) []truth {
				out := append([]truth(nil), calls...)
				for i := range out {
					if out[i].function == "MAIN" {
						out[i].function = main
					}
				}
				return out
			}
			if flag == "-g" {
				checkLines(t, "scopes.F90", named("solver"), got)
				return
			}
			checkFunctions(t, named("MAIN__"), got, func(function string) string { return function })
		})
	}
}

// global returns the function found for a call if the symbol table has no
// static functions. Only shown and main are not static.
func global(function string) string {
	switch function {
	case "shown", "main":
		return function
	}
	return ""
}

func TestStripped(t *testing.T) {
	for name, test := range map[string]struct {
		flags, strip []string
		want         func(string) string
	}{
		"debug information": {nil, []string{"--strip-debug"}, func(function string) string {
			if function == "inlined" {
				return "hidden" // the function that it was inlined into
			}
			return function
		}},
		"symbols too":             {[]string{"-rdynamic"}, nil, global},
		"symbols, none are shown": {nil, nil, func(string) string { return "" }},
	} {
		t.Run(name, func(t *testing.T) {
			program := compile(t, t.TempDir(), "marks.c", append([]string{"gcc", "-O2", "-g"}, test.flags...)...)
			calls := truths(t, program)
			tool(t, append(append([]string{"strip"}, test.strip...), program)...)
			got, err := look(t, program, t.TempDir(), calls)
			if stripped := len(test.strip) == 0; errors.Is(err, errStripped) != stripped {
				t.Errorf("stripped: %v; got %v", stripped, err)
			}
			checkFunctions(t, calls, got, test.want)
			checkNear(t, program, calls, got)
		})
	}
}

// split moves the debug information of a program into a file.
func split(t *testing.T, program, debug string) {
	t.Helper()
	testenv.Mkdir(t, filepath.Dir(debug))
	tool(t, "objcopy", "--only-keep-debug", program, debug)
	tool(t, "strip", program)
}

func TestDebugFiles(t *testing.T) {
	const name = "marks.debug"
	for title, where := range map[string]func(dir, root, id string) string{
		"by build-id":          func(_, root, id string) string { return filepath.Join(root, ".build-id", id[:2], id[2:]+".debug") },
		"beside the program":   func(dir, _, _ string) string { return filepath.Join(dir, name) },
		"in .debug":            func(dir, _, _ string) string { return filepath.Join(dir, ".debug", name) },
		"below the debug root": func(dir, root, _ string) string { return filepath.Join(root, dir, name) },
		"in the debug root":    func(_, root, _ string) string { return filepath.Join(root, name) },
	} {
		for _, flag := range []string{"--build-id=sha1", "--build-id=none"} {
			byID := title == "by build-id"
			if byID && flag == "--build-id=none" {
				continue
			}
			t.Run(title+" "+flag, func(t *testing.T) {
				dir, root := t.TempDir(), t.TempDir()
				program := compile(t, dir, "marks.c", "gcc", "-O2", "-g", "-Wl,"+flag)
				calls := truths(t, program)
				f, err := openFile(program)
				testenv.NoError(t, err)
				id := f.buildID
				f.close()
				debug := where(dir, root, id)
				split(t, program, debug)
				if !byID {
					tool(t, "objcopy", "--add-gnu-debuglink="+debug, program)
				}
				got, err := look(t, program, root, calls)
				if err != nil {
					t.Error(err)
				}
				checkLines(t, "marks.c", calls, got)
				// The debug file of another program must be ignored.
				other := compile(t, t.TempDir(), "marks.c", "gcc", "-O0", "-g", "-Wl,"+flag)
				split(t, other, debug)
				got, err = look(t, program, root, calls)
				if !errors.Is(err, errStripped) {
					t.Error(err)
				}
				checkFunctions(t, calls, got, func(string) string { return "" })
			})
		}
	}
}

func TestChangedAndMissing(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	program := compile(t, dir, "marks.c", "gcc", "-O2", "-g")
	calls := truths(t, program)
	f, err := openFile(program)
	testenv.NoError(t, err)
	id := f.buildID
	f.close()
	m := moduleAddresses{path: program, buildID: id}
	check := func(title, want string) {
		t.Helper()
		got, err := lookFor(m, root, calls)
		if err == nil || !strings.Contains(err.Error(), want) || len(got) != 0 {
			t.Errorf("%s: %d names and %v, want none and %q", title, len(got), err, want)
		}
	}
	compile(t, dir, "marks.c", "gcc", "-O0", "-g")
	check("changed", "changed since the run: its build-id is ")
	os.Remove(program)
	check("missing", "no such file")
	testenv.Mkdir(t, program)
	check("a folder", "not a regular file")
	os.Remove(program)
	compile(t, dir, "marks.c", "gcc", "-O2", "-g", "-Wl,--build-id=none")
	check("without a build-id now", "its build-id is none")
	m.buildID = ""
	m.ran = time.Now().Add(-time.Hour)
	check("of later than the run", "may have changed since the run")
	// The debug file is enough if it belongs to the program that ran.
	m.buildID = id
	again := compile(t, t.TempDir(), "marks.c", "gcc", "-O2", "-g", "-Wl,--build-id=0x"+id)
	split(t, again, filepath.Join(root, ".build-id", id[:2], id[2:]+".debug"))
	got, err := lookFor(m, root, calls)
	if err != nil {
		t.Error(err)
	}
	checkLines(t, "marks.c", calls, got)
}

// TestDamage flips bytes of a program and truncates it, everywhere. Reading it
// must return an error or symbols, in memory proportional to the file.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	program := compile(t, dir, "marks.c", "gcc", "-O2", "-gdwarf-5")
	calls := truths(t, program)
	whole := testenv.ReadFile(t, program)
	var m moduleAddresses
	m.path = filepath.Join(dir, "damaged")
	for i := 0; i < len(whole); i += 1 + len(whole)/500 {
		for _, data := range [][]byte{whole[:i], flipped(whole, i)} {
			testenv.WriteFile(t, m.path, data)
			f, err := openFile(m.path)
			if err != nil {
				continue
			}
			m.buildID, m.ran = f.buildID, time.Now().Add(time.Hour)
			f.close()
			if _, err := lookFor(m, dir, calls); err != nil && !strings.Contains(err.Error(), m.path) {
				t.Errorf("byte %d: the error does not name the file: %v", i, err)
			}
		}
	}
}

func flipped(data []byte, i int) []byte {
	out := bytes.Clone(data)
	out[i] ^= 0xff
	return out
}

func TestUnpackLimit(t *testing.T) {
	dir := t.TempDir()
	program := compile(t, dir, "marks.c", "gcc", "-O2", "-g")
	calls := truths(t, program)
	zeros := filepath.Join(dir, "zeros")
	testenv.WriteFile(t, zeros, make([]byte, 32<<20))
	tool(t, "objcopy", "--update-section", ".debug_info="+zeros, program)
	tool(t, "objcopy", "--compress-debug-sections=zlib", program)
	got, err := look(t, program, dir, calls)
	if err == nil || !strings.Contains(err.Error(), "claims to decompress from") || !strings.Contains(err.Error(), program) {
		t.Errorf("got %v, want an error about a section that is too large when decompressed", err)
	}
	if s := got[calls[0].address]; s.Function != "main" || s.Line != 0 {
		t.Errorf("got %+v, want main from the symbol table", s)
	}
}

func TestNames(t *testing.T) {
	for symbol, want := range map[string]string{
		"main": "main", "MAIN__": "MAIN__", "solve_": "solve", "solve.part.0": "solve", "inner.3": "inner",
		"__grid_MOD_exchange": "grid::exchange", "grid_mp_exchange_": "grid::exchange", "_QMgridPexchange": "grid::exchange",
		"_ZN4grid4Halo8exchangeEi": "grid::Halo::exchange", "_ZN4grid6reduceIdEEvT_": "grid::reduce",
		"_ZN4grid4Halo8exchangeEi.cold": "grid::Halo::exchange",
		"__":                            "__", "_Z": "_Z", "": "", ".text": ".text",
	} {
		if got := plainName(symbol); got != want {
			t.Errorf("%q: got %q, want %q", symbol, got, want)
		}
	}
}
