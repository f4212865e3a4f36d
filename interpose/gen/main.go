// Gen writes the files that are generated from the table of calls, from the
// layout of a recording, and from the list of settings:
//
//	go run ./interpose/gen            # from the root of the repository
//
// Each file has a template of its name in templates/. The generated files are
// committed, so that building the library needs only a C compiler and an mpi.h.
// A test compares them with newly generated ones.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/interpose/calls"
)

//go:embed templates
var templates embed.FS

// Files returns all generated files, by path in the repository. The output is
// in the order of the tables, and is the same in each run.
func Files() (map[string][]byte, error) {
	layout, err := newLayoutData()
	if err != nil {
		return nil, err
	}
	table, err := newCallData()
	if err != nil {
		return nil, err
	}
	names, err := newThunkData()
	if err != nil {
		return nil, err
	}
	entries, err := newEntryData()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range []struct {
		path string
		data any
	}{
		{"interpose/src/base/layout_gen.h", layout},
		{"interpose/src/base/settings_gen.h", rankSettings()},
		{"interpose/src/base/calls_gen.h", table},
		{"interpose/src/base/pmpi_gen.h", table},
		{"interpose/src/base/pmpi_gen.c", table},
		{"interpose/src/gen/wrappers_gen.c", table},
		{"interpose/src/calls/names_gen.c", names},
		{"interpose/src/gen/thunks_gen.c", names},
		{"interpose/src/dispatch/entries_gen.c", entries},
		{"tests/nullmpi/src/functions_gen.h", table},
		{"profile/calls_gen.go", table},
		{"profile/calls_gen.txt", table},
	} {
		if files[f.path], err = execute(filepath.Base(f.path), f.data); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// execute returns the output of a file's template.
func execute(name string, data any) ([]byte, error) {
	t, err := template.New(name+".tmpl").Funcs(functionsOfTemplates).ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".go") {
		return format.Source(b.Bytes())
	}
	return b.Bytes(), nil
}

var functionsOfTemplates = template.FuncMap{
	"id":     func(c interface{ CallID() string }) string { return c.CallID() },
	"lower":  strings.ToLower,
	"join":   func(list []string) string { return strings.Join(list, ", ") },
	"shout":  shout,
	"symbol": calls.Symbol,
}

// shout returns the name of a C constant: ONE_SIDED for one-sided.
func shout(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// rankSettings returns the settings that are passed to the processes of a job.
func rankSettings() []*settings.Setting {
	var out []*settings.Setting
	for i := range settings.List {
		if s := &settings.List[i]; s.Ranks {
			out = append(out, s)
		}
	}
	return out
}

func main() {
	files, err := Files()
	if err == nil {
		err = writeAll(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func writeAll(files map[string][]byte) error {
	for path, content := range files {
		if err := os.WriteFile(filepath.FromSlash(path), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
