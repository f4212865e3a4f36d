package matrixfile

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// pythonMatrix holds what Python must find in the files of a matrix.
type pythonMatrix struct {
	N         int        `json:"n"`
	Symmetric bool       `json:"symmetric"`
	Labels    []string   `json:"labels"`
	Bytes     [][]uint64 `json:"bytes"` // sum of both directions, if symmetric
	Messages  [][]uint64 `json:"messages"`
}

// TestPython reads matrices with scipy, numpy, pandas, pyarrow, polars and
// DuckDB: those of a stencil of 64 ranks, directed and symmetric, and one with
// names and numbers that are hard to read. The expected values are computed by
// formula.
func TestPython(t *testing.T) {
	j := synth.NewStencil(64)
	directed := sheetsOf(t, j)[matrix.All]
	mean := symmetric(sheetsOf(t, j)[matrix.All])
	named := sheetOf(3, entry{0, 1, 5, 2}, entry{2, 2, 1<<64 - 1, 1}, entry{1, 0, 0, 3})
	named.Labels, named.Line = []string{"a,b", `c "d"`, "é node"}, "node"
	hard := func(from, to int) (v synth.Volume) {
		e := named.Matrix.At(from, to)
		return synth.Volume{Bytes: e.Bytes, Messages: e.Messages}
	}
	dir := t.TempDir()
	for _, m := range []struct {
		name string
		s    *Sheet
		at   func(from, to int) synth.Volume
	}{{"directed", directed, j.All}, {"mean", mean, j.All}, {"named", named, hard}} {
		writeForPython(t, filepath.Join(dir, m.name), m.s, m.at)
	}
	testenv.Pytest(t, []string{"MPITRACE_MATRICES=" + dir}, "test_matrix.py")
}

// writeForPython writes a matrix in all formats, and known.json.
func writeForPython(t *testing.T, dir string, s *Sheet, at func(from, to int) synth.Volume) {
	t.Helper()
	testenv.Mkdir(t, dir)
	put := func(name, text string) {
		testenv.WriteFile(t, filepath.Join(dir, name), text)
	}
	for _, f := range Table {
		for _, q := range f.Quantities {
			put(fmt.Sprintf("%s.%s", q, f.Name), written(t, f.Name, s, q))
		}
		if f.Quantities == nil {
			put("matrix."+f.Name, written(t, f.Name, s, Size))
		}
	}
	known := pythonMatrix{N: s.N, Symmetric: s.Symmetric, Labels: s.Labels}
	for from := range s.N {
		bytes, messages := make([]uint64, s.N), make([]uint64, s.N)
		for to := range s.N {
			v := at(from, to)
			if s.Symmetric {
				back := at(to, from)
				v.Bytes, v.Messages = v.Bytes+back.Bytes, v.Messages+back.Messages
			}
			bytes[to], messages[to] = v.Bytes, v.Messages
		}
		known.Bytes, known.Messages = append(known.Bytes, bytes), append(known.Messages, messages)
	}
	text, err := json.Marshal(known)
	testenv.NoError(t, err)
	put("known.json", string(text))
}
