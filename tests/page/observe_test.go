package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestObserve requires that the browser reports what no page may do: without this, the
// other tests would pass on a page that does it.
func TestObserve(t *testing.T) {
	for what, c := range map[string]struct{ body, problem string }{
		"request":   {`<img src="https://example.com/a.png">`, "requests https://example.com/a.png"},
		"socket":    {`<script>new WebSocket("ws://example.com/")</script>`, "opens ws://example.com/"},
		"console":   {`<script>console.error("here")</script>`, "console.error"},
		"exception": {`<script>throw new Error("here")</script>`, "Error: here"},
		"rejection": {`<script>Promise.reject(new Error("here"))</script>`, "Error: here"},
		"dialog":    {`<script>setTimeout(() => alert(1), 0)</script>`, "opens a dialog: 1"},
		"policy":    {`<meta http-equiv="Content-Security-Policy" content="style-src 'none'"><p style="color: red">`, "Content Security Policy"},
		"nothing":   {`<p>nothing</p>`, ""},
	} {
		t.Run(what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "page.html")
			text := "<!doctype html><title>page</title>" + c.body + `<script>setTimeout(() => document.documentElement.dataset.ready = "yes", 200)</script>`
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			p := openTab(t, file)
			p.mu.Lock()
			defer p.mu.Unlock()
			if found := strings.Join(p.problems, "\n"); !strings.Contains(found, c.problem) || (c.problem == "" && found != "") {
				t.Errorf("%q, want %q", found, c.problem)
			}
			p.problems = nil
		})
	}
}
