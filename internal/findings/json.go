package findings

import (
	"encoding/json"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// Report is the summary of a job with its findings and the analysis of its trace.
type Report struct {
	Findings []Finding
	Analysis *trace.Result // nil if the job was not traced
	Summary  *aggregate.Summary
}

// ReportOf returns the report of a job. traced is nil if it was not traced.
func ReportOf(s *aggregate.Summary, traced *trace.Result) Report {
	return Report{Of(s, traced), traced, s}
}

// MarshalJSON returns one object: "findings", "analysis" and the fields of the summary.
func (r Report) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		Findings []Finding     `json:"findings"`
		Analysis *trace.Result `json:"analysis,omitempty"`
	}{r.Findings, r.Analysis})
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(r.Summary)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head[:len(head)-1], []byte(","), rest[1:]), nil
}
