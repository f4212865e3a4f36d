package aggregate

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// Mixed is what a setting is called that the processes of a job do not share.
const Mixed = "mixed"

// Variance is that of a time which is an estimate, in ns²; 0 of one that was
// measured. Those of times that are added up are added up. In JSON it is the
// standard error, in ns.
type Variance float64

// StandardError is its root, in ns.
func (v Variance) StandardError() float64 { return math.Sqrt(float64(v)) }

// varianceOf is that of a row's time.
func varianceOf(r *profile.Row) Variance {
	return Variance(r.TimeErrorNs) * Variance(r.TimeErrorNs)
}

// MarshalJSON gives whole ns.
func (v Variance) MarshalJSON() ([]byte, error) { return json.Marshal(math.Round(v.StandardError())) }

// UnmarshalJSON takes what MarshalJSON gives, and null for none.
func (v *Variance) UnmarshalJSON(text []byte) error {
	var ns float64
	err := json.Unmarshal(text, &ns)
	*v = Variance(ns * ns)
	return err
}

// setting is what processes were recorded with, or Mixed.
func (j *Job) setting(of func(*process) string) string {
	word := ""
	for i := range j.processes {
		switch own := of(&j.processes[i]); {
		case word == "":
			word = own
		case own != word:
			return Mixed
		}
	}
	return word
}

func (p *process) timingWord() string   { return p.Timing }
func (p *process) receivesWord() string { return profile.ReceivesText(p.unfollowed) }

// timed tells whether the calls of the process were.
func (t *RankTimes) Timed() bool { return t.Timing != profile.TimingOff.String() }

// timed tells whether there are times of calls.
func (s *Summary) Timed() bool { return s.Timing != profile.TimingOff.String() }

// ofCalls are the keys of JSON whose values are made of the times of calls.
var ofCalls = map[string]bool{"time_ns": true, "time_error_ns": true, "mean_ns": true, "min_ns": true, "max_ns": true,
	"time_per_rank": true, "mpi_time_s": true, "mpi_time_error_s": true, "init_finalize_time_s": true,
	"init_finalize_time_ns": true, "mpi_share": true}

// withoutTimes makes null of what was not measured: 0 would be a number. The
// order of the keys is kept.
func withoutTimes(raw []byte) []byte {
	in := json.NewDecoder(bytes.NewReader(raw))
	first, err := in.Token()
	open, composed := first.(json.Delim)
	if err != nil || !composed {
		return raw
	}
	out := []byte(open.String())
	for n := 0; in.More(); n++ {
		if n > 0 {
			out = append(out, ',')
		}
		unknown := false
		if open == '{' {
			key, _ := in.Token() // of what the encoder wrote
			unknown = ofCalls[key.(string)]
			text, _ := json.Marshal(key)
			out = append(append(out, text...), ':')
		}
		var value json.RawMessage
		if in.Decode(&value) != nil {
			return raw
		}
		if unknown {
			value = []byte("null")
		}
		out = append(out, withoutTimes(value)...)
	}
	return append(out, byte(open)+2) // ] and } stand two behind [ and {
}

// marshalTimed is JSON of v, with or without times.
func marshalTimed(v any, timed bool) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil || timed {
		return raw, err
	}
	return withoutTimes(raw), nil
}

// MarshalJSON gives null for times that were not taken.
func (t RankTimes) MarshalJSON() ([]byte, error) {
	type plain RankTimes
	return marshalTimed(plain(t), t.Timed())
}

// MarshalJSON gives null for times that were not taken.
func (s *Summary) MarshalJSON() ([]byte, error) {
	type plain Summary
	return marshalTimed((*plain)(s), s.Timed())
}

// summaryFields are those of a summary that is part of something else.
type summaryFields Summary

// MarshalJSON gives null for times that were not taken.
func (s *RankSummary) MarshalJSON() ([]byte, error) {
	return marshalTimed(struct {
		Rank int `json:"rank"`
		*summaryFields
		Peers []Peer       `json:"peers"`
		Comms []CommTotals `json:"communicators"`
	}{s.Rank, (*summaryFields)(&s.Summary), s.Peers, s.Comms}, s.Timed())
}

// MarshalJSON gives null for times that were not compared.
func (d *Diff) MarshalJSON() ([]byte, error) {
	type plain Diff
	return marshalTimed((*plain)(d), d.TimesCompared)
}
