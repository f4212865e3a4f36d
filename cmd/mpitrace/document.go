package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

// schemaVersion is that of the documents that --json prints. It is raised when a key is removed
// or gets another meaning.
const schemaVersion = 1

// document is what --json prints of a job: the keys of a struct, and the sections of its view.
type document struct {
	of       any
	sections []views.Section
}

// MarshalJSON returns the object of the struct, with "sections" at its end.
func (d document) MarshalJSON() ([]byte, error) {
	return text.JoinJSON(d.of, struct {
		Sections []views.Section `json:"sections"`
	}{d.sections})
}

// withVerdict returns the object of a struct, which begins with the sentences of the section
// "verdict".
func withVerdict(of any, sections []views.Section) (json.RawMessage, error) {
	var words []string
	for _, s := range sections {
		for _, b := range s.Blocks {
			if s.ID == "verdict" && b.Text != nil {
				words = append(words, b.Text.Text)
			}
		}
	}
	return text.JoinJSON(struct {
		Verdict string `json:"verdict"`
	}{strings.Join(words, " ")}, of)
}

// writeDocument writes a struct with the sections of its view and the version of the schema.
func writeDocument(w io.Writer, of any, sections []views.Section) error {
	version := struct {
		Version int `json:"schema_version"`
	}{schemaVersion}
	joined, err := text.JoinJSON(version, document{of, sections})
	if err != nil {
		return err
	}
	return text.WriteJSON(w, json.RawMessage(joined))
}
