package findings

import (
	"encoding/json"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// Report is the summary of a job with its findings.
type Report struct {
	Findings []Finding
	Summary  *aggregate.Summary
}

// ReportOf returns the report of a job. traced is nil if it was not traced.
func ReportOf(s *aggregate.Summary, traced *trace.Result) Report {
	return Report{Of(s, traced), s}
}

// MarshalJSON returns one object: "findings" and the fields of the summary.
func (r Report) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		Findings []Finding `json:"findings"`
	}{r.Findings})
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(r.Summary)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head[:len(head)-1], []byte(","), rest[1:]), nil
}
