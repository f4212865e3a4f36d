// Package mpitrace_test checks how the code is kept: formatting, which package
// may import which, and sizes.
package mpitrace_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/calls"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const (
	module           = "github.com/mpitrace/mpitrace"
	maxFunctionLines = 70
	maxFileLines     = 600
)

// A source is a file of the repository, with its path from the root.
type source struct {
	path string
	text []byte
}

func (s source) generated() bool {
	return strings.Contains(filepath.Base(s.path), "_gen.")
}

func (s source) dir() string { return filepath.ToSlash(filepath.Dir(s.path)) }

// sources reads the files with one of the extensions. What `make` builds and
// what git keeps is left out.
func sources(t *testing.T, extensions ...string) []source {
	t.Helper()
	var found []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "lib", "build"}, path) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(extensions, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		found = append(found, source{path, text})
		return err
	})
	testenv.NoError(t, err)
	if len(found) == 0 {
		t.Fatalf("no files with %v", extensions)
	}
	return found
}

func TestFormatting(t *testing.T) {
	for _, s := range sources(t, ".go") {
		want, err := format.Source(s.text)
		if err != nil {
			t.Errorf("%s: %v", s.path, err)
		} else if !bytes.Equal(s.text, want) {
			t.Errorf("%s: not formatted by gofmt", s.path)
		}
	}
}

// mayImport says which packages of ours a folder may import, tests apart: the
// first entry that is the folder or above it holds. A name that ends in /...
// stands for all below.
var mayImport = []struct {
	dir  string
	ours []string
}{
	{"interpose/calls", nil},
	{"interpose/layout", nil},
	{"interpose/gen", []string{"interpose/calls", "interpose/layout", "internal/settings", "profile"}},
	{"interpose/prebuild", []string{"interpose", "interpose/zig"}},
	{"interpose/zig", []string{"interpose", "internal/atomicfile"}},
	{"interpose", []string{"internal/atomicfile", "interpose/layout", "profile"}},
	{"profile", nil},
	{"internal/atomicfile", nil},
	{"internal/commandline", []string{"aggregate/matrix", "interpose/layout", "profile"}},
	{"internal/rundir", []string{"formats/recording", "internal/atomicfile", "internal/text", "profile"}},
	{"internal/source", []string{"aggregate/matrix", "formats/...", "internal/atomicfile", "internal/rundir", "internal/symbolize", "internal/text", "interpose/layout", "profile"}},
	{"internal/collect", []string{"formats/recording", "internal/atomicfile", "internal/rundir", "internal/source", "internal/symbolize", "internal/text", "interpose/layout", "profile"}},
	{"internal/export", []string{"formats/...", "internal/atomicfile", "internal/collect", "internal/rundir", "internal/source", "internal/symbolize", "internal/tasks", "internal/text", "interpose/layout", "profile"}},
	{"formats/matrixfile", []string{"aggregate/matrix", "formats/table", "internal/plot", "internal/text", "profile"}},
	{"formats", []string{"formats/...", "internal/atomicfile", "internal/text", "interpose/layout", "profile"}},
	{"aggregate/matrix", []string{"internal/text", "profile"}},
	{"aggregate", []string{"aggregate/matrix", "internal/text", "profile"}},
	{"internal/settings", []string{"internal/text", "interpose/layout", "profile"}},
	{"internal/tasks", []string{"internal/atomicfile"}},
	{"internal/text", nil},
	{"internal/plot", []string{"internal/text"}},
	{"internal/causes", []string{"internal/text", "profile"}},
	{"internal/trace", []string{"internal/atomicfile", "internal/causes", "internal/text", "profile"}},
	{"internal/findings", []string{"aggregate", "internal/causes", "internal/patterns", "internal/text", "internal/trace", "profile"}},
	{"internal/history", []string{"aggregate", "internal/text", "profile"}},
	{"internal/placement", []string{"aggregate/matrix", "internal/text", "profile"}},
	{"internal/patterns", []string{"aggregate/matrix", "internal/text", "profile"}},
	{"internal/live", []string{"aggregate", "internal/rundir", "internal/source", "internal/views", "profile"}},
	{"internal/views/page", []string{"internal/views", "aggregate", "aggregate/matrix", "internal/atomicfile", "internal/causes", "internal/history", "internal/placement", "internal/plot", "internal/text", "internal/timeline", "internal/trace", "profile"}},
	{"internal/views/terminal", []string{"internal/text", "internal/views"}},
	{"internal/views", []string{"aggregate", "aggregate/matrix", "internal/causes", "internal/findings", "internal/history", "internal/patterns", "internal/placement", "internal/rundir", "internal/text", "internal/trace", "profile"}},
	{"internal/symbolize", []string{"internal/atomicfile", "internal/text", "profile"}},
	{"internal/timeline", []string{"internal/atomicfile", "internal/plot", "internal/text", "profile"}},
	{"internal/mpit", []string{"formats/table", "internal/atomicfile", "internal/text", "interpose"}},
	{"internal/launch", []string{"formats/recording", "internal/atomicfile", "internal/collect", "internal/rundir", "internal/settings", "internal/text", "interpose", "profile"}},
	{"internal", []string{"aggregate/...", "formats/...", "internal/...", "interpose/...", "profile"}},
	{"cmd", []string{"..."}},
	{"bench", []string{"..."}},
	{"tests", []string{"..."}},
	{"examples", []string{"..."}},
	{".", []string{"..."}},
}

func allowed(dir, imported string) bool {
	for _, rule := range mayImport {
		if rule.dir != "." && dir != rule.dir && !strings.HasPrefix(dir, rule.dir+"/") {
			continue
		}
		return slices.ContainsFunc(rule.ours, func(name string) bool {
			above, all := strings.CutSuffix(name, "...")
			return imported == name || all && strings.HasPrefix(imported+"/", above)
		})
	}
	return false
}

func TestImports(t *testing.T) {
	for _, s := range sources(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), s.path, s.text, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, spec := range file.Imports {
			checkImport(t, s, strings.Trim(spec.Path.Value, `"`))
		}
	}
}

func checkImport(t *testing.T, s source, path string) {
	t.Helper()
	test := strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.dir(), "tests/")
	ours, isOurs := strings.CutPrefix(path, module+"/")
	switch {
	case isOurs && !test && !allowed(s.dir(), ours):
		t.Errorf("%s imports %s, which lies the other way", s.path, ours)
	case s.dir() == "profile" && !isOurs && strings.Contains(path, "."):
		t.Errorf("%s imports %s: the data model needs the standard library only", s.path, path)
	case strings.Contains(path, "/arrow/go/") && !strings.HasPrefix(s.dir(), "formats/"):
		t.Errorf("%s imports Arrow outside formats", s.path)
	case path == "C":
		t.Errorf("%s uses cgo", s.path)
	}
}

// opensItself are the files, and folders, whose code opens files by itself, and why.
var opensItself = map[string]string{
	"internal/atomicfile": "it is how all others do it",

	"formats/recording/recordingtest": "writes for tests",
	"internal/rundir/processes.go":    "/proc",
	"internal/collect/watch.go":       "/proc",
	"internal/launch/scheduler.go":    "/proc",
	"internal/launch/job.go":          "the terminal",
	"internal/launch/compiler.go":     "a program that it has just compiled",
	"internal/launch/program.go":      "the user's program",
	"internal/settings/file.go":       "files of settings, which may be a device such as /dev/null",
	"internal/source/stream.go":       "a pipe that the user names",
	"cmd/mpitrace/build.go":           "a library that it has just built",
	"interpose":                       "what runs in the application, and what builds it",

	"tests": "tests and test data",
	"bench": "benchmarks",
}

// TestFilesOfOthers requires that files in run directories are opened by
// internal/atomicfile, since other users may have put pipes and devices there.
func TestFilesOfOthers(t *testing.T) {
	exempt := func(path string) bool {
		for at := path; at != "."; at = filepath.Dir(at) {
			if opensItself[filepath.ToSlash(at)] != "" {
				return true
			}
		}
		return strings.HasSuffix(path, "_test.go")
	}
	for _, s := range sources(t, ".go") {
		if exempt(s.path) {
			continue
		}
		for _, opens := range []string{"os.Open(", "os.OpenFile(", "os.ReadFile(", "syscall.Open("} {
			if bytes.Contains(s.text, []byte(opens)) {
				t.Errorf("%s: %s...): a file that another user may have written is opened by internal/atomicfile", s.path, opens)
			}
		}
	}
}

// TestLocks requires that the library takes its locks by mt_lock, which disables the cancellation of threads and checks
// their order. Those of the request tables are plain (request.c says why).
func TestLocks(t *testing.T) {
	for _, s := range sources(t, ".c", ".h") {
		name := filepath.Base(s.path)
		if strings.HasPrefix(s.dir(), "interpose/src/") && name != "lock.c" && name != "request.c" && bytes.Contains(s.text, []byte("pthread_mutex_lock(")) {
			t.Errorf("%s: pthread_mutex_lock: use mt_lock", s.path)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t, ".go", ".c", ".h") {
		if n := bytes.Count(s.text, []byte("\n")); n > maxFileLines && !s.generated() {
			t.Errorf("%s: %d lines, more than %d", s.path, n, maxFileLines)
		}
	}
	for _, s := range sources(t, ".go") {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, s.path, s.text, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !s.generated() {
				lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
				checkFunction(t, s, f.Name.Name, lines)
			}
		}
	}
	for _, s := range sources(t, ".c", ".h") {
		if !s.generated() {
			eachCFunction(s.text, func(name string, lines int) { checkFunction(t, s, name, lines) })
		}
	}
}

func checkFunction(t *testing.T, s source, name string, lines int) {
	t.Helper()
	if lines > maxFunctionLines {
		t.Errorf("%s: %s has %d lines, more than %d", s.path, name, lines, maxFunctionLines)
	}
}

// eachCFunction finds the function bodies of C that is written as ours is: the
// opening and the closing brace each stand in the first column.
func eachCFunction(text []byte, f func(name string, lines int)) {
	start, last := 0, ""
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "{":
			start = i + 1
		case line == "}" && start > 0:
			f(strings.TrimSpace(last)+" (line "+strconv.Itoa(start)+")", i+1-start+1)
			start = 0
		case start == 0 && line != "":
			last = line
		}
	}
}

func TestNames(t *testing.T) {
	vague := []string{"utils", "util", "helpers", "helper", "common", "misc"}
	for _, s := range sources(t, ".go", ".c", ".h", ".py", ".sh") {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(s.path), "_test.go"), ".")
		if slices.Contains(vague, name) {
			t.Errorf("%s: a file is named by what it holds", s.path)
		}
	}
}

// TestCFolders keeps C apart from Go, as the go command would compile C that
// lies beside Go files.
func TestCFolders(t *testing.T) {
	c := map[string]bool{}
	for _, s := range sources(t, ".c", ".h") {
		c[s.dir()] = true
	}
	for _, s := range sources(t, ".go") {
		if c[s.dir()] {
			t.Errorf("%s: a folder with C in it holds no Go", s.path)
		}
	}
}

// namesCalls are the places that name calls of MPI because they make these calls, or
// look for them in a program. Whatever asks what a call does asks for its traits.
var namesCalls = map[string]string{
	"internal/causes/cause.go":      "Init and Finalize are the ends of a rank's own time",
	"internal/launch/doctor.go":     "the calls of its own trial program",
	"internal/launch/flavour.go":    "PMPI_Init is the sign of an MPI in a library",
	"internal/launch/program.go":    "PMPI_Init is the sign of an MPI in a program",
	"interpose/unrecorded.go":       "PMPI_Init is the sign of an MPI in a program",
	"interpose/src/calls/fortran.c": "passes MPI_Finalize on to a function of its own",
}

// TestNoListsOfCalls checks that the call table is the only place that knows calls by
// their names: code elsewhere asks for traits (profile.TraitsOf, mt_call_x).
func TestNoListsOfCalls(t *testing.T) {
	known := map[string]bool{}
	for i := range calls.Table {
		for _, name := range calls.Table[i].Names() {
			known[name], known["P"+calls.Symbol(name)], known[calls.Symbol(name)] = true, true, true
		}
	}
	for _, s := range sources(t, ".go") {
		if tests := strings.HasSuffix(s.path, "_test.go") || strings.HasSuffix(s.dir(), "test") ||
			strings.HasPrefix(s.path, "tests/") || strings.HasPrefix(s.path, "bench/"); tests || s.generated() || namesCalls[s.path] != "" {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, s.path, s.text, 0)
		testenv.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && known[text] {
					t.Errorf("%s: %s is a call of MPI: ask for a trait of it (interpose/calls/calls.txt)", files.Position(l.Pos()), l.Value)
				}
			}
			return true
		})
	}
	compared := regexp.MustCompile(`(==|!=|case|<|>) *MT_CALL_[A-Z]|MT_CALL_[A-Z_]+ *(==|!=)`)
	for _, s := range sources(t, ".c", ".h") {
		for i, line := range strings.Split(string(s.text), "\n") {
			if strings.HasPrefix(s.path, "interpose/") && !s.generated() && namesCalls[s.path] == "" && compared.MatchString(strings.ReplaceAll(line, "MT_CALL_END", "")) {
				t.Errorf("%s:%d: a call is compared: ask for a trait of it", s.path, i+1)
			}
		}
	}
}
