package mpitrace_test

import (
	"bytes"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// maxWords is how long the pages may be that everybody reads.
var maxWords = map[string]int{"README.md": 1300, "ARCHITECTURE.md": 900}

func TestPageSizes(t *testing.T) {
	for path, most := range maxWords {
		text := testenv.ReadFile(t, path)
		if n := len(bytes.Fields(text)); n > most {
			t.Errorf("%s: %d words, more than %d", path, n, most)
		}
	}
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)]+)\)|src="([^"]+)"`)
	testPattern    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")
	pathPattern    = regexp.MustCompile("`((?:aggregate|bench|cmd|docs|examples|formats|internal|interpose|profile|scripts|tests)/[A-Za-z0-9_./-]+)`")
	commandPattern = regexp.MustCompile("(?m)(?:^    (?:\\$ )?|`)mpitrace ([a-z]+)\\b")
)

// TestPages requires that the pages link to what exists, and that the tests,
// files and commands that they name exist.
func TestPages(t *testing.T) {
	var code bytes.Buffer
	for _, s := range sources(t, ".go") {
		if strings.HasSuffix(s.path, "_test.go") {
			code.Write(s.text)
		}
	}
	commands := testenv.ReadFile(t, "docs/commands.md")
	hidden := []string{"rank", "manual", "completion"}
	for _, s := range sources(t, ".md") {
		if s.path == "CHANGELOG.md" {
			continue // it names what there was
		}
		for _, m := range linkPattern.FindAllSubmatch(s.text, -1) {
			checkLink(t, s, string(m[1])+string(m[2]))
		}
		for _, m := range testPattern.FindAllSubmatch(s.text, -1) {
			if !bytes.Contains(code.Bytes(), []byte("func "+string(m[1])+"(")) {
				t.Errorf("%s: there is no %s", s.path, m[1])
			}
		}
		for _, m := range pathPattern.FindAllSubmatch(s.text, -1) {
			if _, err := os.Stat(string(m[1])); err != nil {
				t.Errorf("%s: there is no %s", s.path, m[1])
			}
		}
		for _, m := range commandPattern.FindAllSubmatch(s.text, -1) {
			name := string(m[1])
			if !bytes.Contains(commands, []byte("\n## mpitrace "+name+"\n")) && !slices.Contains(hidden, name) {
				t.Errorf("%s: there is no command mpitrace %s", s.path, name)
			}
		}
	}
}

// checkLink requires that the file of a relative link exists, and its heading.
func checkLink(t *testing.T, s source, link string) {
	t.Helper()
	if strings.Contains(link, "://") {
		return
	}
	path, anchor, _ := strings.Cut(link, "#")
	target := s.path
	if path != "" {
		target = filepath.Join(filepath.Dir(s.path), path)
	}
	if _, err := os.Stat(target); err != nil {
		t.Errorf("%s: link to %s, which does not exist", s.path, link)
		return
	}
	if anchor == "" {
		return
	}
	text, err := os.ReadFile(target)
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") && headingAnchor(html.UnescapeString(title)) == anchor {
			return
		}
	}
	t.Errorf("%s: link to %s: there is no such heading", s.path, link)
}

// headingAnchor returns the anchor that GitHub gives a heading.
func headingAnchor(title string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case r == ' ':
			out.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			out.WriteRune(r)
		}
	}
	return out.String()
}
