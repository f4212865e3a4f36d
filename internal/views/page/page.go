// Package page writes reports as one self-contained HTML file: the numbers of the report,
// the matrices and, for traced runs, the timeline, with the script in app/ that shows
// them. The page asks for nothing from the network. docs/page.md describes its data.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

//go:embed app
var app embed.FS

// Write writes the page.
func Write(w io.Writer, p *Page) error {
	data, err := packed(p)
	if err != nil {
		return err
	}
	style, script := file("style.css"), script(false)
	return write(w, p.Title(), policy(style, script), style, script, data)
}

func write(w io.Writer, title, policy, style, script, data string) error {
	parts := strings.NewReplacer(
		"{{.Title}}", html.EscapeString(title),
		"{{.Policy}}", policy,
		"{{.Style}}", style,
		"{{.Data}}", data,
		"{{.Script}}", script)
	_, err := parts.WriteString(w, file("index.html"))
	return err
}

// script returns the script: the files in one function, because imports between files
// fail in pages that are opened from a file. base.js comes first, and main.js, which
// starts the page, last. live.js, which asks a server for data, is only in served pages.
func script(served bool) string {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	units, err := json.Marshal(text.Scales)
	if err != nil {
		panic(err) // they are constants
	}
	fmt.Fprintf(&b, "const units = %s;\n", units)
	b.WriteString(file("base.js"))
	files, err := fs.Glob(app, "app/*.js")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, name := range files {
		if name = path.Base(name); name != "base.js" && name != "main.js" && (served || name != liveScript) {
			b.WriteString(file(name))
		}
	}
	b.WriteString(file("main.js"))
	b.WriteString("})();\n")
	return b.String()
}

// file returns a file of app.
func file(name string) string {
	content, err := app.ReadFile(path.Join("app", name))
	if err != nil {
		panic(err) // it is embedded
	}
	return string(content)
}

// policy returns the Content-Security-Policy of the page: only its own style and script,
// known by their hashes, and no requests.
func policy(style, script string) string {
	hash := func(part string) string {
		sum := sha256.Sum256([]byte(part))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'", hash(script), hash(style))
}

// packed returns base64 of gzip of the page's JSON.
func packed(p *Page) (string, error) {
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(z).Encode(p); err != nil {
		return "", fmt.Errorf("write page: %w", err)
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(zipped.Bytes()), nil
}
