package mpitrace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A linkedPackage is a type-checked package of ours that the commands link.
type linkedPackage struct {
	path  string // from the root of the repository
	files []*ast.File
	fset  *token.FileSet
	types *types.Package
	info  *types.Info
}

// linkedPackages returns the packages of ours that the commands link.
func linkedPackages(t *testing.T) []*linkedPackage {
	t.Helper()
	all, err := checkPackages()
	testenv.NoError(t, err)
	return all
}

// checkPackages type-checks them. What they import is read from the export data that
// `go list -export` builds.
var checkPackages = sync.OnceValues(func() (all []*linkedPackage, err error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./cmd/mpitrace", "./cmd/profile2mat").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	fset := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := in.Decode(&listed); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
		path, ours := strings.CutPrefix(listed.ImportPath, module+"/")
		if !ours {
			continue
		}
		p := &linkedPackage{path: path, fset: fset, info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range listed.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(listed.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, file)
		}
		if p.types, err = config.Check(listed.ImportPath, fset, p.files, p.info); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// file returns the name of the file of the package that a position is in.
func (p *linkedPackage) file(at token.Pos) string { return filepath.Base(p.fset.Position(at).Filename) }

// declared returns what files that are not generated declare in the package: constants, variables, types,
// functions and methods.
func (p *linkedPackage) declared() (all []types.Object) {
	for _, object := range p.info.Defs {
		if object == nil || strings.Contains(p.file(object.Pos()), "_gen.") {
			continue
		}
		f, isFunction := object.(*types.Func)
		if object.Parent() == p.types.Scope() || isFunction && f.Signature().Recv() != nil && f.Name() != "_" {
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b types.Object) int { return int(a.Pos() - b.Pos()) })
	return all
}

// TestExportedNames limits what a package shows to others: the exported names of its constants, variables,
// types, functions and methods. Names in generated files do not count.
func TestExportedNames(t *testing.T) {
	limits := map[string]int{
		"aggregate":          206,
		"aggregate/matrix":   90,
		"formats/table":      140,
		"internal/launch":    95,
		"internal/placement": 70,
		"internal/rundir":    125,
		"internal/source":    66,
		"internal/text":      65,
		"internal/views":     65,
		"interpose/layout":   200,
		"profile":            346,
	}
	for _, p := range linkedPackages(t) {
		n := 0
		for _, object := range p.declared() {
			if object.Exported() {
				n++
			}
		}
		if limit := limitOf(limits, p.path, 60); n > limit {
			t.Errorf("%s has %d exported names, more than %d", p.path, n, limit)
		}
	}
}

func limitOf(limits map[string]int, path string, otherwise int) int {
	if limit, ok := limits[path]; ok {
		return limit
	}
	return otherwise
}

// TestReferencesUp limits the references inside a package that point back up. A reference is a pair of files,
// the first of which uses a name that the second declares. If the files stand in an order in which each uses what
// stands below it, no reference points up. fewestUp looks for the order with the fewest that do.
func TestReferencesUp(t *testing.T) {
	limits := map[string]int{
		"aggregate":         37,
		"cmd/mpitrace":      27,
		"formats/recording": 16,
		"internal/findings": 9,
		"internal/trace":    55,
		"internal/views":    9,
		"interpose":         10,
	}
	const otherwise = 8
	ofRuns, runs := []string{"internal/rundir", "internal/collect", "internal/source", "internal/export"}, 0
	for _, p := range linkedPackages(t) {
		up := fewestUp(p.references())
		if limit := limitOf(limits, p.path, otherwise); len(up) > limit {
			t.Errorf("%s: %d references point back up, more than %d: %s", p.path, len(up), limit, strings.Join(up, ", "))
		}
		if slices.Contains(ofRuns, p.path) {
			runs += len(up)
		}
	}
	if runs > otherwise {
		t.Errorf("%s: together %d references point back up, more than %d", strings.Join(ofRuns, ", "), runs, otherwise)
	}
}

// references returns for each file of the package the other files whose names it uses.
func (p *linkedPackage) references() map[string]map[string]bool {
	uses := map[string]map[string]bool{}
	for _, file := range p.files {
		uses[p.file(file.Pos())] = map[string]bool{}
	}
	for name, object := range p.info.Uses {
		if from := p.file(name.Pos()); object.Pkg() == p.types && p.file(object.Pos()) != from {
			uses[from][p.file(object.Pos())] = true
		}
	}
	return uses
}

// fewestUp returns the references that point up in the best order of files that moving one file at a time, from
// the order of the alphabet, leads to.
func fewestUp(uses map[string]map[string]bool) (up []string) {
	order := slices.Sorted(maps.Keys(uses))
	// gain is how many references fewer point up if below moves from under above to over it.
	gain := func(above, below string) (n int) {
		if uses[below][above] {
			n++
		}
		if uses[above][below] {
			n--
		}
		return n
	}
	for moved := true; moved; {
		moved = false
		for i, file := range order {
			best, to, sum := 0, i, 0
			for j := i - 1; j >= 0; j-- {
				if sum += gain(order[j], file); sum > best {
					best, to = sum, j
				}
			}
			sum = 0
			for j := i + 1; j < len(order); j++ {
				if sum += gain(file, order[j]); sum > best {
					best, to = sum, j
				}
			}
			if best > 0 {
				order = slices.Insert(slices.Delete(order, i, i+1), to, file)
				moved = true
			}
		}
	}
	for i, file := range order {
		for _, above := range order[:i] {
			if uses[file][above] {
				up = append(up, file+" -> "+above)
			}
		}
	}
	return up
}

// doors are the functions outside formats that open profiles by their paths: one.
var doors = []string{"internal/source.Open"}

// callReaders are the packages outside formats that call those functions of formats that open profiles, and why.
var callReaders = map[string]string{
	"internal/source":  "the door",
	"internal/collect": "a recording is read before it is packed",
	"internal/launch":  "mpitrace doctor reads the recording of its trial program",
}

// TestDoors requires that profiles are opened by few functions. A function opens profiles if it is exported, has a path
// (a string, or several) among its parameters or as its receiver, is given no profiles, and returns something that leads to profiles.
func TestDoors(t *testing.T) {
	all := linkedPackages(t)
	leads, readers := leadsTo{}, map[string]bool{}
	var found []string
	for _, p := range all {
		for _, object := range p.declared() {
			if f, ok := object.(*types.Func); !ok || !f.Exported() || !leads.opens(f.Signature()) {
				continue
			} else if p.path == "formats" || strings.HasPrefix(p.path, "formats/") {
				readers[f.FullName()] = true
			} else {
				found = append(found, strings.NewReplacer(module+"/", "", "(", "", ")", "", "*", "").Replace(f.FullName()))
			}
		}
	}
	for _, name := range found {
		if !slices.Contains(doors, name) {
			t.Errorf("%s is one more door to profiles", name)
		}
	}
	for _, name := range doors {
		if !slices.Contains(found, name) {
			t.Errorf("%s is no door to profiles: remove it from the list", name)
		}
	}
	for _, p := range all {
		for name, object := range p.info.Uses {
			if f, ok := object.(*types.Func); ok && readers[f.FullName()] && !strings.HasPrefix(p.path, "formats") && callReaders[p.path] == "" {
				t.Errorf("%s calls %s: open profiles by the door", p.fset.Position(name.Pos()), f.FullName())
			}
		}
	}
}

// leadsTo knows which types lead to profiles: profile.Profile, profile.Source, and types of which an exported field is
// such a type, or a method returns one or passes one to a function.
type leadsTo map[string]bool

func (l leadsTo) opens(f *types.Signature) bool {
	path := f.Recv() != nil && isPath(f.Recv().Type())
	for parameter := range f.Params().Variables() {
		path = path || isPath(parameter.Type())
	}
	return path && !l.any(f.Params()) && l.any(f.Results())
}

func isPath(t types.Type) bool {
	if several, ok := t.Underlying().(*types.Slice); ok {
		t = several.Elem()
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String
}

func (l leadsTo) any(variables *types.Tuple) bool {
	for v := range variables.Variables() {
		if l.leads(v.Type()) {
			return true
		}
	}
	return false
}

func (l leadsTo) leads(t types.Type) bool {
	if container, ok := t.(interface{ Elem() types.Type }); ok {
		return l.leads(container.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !strings.HasPrefix(named.Obj().Pkg().Path(), module) {
		return false
	}
	name := named.String()
	if _, known := l[name]; !known {
		l[name] = name == module+"/profile.Profile" // holds for types that lead back to the type, too
		l[name] = l[name] || l.members(named)
	}
	return l[name]
}

func (l leadsTo) members(t *types.Named) bool {
	receiver := types.Type(types.NewPointer(t))
	if types.IsInterface(t) {
		receiver = t
	}
	for method := range types.NewMethodSet(receiver).Methods() {
		f := method.Obj().(*types.Func)
		if f.Exported() && (l.any(f.Signature().Results()) || l.calls(f.Signature().Params())) {
			return true
		}
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			if field.Exported() && l.leads(field.Type()) {
				return true
			}
		}
	}
	return false
}

// calls reports whether one of the parameters is a function to which something is passed that leads to profiles.
func (l leadsTo) calls(parameters *types.Tuple) bool {
	for v := range parameters.Variables() {
		if f, ok := v.Type().Underlying().(*types.Signature); ok && l.any(f.Params()) {
			return true
		}
	}
	return false
}

// TestTypeNames requires that types of several packages have different names, unless docs/glossary.md lists the name.
// Two packages may have a type of the same name that neither exports. The types of interpose/layout are how a recording
// stores what profile has under the same names.
func TestTypeNames(t *testing.T) {
	in := map[string][]string{}
	for _, p := range linkedPackages(t) {
		for _, object := range p.declared() {
			if name, ok := object.(*types.TypeName); ok && !name.IsAlias() && p.path != "interpose/layout" {
				in[name.Name()] = append(in[name.Name()], p.path)
			}
		}
	}
	glossary := testenv.ReadFile(t, "docs/glossary.md")
	_, section, _ := strings.Cut(string(glossary), "\n## Names of several types\n")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` ").FindAllStringSubmatch(section, -1) {
		listed[row[1]] = true
		if len(in[row[1]]) < 2 {
			t.Errorf("docs/glossary.md: %s is not the name of several types: remove it", row[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if n := len(in[name]); (n > 2 || n == 2 && ast.IsExported(name)) && !listed[name] {
			t.Errorf("the type %s is declared in %s: rename it, or add it to docs/glossary.md", name, strings.Join(in[name], ", "))
		}
	}
}
