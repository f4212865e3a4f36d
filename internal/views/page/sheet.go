package page

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// maxEntries is the largest number of entries of a sheet. It keeps the page of 10,000
// ranks with 26 peers each exact.
const maxEntries = 300_000

// MatrixData is a matrix in the page: see docs/page.md.
type MatrixData struct {
	Class    string   `json:"class"`
	Side     string   `json:"side,omitempty"` // A or B in a diff
	Unit     string   `json:"unit"`           // rank or node
	Ranks    int      `json:"ranks"`
	Block    int      `json:"block"` // ranks in a line
	Lines    int      `json:"lines"`
	Entries  []int    `json:"entries"`
	Columns  []int    `json:"columns"`
	Bytes    []amount `json:"bytes"`
	Messages []amount `json:"messages"`
}

// amount is a number in JSON, and a string of digits above 2^53, which JavaScript's
// numbers cannot hold.
type amount uint64

func (a amount) MarshalJSON() ([]byte, error) {
	digits := strconv.AppendUint(nil, uint64(a), 10)
	if a > 1<<53 {
		digits = slices.Concat([]byte{'"'}, digits, []byte{'"'})
	}
	return digits, nil
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (a *amount) UnmarshalJSON(data []byte) error {
	if len(data) > 1 && data[0] == '"' {
		data = data[1 : len(data)-1]
	}
	return json.Unmarshal(data, (*uint64)(a))
}

// class names a class of matrices in the page.
type class struct {
	name string
	*matrix.Matrix
}

// sheetsOf returns the sheets of the classes of a job that have entries.
func sheetsOf(j *aggregate.Job) []MatrixData {
	ms := j.Matrices()
	classes := []class{{"point-to-point", &ms[matrix.External]}, {"one-sided", &ms[matrix.OneSided]}, {"collectives", &ms[matrix.Collective]}}
	classes = slices.DeleteFunc(classes, func(c class) bool { return c.Empty() })
	if len(classes) > 1 {
		classes = append(classes, class{"all", &ms[matrix.All]})
	}
	if !ms[matrix.Internal].Empty() {
		classes = append(classes, class{"internal", &ms[matrix.Internal]})
	}
	hosts, hostOf := j.Hosts()
	ranks := j.Size()
	for _, c := range classes { // others may name ranks that were not recorded
		ranks = max(ranks, c.Size())
	}
	out := []MatrixData{}
	for _, c := range classes {
		s := sheetOf(c, ranks)
		out = append(out, s)
		if s.Block > 1 && len(hosts) > 1 {
			if m := c.Fold(hostOf); fits(m) {
				nodes := MatrixData{Class: c.name, Unit: "node", Ranks: ranks, Block: 1, Lines: len(hosts)}
				nodes.fill(m)
				out = append(out, nodes)
			}
		}
	}
	return out
}

// sheetOf returns the sheet of a matrix with the smallest blocks that keep it within
// maxEntries.
func sheetOf(c class, ranks int) MatrixData {
	block, m := 1, c.Matrix
	// A row of the folded matrix has an entry if one of its rows has.
	for rows := m.Rows(); rows > maxEntries*block; block *= 2 {
	}
	if block > 1 {
		first := block
		m = m.Fold(func(rank int) int { return rank / first })
	}
	for !fits(m) {
		block, m = 2*block, m.Fold(func(line int) int { return line / 2 })
	}
	s := MatrixData{Class: c.name, Unit: "rank", Ranks: ranks, Block: block, Lines: (ranks + block - 1) / block}
	s.fill(m)
	return s
}

// fits reports whether a matrix has at most maxEntries entries, which it counts without making
// them: those of a collective of 16,384 nodes would take gigabytes.
func fits(m *matrix.Matrix) bool {
	n, exact := m.LenUpTo(maxEntries)
	return exact && n <= maxEntries
}

// fill sets the entries.
func (s *MatrixData) fill(m *matrix.Matrix) {
	rows := matrix.Compress(s.Lines, 0, m.All())
	s.Entries, s.Columns = make([]int, s.Lines), make([]int, 0, len(rows.Column))
	s.Bytes, s.Messages = make([]amount, 0, len(rows.Value)), make([]amount, 0, len(rows.Value))
	for line := range s.Lines {
		columns, volumes := rows.Row(line)
		s.Entries[line] = len(columns)
		before := line
		for i, column := range columns {
			s.Columns = append(s.Columns, int(column)-before)
			s.Bytes, s.Messages = append(s.Bytes, amount(volumes[i].Bytes)), append(s.Messages, amount(volumes[i].Messages))
			before = int(column)
		}
	}
}
