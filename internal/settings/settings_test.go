package settings

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestList(t *testing.T) {
	for i := range List {
		s := &List[i]
		if Named(s.Name) != s || s.Syntax == "" || s.Summary == "" || s.Check == nil {
			t.Errorf("%s: a field is missing, or the name is not unique", s.Name)
		}
		if value, err := s.Parse(s.Default); s.Default != "" && (err != nil || value != s.Default) {
			t.Errorf("%s: default %q is parsed as %q, %v", s.Name, s.Default, value, err)
		}
		if s.Default == "" && s.Empty == "" {
			t.Errorf("%s: the empty default has no word (Empty)", s.Name)
		}
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ name, in, want, wrong string }{
		{"timing", "off", "off", ""},
		{"timing", "Off", "", "exact, sampled, off"},
		{"interval", "100ms", "100ms", ""},
		{"interval", "0.1s", "100ms", ""},
		{"interval", "2000ms", "2s", ""},
		{"interval", "1m", "60s", ""},
		{"interval", "off", "", ""},
		{"interval", "0", "", "whole milliseconds, at least one"},
		{"interval", "-1s", "", "whole milliseconds, at least one"},
		{"interval", "1500us", "", "whole milliseconds, at least one"},
		{"interval", "5", "", "a time like 100ms"},
		{"interval", "300h", "", "up to 1000000s"},
		{"pvar-interval", "0s", "0", ""},
		{"pvar-interval", "-1ms", "", "up to"},
		{"stack", "32", "32", ""},
		{"stack", "33", "", "from 2 to 32"},
		{"stack", "0", "0", ""},
		{"stack", "1", "", "give auto, 0 for none, or a number from 2 to 32"},
		{"stack", "-1", "", "from 2 to 32"},
		{"watch-unexpected", "0", "0", ""},
		{"watch-unexpected", "off", "", ""},
		{"cvar", "A=1\nB=x=y,z", "A=1\nB=x=y,z", ""},
		{"cvar", "A", "", "NAME=VALUE"},
		{"cvar", "=1", "", "NAME=VALUE"},
		{"pvar", "a*, b", "a*,b", ""},
		{"format", "prof,arrow", "prof,arrow", ""},
		{"format", "csv", "", "it can be prof, arrow"},
		{"strict", "YES", "on", ""},
		{"strict", "maybe", "", "on, off"},
		{"mpi", "MPICH", "mpich", ""},
		{"mpi", "/opt/mpi", "/opt/mpi", ""},
		{"mpi", "lam", "", "openmpi, mpich"},
		{"max-mb", "0", "", "from 1 to"},
	} {
		got, err := Named(test.name).Parse(test.in)
		if wrong := test.wrong != ""; wrong != (err != nil) || err != nil && !strings.Contains(err.Error(), test.wrong) || got != test.want {
			t.Errorf("%s = %q: got %q, %v; want %q, %q", test.name, test.in, got, err, test.want, test.wrong)
		}
	}
}

// configure writes a user file and a site file, and reads them.
func configure(t *testing.T, user, site string) ([]*SettingsFile, error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv(EnvSite, filepath.Join(dir, "site"))
	testenv.Mkdir(t, filepath.Join(dir, "mpitrace"))
	for path, text := range map[string]string{"mpitrace/config": user, "site": site} {
		testenv.WriteFile(t, filepath.Join(dir, path), text)
	}
	return Read()
}

func TestFile(t *testing.T) {
	files, err := configure(t, "# mine\n\n timing=off # not timed\ncvar = A=#1\ncvar = B=2", "pvar = a, b\r\n")
	testenv.NoError(t, err)
	user, site := files[0], files[1]
	for _, test := range []struct {
		file        *SettingsFile
		name, value string
		place       string
	}{{user, "timing", "off", "config:3"}, {user, "cvar", "A=#1\nB=2", "config:4"}, {site, "pvar", "a,b", "site:1"}} {
		v, ok := test.file.given(Named(test.name))
		if !ok || v.Text != test.value || !strings.HasSuffix(v.SetBy, test.place) {
			t.Errorf("%s: %q at %s, want %q at %s", test.name, v.Text, v.SetBy, test.value, test.place)
		}
	}
	if _, ok := user.given(Named("stack")); ok {
		t.Error("setting stack is not found in the file")
	}
}

func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\ntming = off":              `config:2: there is no setting "tming": did you mean timing?`,
		"gigantic = 1":               "config:1: there is no setting \"gigantic\": `mpitrace config`",
		"timing = never":             `config:1: timing "never": it can be exact, sampled, off`,
		"timing":                     `config:1: "timing": a line is name = value`,
		"stack = 3\n\nstack = 4":     "config:3: stack is set in line 1 already",
		"stack =":                    `config:1: stack "": give auto, 0 for none`,
		strings.Repeat("x", 1<<17):   "config:1: ",
		strings.Repeat("#\n", 1<<20): "more than 1048576 bytes",
	} {
		if _, err := configure(t, text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(EnvSite, "")
	if files, err := Read(); err != nil || files[0].Found || files[1].Found {
		t.Errorf("missing file: got %v, want no error", err)
	}
}

// Of each two sources that are next to each other in the order of precedence,
// the stronger one must apply.
func TestOrder(t *testing.T) {
	for _, test := range []struct {
		flag, env, user, site string
		want                  string
		source                Origin
		weaker                int
	}{
		{"", "", "", "", "exact", Default, 0},
		{"", "", "", "timing = off", "off", SiteFile, 0},
		{"", "", "timing = sampled", "timing = off", "sampled", UserFile, 1},
		{"", "off", "timing = sampled", "", "off", Environment, 1},
		{"sampled", "off", "", "", "sampled", CommandLine, 1},
		{"exact", "off", "timing = off", "timing = sampled", "exact", CommandLine, 3},
		{"off", "never", "", "", "off", CommandLine, 1}, // an invalid value in the environment, which is not read
	} {
		files, err := configure(t, test.user, test.site)
		testenv.NoError(t, err)
		values, err := Resolve(Given{Files: files,
			Flag:   func(name string) (string, bool) { return test.flag, name == "timing" && test.flag != "" },
			Getenv: func(name string) string { return map[string]string{"MPITRACE_TIMING": test.env}[name] }})
		testenv.NoError(t, err)
		if v := values.Of("timing"); v.Text != test.want || v.Source != test.source || len(v.Weaker) != test.weaker {
			t.Errorf("%+v: got %q from %s, with %d weaker values", test, v.Text, v.Source, len(v.Weaker))
		}
	}
}

func TestWords(t *testing.T) {
	given := map[string]string{"MPITRACE_CVAR": "A=1\nB=2", "MPITRACE_INTERVAL": "off", "MPITRACE_STRICT": "1", "MPITRACE_PVAR": "a,b"}
	values, err := Resolve(Given{Flag: func(string) (string, bool) { return "", false }, Getenv: func(name string) string { return given[name] }})
	testenv.NoError(t, err)
	words := values.Words()
	want := []string{"--set", "interval=", "--set", "cvar=A=1", "--set", "cvar=B=2", "--set", "pvar=a", "--set", "pvar=b"}
	if !slices.Equal(words, want) {
		t.Errorf("got %q, want %q", words, want)
	}
	var arguments []string
	for i := 1; i < len(words); i += 2 {
		arguments = append(arguments, words[i])
	}
	back, err := ParseWords(arguments)
	if err != nil || len(back) != 3 || back[1].Text != "A=1\nB=2" || back[2].Text != "a,b" || back[0].Text != "" {
		t.Errorf("got %v, %v after reading back", back, err)
	}
	if !slices.Equal(back.Words(), want) {
		t.Errorf("after reading back, the words are %q", back.Words())
	}
	if _, err := ParseWords([]string{"none=1"}); err == nil {
		t.Error("no error for an unknown setting")
	}
}

// Each environment variable that the code reads must be a setting or in Others.
func TestEnvironmentIsDocumented(t *testing.T) {
	names := regexp.MustCompile(`(?:getenv|Getenv|LookupEnv)\("(MPITRACE_\w+)"\)`)
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"interpose/src/*/*.c", "interpose/*.go", "internal/*/*.go", "cmd/*/*.go", "aggregate/*.go", "formats/*/*.go"} {
		paths, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testenv") {
				continue
			}
			text := testenv.ReadFile(t, path)
			for _, m := range names.FindAllSubmatch(text, -1) {
				name := string(m[1])
				listed := slices.ContainsFunc(List, func(s Setting) bool { return s.Env() == name }) ||
					slices.ContainsFunc(Others, func(v [2]string) bool { return v[0] == name })
				if !listed {
					t.Errorf("%s reads the environment variable %s, which is neither a setting nor in Others", path, name)
				}
			}
		}
	}
}
