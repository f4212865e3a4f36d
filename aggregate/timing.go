package aggregate

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// Mixed is the value of a setting that differs between the processes of a job.
const Mixed = "mixed"

// Variance is the variance of an estimated time, in ns²; 0 for a measured time.
// If times are added up, so are their variances. JSON has the standard error in
// ns instead.
type Variance float64

// StandardError returns the square root of the variance, in ns.
func (v Variance) StandardError() float64 { return math.Sqrt(float64(v)) }

// varianceOf returns the variance of a row's time.
func varianceOf(r *profile.Row) Variance {
	return Variance(r.TimeErrorNs) * Variance(r.TimeErrorNs)
}

// MarshalJSON returns the standard error in whole ns.
func (v Variance) MarshalJSON() ([]byte, error) { return json.Marshal(math.Round(v.StandardError())) }

// UnmarshalJSON parses what MarshalJSON returns; null is 0.
func (v *Variance) UnmarshalJSON(text []byte) error {
	var ns float64
	err := json.Unmarshal(text, &ns)
	*v = Variance(ns * ns)
	return err
}

// setting returns the value of a setting, or Mixed if it differs between
// processes.
func (j *Job) setting(of func(*processFacts) string) string {
	word := ""
	ps := j.ordered()
	for i := range ps {
		switch own := of(&ps[i]); {
		case word == "":
			word = own
		case own != word:
			return Mixed
		}
	}
	return word
}

func (p *processFacts) timingWord() string   { return p.timing }
func (p *processFacts) receivesWord() string { return profile.ReceivesText(p.unfollowed) }

// Timed reports whether the calls of the process were timed.
func (t *RankTimes) Timed() bool { return t.Timing != profile.TimingOff.String() }

// Timed reports whether any calls of the job were timed.
func (s *Summary) Timed() bool { return s.Timing != profile.TimingOff.String() }

// ofCalls holds the JSON keys whose values are computed from the times of
// calls.
var ofCalls = map[string]bool{"time_ns": true, "time_error_ns": true, "mean_ns": true, "min_ns": true, "max_ns": true,
	"time_per_rank": true, "mpi_time_s": true, "mpi_time_error_s": true, "init_finalize_time_s": true,
	"init_finalize_time_ns": true, "mpi_share": true}

// ofProcesses holds the JSON keys of how long processes ran.
var ofProcesses = map[string]bool{"wall_time_s": true, "application_time_s": true, "thread_time_s": true}

// withoutTimes replaces times that were not measured by null, because 0 would
// look like a measurement. It keeps the order of the keys.
func withoutTimes(raw []byte, keys map[string]bool) []byte {
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
			key, _ := in.Token() // no error: the encoder wrote it
			unknown = keys[key.(string)]
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
		out = append(out, withoutTimes(value, keys)...)
	}
	return append(out, byte(open)+2) // in ASCII, ] and } are 2 after [ and {
}

// marshalTimed returns v as JSON, with times of calls only if timed, and lifetimes only if
// wall, the longest, is known.
func marshalTimed(v any, timed bool, wall float64) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err == nil && !timed {
		raw = withoutTimes(raw, ofCalls)
	}
	if err == nil && wall == 0 {
		raw = withoutTimes(raw, ofProcesses)
	}
	return raw, err
}

// MarshalJSON returns JSON with null for times that were not measured.
func (t RankTimes) MarshalJSON() ([]byte, error) {
	type plain RankTimes
	return marshalTimed(plain(t), t.Timed(), t.WallTimeS)
}

// MarshalJSON returns JSON with null for times that were not measured.
func (s *Summary) MarshalJSON() ([]byte, error) {
	type plain Summary
	return marshalTimed((*plain)(s), s.Timed(), s.WallTimeS)
}

// summaryFields is a Summary without methods, to be embedded in another struct.
type summaryFields Summary

// MarshalJSON returns JSON with null for times that were not measured.
func (s *RankSummary) MarshalJSON() ([]byte, error) {
	return marshalTimed(struct {
		Rank int `json:"rank"`
		*summaryFields
		Peers []Peer       `json:"peers"`
		Comms []CommTotals `json:"communicators"`
	}{s.Rank, (*summaryFields)(&s.Summary), s.Peers, s.Comms}, s.Timed(), s.WallTimeS)
}

// MarshalJSON returns JSON with null for times that were not compared.
func (d *Diff) MarshalJSON() ([]byte, error) {
	type plain Diff
	return marshalTimed((*plain)(d), d.TimesCompared, 1)
}
