package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestCompletion requires that shells complete values of flags and run
// directories.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"app-1/recordings", "app-2/recordings", "appendix"} {
		testenv.Mkdir(t, name)
	}
	for _, run := range []string{"app-1", "app-2"} {
		testenv.WriteFile(t, filepath.Join(run, "run.json"), "{}")
	}
	for line, want := range map[string][]string{
		"run --timing ,":           {"exact", "sampled", "off"},
		"run --mpi m":              {"mpich", "mvapich", "mpi-abi"},
		"run --format prof,a":      {"prof,arrow"},
		"run --trace-classes one":  {"one-sided"},
		"export --format p":        {"prof", "parquet", "perfetto"},
		"report --sort b":          {"bytes"},
		"diff --sort m":            {"messages"},
		"report app-":              {"app-1", "app-2"},
		"export app-":              {"app-1", "app-2"},
		"config watch":             {"watch-unexpected"},
		"report app":               {"app-1", "app-2", "appendix/"},
		"diff app-1 app-2":         {"app-2"},
		"report " + dir + "/app-2": {dir + "/app-2"},
		"report app-1 app":         nil,
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ,") {
			words[len(words)-1] = ""
		}
		got := call(append([]string{"__complete"}, words...)...)
		var found []string
		for word := range strings.Lines(got.stdout) {
			if word = strings.TrimSpace(word); !strings.HasPrefix(word, ":") {
				found = append(found, word)
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%q: %q, want %q (%s)", line, found, want, got.stderr)
		}
	}
	if got := call("completion", "bash"); got.code != 0 || !strings.Contains(got.stdout, "__complete") {
		t.Errorf("no script: %.200s", got.stderr)
	}
}
