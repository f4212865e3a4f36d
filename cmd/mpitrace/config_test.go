package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// config is the output of `mpitrace config --json`.
type config struct {
	Settings []settings.DescribedSetting
	Files    []settings.SettingsFile
}

func configOf(t *testing.T, args ...string) config {
	t.Helper()
	got := call(append([]string{"config", "--json"}, args...)...)
	var c config
	if err := json.Unmarshal([]byte(got.stdout), &c); err != nil || got.code != 0 {
		t.Fatalf("%v\n%+v", err, got)
	}
	return c
}

// userFile writes the user file and returns its path.
func userFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	path := filepath.Join(dir, "mpitrace", "config")
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	testenv.NoError(t, err)
	return path
}

func TestConfig(t *testing.T) {
	path := userFile(t, "stack = 3\ntiming = off\nstrict = yes\ncvar = A=1\ncvar = B=2\n")
	t.Setenv("MPITRACE_TIMING", "sampled")
	t.Setenv("MPITRACE_INTERVAL", "2000ms")
	c := configOf(t, "--interval", "off", "--receives", "off")
	if len(c.Settings) != len(settings.List) || len(c.Files) != 1 || c.Files[0].Source != settings.UserFile || c.Files[0].Path != path || !c.Files[0].Found {
		t.Errorf("%d settings, of files %+v", len(c.Settings), c.Files)
	}
	want := map[string]settings.DescribedSetting{
		"timing":   {Value: "sampled", Source: settings.Environment, SetBy: "MPITRACE_TIMING", Weaker: []settings.WeakerValue{{Value: "off", Source: settings.UserFile, SetBy: path + ":2"}}},
		"interval": {Value: "off", Source: settings.CommandLine, SetBy: "--interval", Weaker: []settings.WeakerValue{{Value: "2000ms", Source: settings.Environment, SetBy: "MPITRACE_INTERVAL"}}},
		"receives": {Value: "off", Source: settings.CommandLine, SetBy: "--receives"},
		"stack":    {Value: "3", Source: settings.UserFile, SetBy: path + ":1"},
		"strict":   {Value: "on", Source: settings.UserFile, SetBy: path + ":3"},
		"cvar":     {Value: "A=1 B=2", Source: settings.UserFile, SetBy: path + ":4"},
		"spool":    {Value: "auto", Source: settings.Default},
		"pvar":     {Value: "none", Source: settings.Default},
	}
	for _, s := range c.Settings {
		w, ok := want[s.Name]
		if ok && (s.Value != w.Value || s.Source != w.Source || s.SetBy != w.SetBy || len(s.Weaker) != len(w.Weaker)) {
			t.Errorf("%s: got %+v, want %+v", s.Name, s, w)
		}
		if ok && len(w.Weaker) > 0 && s.Weaker[0] != w.Weaker[0] {
			t.Errorf("%s: got weaker values %+v, want %+v", s.Name, s.Weaker, w.Weaker)
		}
	}
	got := call("config", "timing")
	for _, want := range []string{"timing = sampled (environment: MPITRACE_TIMING)\n", "    instead of off (user file: " + path + ":2)\n",
		"which calls to time", "A program can set it before MPI_Init", "user file: " + path + "\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	path := userFile(t, "\ntiming = never\n")
	for _, test := range []struct{ args, want string }{
		{"run -- true", path + `:2: timing "never": it can be exact, sampled, off`},
		{"build", path + `:2: timing "never"`},
		{"config", path + `:2: timing "never"`},
		{"config tming", `there is no setting "tming": did you mean timing?`},
	} {
		got := call(strings.Fields(test.args)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
			t.Errorf("%s: status %d, want 2; stderr %q, want %q in it", test.args, got.code, got.stderr, test.want)
		}
	}
	userFile(t, "")
	for _, test := range []struct{ args, want string }{
		{"config --interval 5", `--interval "5": give a time like 100ms or 2s`},
		{"run --stack 33 -- true", `--stack "33": give auto, 0 for none, or a number from 2 to 32`},
		{"config --run " + t.TempDir(), "holds no recording"},
	} {
		if got := call(strings.Fields(test.args)...); got.code != exitUsage || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: status %d, want 2; stderr %q, want %q in it", test.args, got.code, got.stderr, test.want)
		}
	}
}

// A wrapper in a file must not override --mpi, nor an MPI in a file --cc.
func TestChosen(t *testing.T) {
	userFile(t, "mpi = openmpi\ncc = mpicc.openmpi\n")
	for _, test := range []struct {
		flags []string
		want  launch.Choice
	}{
		{nil, launch.Choice{MPI: "openmpi", CC: "mpicc.openmpi"}},
		{[]string{"--mpi", "mpich"}, launch.Choice{MPI: "mpich", CC: ""}},
		{[]string{"--cc", "mpicc.mpich"}, launch.Choice{MPI: "openmpi", CC: "mpicc.mpich"}},
	} {
		cmd := newBuild()
		testenv.NoError(t, cmd.ParseFlags(test.flags))
		values, err := findSettings(cmd.Flags())
		if err != nil || launch.Chosen(values) != test.want {
			t.Errorf("%q: got %+v, %v; want %+v", test.flags, launch.Chosen(values), err, test.want)
		}
	}
}

// A file can set the place of the cache, although interpose reads only the
// environment.
func TestCacheInFile(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	userFile(t, "cache = "+cache+"\n")
	t.Setenv("MPITRACE_CACHE", "") // restores the variable after the test
	if _, err := findSettings(newBuild().Flags()); err != nil {
		t.Fatal(err)
	}
	if got := os.Getenv("MPITRACE_CACHE"); got != cache {
		t.Errorf("got %q, want %q", got, cache)
	}
}

func TestPagesAreCurrent(t *testing.T) {
	for _, page := range []string{"commands", "settings", "schema"} {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		got := string(text)
		if page == "commands" { // TestCommandsPage of profile2mat checks the rest
			got, _, _ = strings.Cut(got, "\n## profile2mat\n")
			got += "\n"
		}
		if made := call("manual", page); err != nil || made.code != 0 || made.stdout == "" || got != made.stdout {
			t.Errorf("docs/%s.md is not what `make generate` writes (%v)", page, err)
		}
	}
}

func TestManualIsCurrent(t *testing.T) {
	page := abs(t, "../../docs/mpitrace.1")
	got, err := os.ReadFile(page)
	if made := call("manual"); err != nil || made.code != 0 || made.stdout == "" || string(got) != made.stdout {
		t.Errorf("docs/mpitrace.1 is not what `make generate` writes (%v)", err)
	}
	testenv.Need(t, "groff")
	out, err := exec.Command("groff", "-man", "-Tutf8", "-P-c", "-ww", page).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("groff: %v\n%.2000s", err, out)
	}
	for _, want := range []string{"NAME", "SYNOPSIS", "COMMANDS", "SETTINGS", "FILES", "EXIT STATUS", "ENVIRONMENT"} {
		if !strings.Contains(string(got), "\n.SH "+want+"\n") {
			t.Errorf("no section %s", want)
		}
	}
	for i := range settings.List {
		if s := &settings.List[i]; !strings.Contains(string(got), s.Env()+".") {
			t.Errorf("setting %s is missing", s.Name)
		}
	}
}
