package main

import (
	"encoding/json"
	"io"

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

// verdict is the text of the section "verdict", by itself.
type verdict struct {
	Verdict string `json:"verdict"`
}

// withVerdict returns the object of a struct, which begins with the verdict of its sections.
func withVerdict(of any, sections []views.Section) (json.RawMessage, error) {
	return text.JoinJSON(verdict{views.Verdict(sections)}, of)
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
