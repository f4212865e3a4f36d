package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// execute runs a command line that needs no profiles.
func execute(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return stdout.String()
}

func TestManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/profile2mat.1")
	if err != nil || string(page) != execute(t, "--manual") {
		t.Errorf("docs/profile2mat.1 is not what `make generate` writes (%v)", err)
	}
	for _, want := range []string{".TH PROFILE2MAT 1", `.B \-\-class classes`, ".SH EXIT STATUS"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the manual page has no %s", want)
		}
	}
}

func TestCommandsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	_, ours, found := strings.Cut(string(page), "\n## profile2mat\n")
	if err != nil || !found || "## profile2mat\n"+ours != execute(t, "--manual=markdown") {
		t.Errorf("docs/commands.md does not end with what `make generate` writes (%v)", err)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"--version", "--format", "none", "-o", ""}} {
		if got := execute(t, args...); !strings.HasPrefix(got, "profile2mat 0.") || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: got %q", args, got)
		}
	}
}

func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"--class o":      "one-sided\nosc\n",
		"--format mat,p": "mat,parquet\nmat,png\n",
		"--direction w":  "write\n",
		"--by h":         "host\n",
	} {
		got := execute(t, append([]string{"__complete"}, strings.Fields(line)...)...)
		words, _, _ := strings.Cut(got, ":")
		if sorted(words) != sorted(want) {
			t.Errorf("%s: got %q, want %q", line, words, want)
		}
	}
	if script := execute(t, "completion", "bash"); !strings.Contains(script, "__complete") {
		t.Error("no script for bash")
	}
}

func sorted(lines string) string {
	words := strings.Fields(lines)
	slices.Sort(words)
	return strings.Join(words, " ")
}
