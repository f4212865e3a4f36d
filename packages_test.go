package mpitrace_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Limits of how the packages of ours depend on each other, tests apart.
const (
	maxCommandPackages = 42 // that the commands link together
	maxProfile2mat     = 20 // that profile2mat links: it has no launcher
	maxImportChain     = 8  // packages, the command included
)

// linked returns the packages of ours that the commands link, with the packages of
// ours that each imports. Paths are from the root of the repository.
func linked(t *testing.T, commands ...string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Imports"}, commands...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := map[string][]string{}
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			return imports
		}
		if err != nil {
			t.Fatal(err)
		}
		name, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		imports[name] = []string{}
		for _, i := range p.Imports {
			if i, ours := strings.CutPrefix(i, module+"/"); ours {
				imports[name] = append(imports[name], i)
			}
		}
	}
}

func TestLinkedPackages(t *testing.T) {
	both := linked(t, "./cmd/mpitrace", "./cmd/profile2mat")
	if len(both) > maxCommandPackages {
		t.Errorf("the commands link %d packages of ours, more than %d", len(both), maxCommandPackages)
	}
	if n := len(linked(t, "./cmd/profile2mat")); n > maxProfile2mat {
		t.Errorf("profile2mat links %d packages of ours, more than %d", n, maxProfile2mat)
	}
	chains := map[string][]string{}
	for name := range both {
		if chain := longestChain(both, chains, name); len(chain) > maxImportChain {
			t.Errorf("%d packages import each other in a row, more than %d: %s", len(chain), maxImportChain, strings.Join(chain, " -> "))
		}
	}
}

// longestChain returns the longest chain of imports that begins with a package.
func longestChain(imports, known map[string][]string, name string) []string {
	if chain := known[name]; chain != nil {
		return chain
	}
	var longest []string
	for _, i := range imports[name] {
		if chain := longestChain(imports, known, i); len(chain) > len(longest) {
			longest = chain
		}
	}
	known[name] = append([]string{name}, longest...)
	return known[name]
}

// ownWriters are the files and folders that write files without
// internal/atomicfile, and why.
var ownWriters = map[string]string{
	"internal/atomicfile":             "all others write files with it",
	"interpose/product.go":            "a compiler writes the library, in a directory of its own, which is renamed",
	"interpose/zig":                   "input of a compiler, in a directory of its own",
	"interpose/interpose.go":          "input of a compiler, in a directory of its own",
	"internal/launch/compiler.go":     "input of a compiler, in a directory of its own",
	"interpose/gen":                   "files of this repository, which git keeps",
	"formats/recording/recordingtest": "test data; it has holes",
	"tests":                           "test data",
	"bench":                           "benchmarks",
}

var fileWriter = regexp.MustCompile(`\bos\.(Rename|Create|CreateTemp|WriteFile)\(|\bO_(CREATE|EXCL)\b`)

// TestOneFileWriter requires that files are written by internal/atomicfile.
func TestOneFileWriter(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t, ".go") {
		call := fileWriter.Find(s.text)
		if strings.HasSuffix(s.path, "_test.go") || call == nil {
			continue
		}
		exempt := false
		for at := s.path; at != "."; at = path.Dir(at) {
			if ownWriters[at] != "" {
				exempt, needed[at] = true, true
			}
		}
		if !exempt {
			t.Errorf("%s: %s: write files with internal/atomicfile", s.path, call)
		}
	}
	for at := range ownWriters {
		if !needed[at] {
			t.Errorf("%s writes no files: remove the exception", at)
		}
	}
}
