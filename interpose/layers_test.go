package interpose

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// folders are the layers of src, the lowest first. A layer includes and calls
// only itself and those before it. A higher layer that a lower one has to reach
// registers a function with it: see src/base/hook.h.
var folders = []string{"bind", "base", "file", "record", "objects", "calls", "mpit", "lifecycle", "gen", "dispatch"}

// upward lists the references to higher layers that are allowed. Entries can be
// removed, never added.
var upward = []string{}

// unit is a source file of the library: what it includes, and what its object
// file defines and needs.
type unit struct {
	path             string // base/clock.c
	includes         []string
	defines, needs   []string
	variables        []string // of those defined, the ones that can be written, except for thread-local ones
	hooks, registers []string // hooks that it calls, and those that it registers a function with
}

func layerOf(path string) int {
	folder, _, _ := strings.Cut(path, "/")
	return slices.Index(folders, folder)
}

// reference is a use of one file by another.
type reference struct {
	from, to string
	symbol   string // empty for an include
}

func (r reference) String() string {
	if r.symbol == "" {
		return r.from + " includes " + r.to
	}
	return r.from + " uses " + r.symbol + " of " + r.to
}

// references returns the uses of each file by others: its includes, and the
// symbols that its object needs.
func references(units []unit) (all []reference) {
	definedIn := map[string]string{}
	for _, u := range units {
		for _, symbol := range u.defines {
			definedIn[symbol] = u.path
		}
	}
	for _, u := range units {
		for _, file := range u.includes {
			all = append(all, reference{u.path, file, ""})
		}
		for _, symbol := range u.needs {
			if file := definedIn[symbol]; file != "" && file != u.path {
				all = append(all, reference{u.path, file, symbol})
			}
		}
	}
	return all
}

// checkLayers returns what is wrong with the references between the files of
// the library: references to a higher layer, except for those in allowed;
// entries of allowed that do not exist; cycles; and hooks without a function,
// or with one in a lower layer than where they are called.
func checkLayers(units []unit, allowed []string) (wrong []string) {
	all := references(units)
	found := map[string]bool{}
	for _, r := range all {
		if layerOf(r.to) <= layerOf(r.from) {
			continue
		}
		found[r.String()] = true
		if !slices.Contains(allowed, r.String()) {
			wrong = append(wrong, r.String()+", which is in a higher layer")
		}
	}
	for _, entry := range allowed {
		if !found[entry] {
			wrong = append(wrong, "remove from the list: "+entry)
		}
	}
	return slices.Concat(wrong, checkCycles(all), checkHooks(units))
}

// checkCycles returns the cycles of files that call each other, and of headers
// that include each other.
func checkCycles(all []reference) (wrong []string) {
	uses := map[string][]string{}
	for _, r := range all {
		if layerOf(r.to) == layerOf(r.from) {
			uses[r.from] = append(uses[r.from], r.to)
		}
	}
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(file string, way []string)
	visit = func(file string, way []string) {
		way = append(way, file)
		switch state[file] {
		case visiting:
			wrong = append(wrong, "cycle: "+strings.Join(way[slices.Index(way, file):], " -> "))
		case 0:
			state[file] = visiting
			for _, next := range uses[file] {
				visit(next, way)
			}
			state[file] = done
		}
	}
	files := []string{}
	for file := range uses {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		visit(file, nil)
	}
	return wrong
}

func checkHooks(units []unit) (wrong []string) {
	registered := map[string][]string{}
	for _, u := range units {
		for _, hook := range u.registers {
			registered[hook] = append(registered[hook], u.path)
		}
	}
	for _, u := range units {
		for _, hook := range u.hooks {
			if len(registered[hook]) == 0 {
				wrong = append(wrong, fmt.Sprintf("%s calls the hook %s, with which nobody registers", u.path, hook))
			}
			for _, file := range registered[hook] {
				if layerOf(file) < layerOf(u.path) {
					wrong = append(wrong, fmt.Sprintf("%s calls the hook %s of %s, which is in a lower layer", u.path, hook, file))
				}
			}
		}
	}
	return wrong
}

func TestLayers(t *testing.T) {
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) {
			testenv.At(t, testenv.Quick)
			testenv.Need(t, cc)
			units := append(headers(t), compiled(t, cc)...)
			for _, wrong := range slices.Concat(checkLayers(units, upward), checkState(units)) {
				t.Error(wrong)
			}
			if !slices.ContainsFunc(units, func(u unit) bool { return slices.Contains(u.variables, "mt_process") }) {
				t.Error("the variables of the objects were not read: mt_process is missing")
			}
		})
	}
}

var includePattern = regexp.MustCompile(`(?m)^#include "(.+)"`)

// includesOf returns the files of the library that a source includes.
func includesOf(t *testing.T, file string) (files []string) {
	t.Helper()
	text := sourceOf(t, path.Join("src", file))
	for _, m := range includePattern.FindAllSubmatch(text, -1) {
		if included := string(m[1]); included != "have.h" {
			if layerOf(included) < 0 {
				t.Errorf("%s includes %q: give the folder of its layer", file, included)
			}
			files = append(files, included)
		}
	}
	return files
}

// headers returns the headers of the library.
func headers(t *testing.T) (units []unit) {
	t.Helper()
	err := fs.WalkDir(sources, "src", func(file string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".h") {
			file = strings.TrimPrefix(file, "src/")
			units = append(units, unit{path: file, includes: includesOf(t, file)})
		}
		return err
	})
	testenv.NoError(t, err)
	return units
}

// compiled compiles the library, and returns its source files.
func compiled(t *testing.T, cc string) (units []unit) {
	t.Helper()
	work := t.TempDir()
	o := BuildOptions{CC: cc}
	names, err := library.unpack(work)
	if err == nil {
		err = o.writeHave(context.Background(), work)
	}
	testenv.NoError(t, err)
	objects, err := library.compileUnits(context.Background(), o, work, names)
	testenv.NoError(t, err)
	for i, name := range names {
		file, err := filepath.Rel(work, name)
		testenv.NoError(t, err)
		u := unit{path: filepath.ToSlash(file)}
		u.includes = includesOf(t, u.path)
		testenv.NoError(t, u.readObject(objects[i]))
		units = append(units, u)
	}
	return units
}

// readObject reads the symbols of an object file. A hook is a section in which
// functions are registered, and by whose start it is called.
func (u *unit) readObject(object string) error {
	f, err := elf.Open(object)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, s := range f.Sections {
		if hook, is := strings.CutPrefix(s.Name, "mt_hook_"); is {
			u.registers = append(u.registers, hook)
		}
	}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil
	}
	for _, s := range symbols {
		hook, isHook := strings.CutPrefix(s.Name, "__start_mt_hook_")
		switch {
		case s.Section == elf.SHN_UNDEF && isHook:
			u.hooks = append(u.hooks, hook)
		case s.Section == elf.SHN_UNDEF:
			u.needs = append(u.needs, s.Name)
		case elf.ST_BIND(s.Info) != elf.STB_LOCAL:
			u.defines = append(u.defines, s.Name)
			if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && isWritable(f, s) {
				u.variables = append(u.variables, s.Name)
			}
		}
	}
	return err
}

func isWritable(f *elf.File, s elf.Symbol) bool {
	return s.Section == elf.SHN_COMMON || int(s.Section) < len(f.Sections) && f.Sections[s.Section].Flags&elf.SHF_WRITE != 0 &&
		!strings.HasPrefix(f.Sections[s.Section].Name, ".data.rel.ro")
}

// jumpTables are variables that hold what was looked up in the MPI, by name.
var jumpTables = []string{"mt_const", "mt_mpi", "mt_pmpi", "mt_thunk_targets"}

// states is the state of each layer that has one.
var states = map[string]string{
	"base": "mt_process", "record": "mt_record", "objects": "mt_objects", "calls": "mt_calls", "mpit": "mt_mpit", "lifecycle": "mt_lifecycle",
}

// checkState returns the variables that are visible to several files, and are
// neither the state of their layer nor a jump table.
func checkState(units []unit) (wrong []string) {
	for _, u := range units {
		for _, name := range u.variables {
			layer, _, _ := strings.Cut(u.path, "/")
			if name != states[layer] && !slices.Contains(jumpTables, name) {
				wrong = append(wrong, fmt.Sprintf("%s defines %s: it belongs into the state of the layer, or static in its file", u.path, name))
			}
		}
	}
	return wrong
}

// TestWhoSeesMPI checks that what lies below objects/ sees nothing of mpi.h,
// except for base/, which looks up the MPI's functions; and that whatever is
// compiled by what the MPI has (MT_HAVE_x) sees it.
func TestWhoSeesMPI(t *testing.T) {
	includes := map[string][]string{}
	depends := map[string]bool{}
	err := fs.WalkDir(sources, "src", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := sources.ReadFile(file)
		file = strings.TrimPrefix(file, "src/")
		includes[file] = includesOf(t, file)
		depends[file] = bytes.Contains(text, []byte("#if MT_HAVE_")) || bytes.Contains(text, []byte("def OPEN_MPI"))
		return err
	})
	testenv.NoError(t, err)
	var sees func(file string, way []string) []string
	sees = func(file string, way []string) []string {
		way = append(way, file)
		if file == "base/mpi_include.h" {
			return way
		}
		for _, next := range includes[file] {
			if found := sees(next, way); found != nil {
				return found
			}
		}
		return nil
	}
	for file := range includes {
		found := sees(file, nil)
		if found != nil && hasPrefix(file, "bind/", "file/", "record/") {
			t.Errorf("%s sees mpi.h: %s", file, strings.Join(found, " -> "))
		}
		if found == nil && depends[file] {
			t.Errorf("%s is compiled by what the MPI has, and does not include base/mpi_include.h", file)
		}
	}
}

// TestCheckLayers tests the check itself on references that are made up.
func TestCheckLayers(t *testing.T) {
	clock := unit{path: "base/clock.c", defines: []string{"mt_ticks"}}
	comm := unit{path: "objects/comm.c", includes: []string{"objects/comm.h"}, defines: []string{"mt_comm_created"}, needs: []string{"mt_ticks", "malloc"}}
	for _, c := range []struct {
		name    string
		units   []unit
		allowed []string
		want    string
	}{
		{"downward", []unit{clock, comm}, nil, ""},
		{"a call", []unit{comm, {path: "base/log.c", needs: []string{"mt_comm_created"}}}, nil,
			"base/log.c uses mt_comm_created of objects/comm.c, which is in a higher layer"},
		{"an include", []unit{{path: "file/map.h", includes: []string{"record/row.h"}}}, nil,
			"file/map.h includes record/row.h, which is in a higher layer"},
		{"an allowed call", []unit{comm, {path: "base/log.c", needs: []string{"mt_comm_created"}}},
			[]string{"base/log.c uses mt_comm_created of objects/comm.c"}, ""},
		{"an allowed call that is gone", []unit{clock, comm}, []string{"base/log.c uses mt_comm_created of objects/comm.c"},
			"remove from the list: base/log.c uses mt_comm_created of objects/comm.c"},
		{"a cycle of calls", []unit{
			{path: "base/log.c", defines: []string{"mt_log"}, needs: []string{"mt_lock"}},
			{path: "base/lock.c", defines: []string{"mt_lock"}, needs: []string{"mt_state"}},
			{path: "base/state.c", defines: []string{"mt_state"}, needs: []string{"mt_log"}}}, nil,
			"cycle: base/lock.c -> base/state.c -> base/log.c -> base/lock.c"},
		{"a cycle of headers", []unit{{path: "base/a.h", includes: []string{"base/b.h"}}, {path: "base/b.h", includes: []string{"base/a.h"}}}, nil,
			"cycle: base/a.h -> base/b.h -> base/a.h"},
		{"a hook", []unit{{path: "base/log.c", hooks: []string{"said"}}, {path: "file/map.c", registers: []string{"said"}}}, nil, ""},
		{"a hook of nobody", []unit{{path: "base/log.c", hooks: []string{"said"}}}, nil,
			"base/log.c calls the hook said, with which nobody registers"},
		{"a hook of a lower layer", []unit{{path: "file/map.c", hooks: []string{"said"}}, {path: "base/log.c", registers: []string{"said"}}}, nil,
			"file/map.c calls the hook said of base/log.c, which is in a lower layer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(checkLayers(c.units, c.allowed), "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
