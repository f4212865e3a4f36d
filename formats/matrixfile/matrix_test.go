package matrixfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

type entry struct {
	from, to        int
	bytes, messages uint64
}

func matrixOf(entries ...entry) *matrix.Matrix {
	m := new(matrix.Matrix)
	for _, e := range entries {
		m.Add(matrix.Pair{From: e.from, To: e.to}, matrix.Volume{Bytes: e.bytes, Messages: e.messages})
	}
	return m
}

// sheetOf returns a directed matrix of ranks.
func sheetOf(n int, entries ...entry) *Sheet {
	return &Sheet{Matrix: matrixOf(entries...), N: n, Pairs: len(entries), Line: "rank", Program: "app", Class: matrix.External}
}

// symmetric returns the mean of both directions of a sheet.
func symmetric(s *Sheet) *Sheet {
	s.Matrix, s.Symmetric = s.Matrix.Symmetric(), true
	return s
}

// written returns the output of a format.
func written(t *testing.T, format string, s *Sheet, q Quantity) string {
	t.Helper()
	var b strings.Builder
	if err := find(format).Write(&b, s, q); err != nil {
		t.Fatalf("%s of %s: %v", format, q, err)
	}
	return b.String()
}

func expect(t *testing.T, format string, s *Sheet, want map[Quantity]string) {
	t.Helper()
	for q, text := range want {
		if diff := cmp.Diff(text, written(t, format, s, q)); diff != "" {
			t.Errorf("%s of %s:\n%s", format, q, diff)
		}
	}
}

// directed returns a matrix with a sum of 64 bits, messages of 0 bytes, an
// entry of zeros, and averages of 2.5 and 3.5.
func directed() *Sheet {
	return sheetOf(4, entry{0, 1, 5, 2}, entry{1, 0, 7, 2}, entry{2, 2, 1<<64 - 1, 1}, entry{0, 2, 0, 3}, entry{1, 1, 0, 0})
}

// means returns a symmetric matrix. Ranks 0 and 1: 5+0 bytes in 1+0 messages; 0
// and 2: 3+4 in 2+1; rank 1 to itself: 6 in 4.
func means() *Sheet {
	return symmetric(sheetOf(3, entry{0, 1, 5, 1}, entry{0, 2, 3, 2}, entry{2, 0, 4, 1}, entry{1, 1, 6, 4}))
}

func TestMat(t *testing.T) {
	expect(t, "mat", directed(), map[Quantity]string{
		Size: "0 5 0 0 \n7 0 0 0 \n0 0 18446744073709551615 0 \n0 0 0 0 \n",
		Msg:  "0 2 3 0 \n2 0 0 0 \n0 0 1 0 \n0 0 0 0 \n",
		Avg:  "0 2 0 0 \n4 0 0 0 \n0 0 18446744073709551615 0 \n0 0 0 0 \n", // halves to even
	})
	expect(t, "mat", means(), map[Quantity]string{
		Size: "0 2 4 \n2 6 0 \n4 0 0 \n", // 2.5 and 3.5 to even
		Msg:  "0 0 2 \n0 4 0 \n2 0 0 \n", // 0.5 and 1.5 to even
		Avg:  "0 5 2 \n5 2 0 \n2 0 0 \n", // 5, 7/3, 6/4
	})
}

// TestMatOfManyZeros writes runs of zeros longer than the buffer.
func TestMatOfManyZeros(t *testing.T) {
	const n = 5000
	lines := strings.SplitAfter(written(t, "mat", sheetOf(n, entry{1, n - 1, 7, 1}, entry{2, 0, 8, 1}), Size), "\n")
	zeros := strings.Repeat("0 ", n-1)
	for i, line := range lines[:n] {
		want := zeros + "0 \n"
		switch i {
		case 1:
			want = zeros + "7 \n"
		case 2:
			want = "8 " + zeros + "\n"
		}
		if line != want {
			t.Fatalf("line %d is of %d bytes, %d wanted", i, len(line), len(want))
		}
	}
	if len(lines) != n+1 || lines[n] != "" {
		t.Errorf("%d lines", len(lines))
	}
}

// TestTitleOfSelection checks that the selection is next to the title, and that
// the title does not claim to include everything.
func TestTitleOfSelection(t *testing.T) {
	s := directed()
	s.Class, s.Selection = matrix.All, "comm x"
	if got, want := s.title(Size), "bytes from rank to rank: all classes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMtx(t *testing.T) {
	s := directed()
	s.Run, s.Selection = "run\n7", "call Isend"
	const about = "%% line: from, column: to; rank 0 is line 1\n%% class: external\n%% line: rank\n%% program: app\n%% run: run\\n7\n%% selection: call Isend\n"
	head := func(field, what string, n int) string {
		return fmt.Sprintf("%%%%MatrixMarket matrix coordinate %s general\n%% %s from rank to rank: point-to-point\n"+about+"4 4 %d\n", field, what, n)
	}
	expect(t, "mtx", s, map[Quantity]string{
		Size: head("integer", "bytes", 3) + "1 2 5\n2 1 7\n3 3 18446744073709551615\n",
		Msg:  head("integer", "messages", 4) + "1 2 2\n1 3 3\n2 1 2\n3 3 1\n",
		Avg:  head("real", "bytes per message", 3) + "1 2 2.5\n2 1 3.5\n3 3 1.8446744073709552e+19\n",
	})
	half := func(what string, n int) string {
		return fmt.Sprintf("%%%%MatrixMarket matrix coordinate real symmetric\n%% %s between ranks, mean of both directions: point-to-point\n"+
			"%% class: external\n%% line: rank\n%% program: app\n3 3 %d\n", what, n)
	}
	expect(t, "mtx", means(), map[Quantity]string{
		Size: half("bytes", 3) + "2 1 2.5\n2 2 6\n3 1 3.5\n",
		Msg:  half("messages", 3) + "2 1 0.5\n2 2 4\n3 1 1.5\n",
		Avg:  half("bytes per message", 3) + "2 1 5\n2 2 1.5\n3 1 2.3333333333333335\n",
	})
}

func TestNpy(t *testing.T) {
	array := func(kind string, n int, cells ...any) string {
		var b bytes.Buffer
		dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", kind, n, n)
		fmt.Fprintf(&b, "\x93NUMPY\x01\x00v\x00%-117s\n", dict) // 10 + 118 = 2 * 64
		for _, c := range cells {
			binary.Write(&b, binary.LittleEndian, c)
		}
		return b.String()
	}
	expect(t, "npy", directed(), map[Quantity]string{
		Size: array("<u8", 4, []uint64{0, 5, 0, 0, 7, 0, 0, 0, 0, 0, 1<<64 - 1, 0, 0, 0, 0, 0}),
		Msg:  array("<u8", 4, []uint64{0, 2, 3, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}),
		Avg:  array("<f8", 4, []float64{0, 2.5, 0, 0, 3.5, 0, 0, 0, 0, 0, 1 << 64, 0, 0, 0, 0, 0}),
	})
	expect(t, "npy", means(), map[Quantity]string{
		Size: array("<f8", 3, []float64{0, 2.5, 3.5, 2.5, 6, 0, 3.5, 0, 0}),
		Msg:  array("<f8", 3, []float64{0, 0.5, 1.5, 0.5, 4, 0, 1.5, 0, 0}),
		Avg:  array("<f8", 3, []float64{0, 5, 7. / 3, 5, 1.5, 0, 7. / 3, 0, 0}),
	})
}

func TestCSV(t *testing.T) {
	expect(t, "csv", directed(), map[Quantity]string{
		Size: "sender,receiver,messages,bytes\n0,1,2,5\n0,2,3,0\n1,0,2,7\n2,2,1,18446744073709551615\n"})
	s := means()
	s.Labels = []string{"a,b", `c"d`, "plain"}
	expect(t, "csv", s, map[Quantity]string{
		Size: "sender,receiver,messages,bytes\n\"a,b\",\"c\"\"d\",0.5,2.5\n\"a,b\",plain,1.5,3.5\n" +
			"\"c\"\"d\",\"a,b\",0.5,2.5\n\"c\"\"d\",\"c\"\"d\",4,6\nplain,\"a,b\",1.5,3.5\n"})
}

func TestJSON(t *testing.T) {
	text := written(t, "json", directed(), Size)
	const want = `{"class": "external",
 "line": "rank",
 "program": "app",
 "n": 4,
 "symmetric": false,
 "messages": 8,
 "bytes": 11,
 "columns": ["sender", "receiver", "messages", "bytes"],
 "entries": [
  [0,1,2,5],
  [0,2,3,0],
  [1,0,2,7],
  [2,2,1,18446744073709551615]]}
` // bytes are a sum modulo 2^64
	testenv.Equal(t, want, text)
	s := means()
	s.Labels = []string{"a", "\"b", "c"}
	var got map[string]any
	testenv.NoError(t, json.Unmarshal([]byte(written(t, "json", s, Size)), &got))
	if diff := cmp.Diff(map[string]any{"class": "external", "line": "rank", "program": "app", "n": 3., "symmetric": true,
		"labels": []any{"a", "\"b", "c"}, "messages": 8., "bytes": 18., "columns": []any{"sender", "receiver", "messages", "bytes"},
		"entries": []any{[]any{0., 1., .5, 2.5}, []any{0., 2., 1.5, 3.5}, []any{1., 0., .5, 2.5}, []any{1., 1., 4., 6.}, []any{2., 0., 1.5, 3.5}}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDivideRoundsHalvesToEven(t *testing.T) {
	const most = 1<<64 - 1
	for _, c := range []struct{ a, b, want uint64 }{
		{0, 0, 0}, {9, 0, 0}, {0, 7, 0}, {1, 2, 0}, {3, 2, 2}, {5, 2, 2}, {7, 2, 4},
		{1, 3, 0}, {2, 3, 1}, {1<<53 + 1, 2, 1 << 52}, {1<<53 + 3, 2, 1<<52 + 2},
		{most, 2, 1 << 63}, {most - 1, most, 1}, {1 << 63, most, 1}, {1<<63 - 1, most, 0}, {most, 1, most},
	} {
		if got := divide(c.a, c.b); got != c.want {
			t.Errorf("divide(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestPictures checks that a picture has one cell per pair of lines if there
// are few lines, and bins that sum blocks of lines if there are many.
func TestPictures(t *testing.T) {
	h := Heatmap(directed(), Size)
	testenv.Equal(t, [][]float64{{0, 5, 0, 0}, {7, 0, 0, 0}, {0, 0, 1 << 64, 0}, {0, 0, 0, 0}}, h.Cells)
	if h.Title != "app: bytes from rank to rank: point-to-point" || h.Note(0, 1) != "2 messages" || h.PerBin != 1 || h.Unit != plot.Bytes {
		t.Errorf("got %q, %q, %d", h.Title, h.Note(0, 1), h.PerBin)
	}
	s := means()
	s.Selection, s.Labels = "call Isend", []string{"a", "b", "c"}
	h = Heatmap(s, Msg)
	testenv.Equal(t, [][]float64{{0, .5, 1.5}, {.5, 4, 0}, {1.5, 0, 0}}, h.Cells)
	if h.Title != "app: messages between ranks, mean of both directions: point-to-point (call Isend)" || h.Note(0, 1) != "2.5 bytes" || h.Unit != plot.Count {
		t.Errorf("got %q, %q", h.Title, h.Note(0, 1))
	}
	big := sheetOf(100_000, entry{0, 99_999, 6, 1}, entry{1, 99_998, 8, 3}, entry{50_000, 50_000, 9, 1})
	h = Heatmap(big, Avg)
	last := len(h.Cells) - 1
	if h.PerBin < 2 || len(h.Cells) != (100_000+h.PerBin-1)/h.PerBin || h.Cells[0][last] != 3.5 || h.Cells[50_000/h.PerBin][50_000/h.PerBin] != 9 || !h.Mean {
		t.Errorf("%d lines a bin, %d bins, %v", h.PerBin, len(h.Cells), h.Cells[0][last])
	}
}

// TestEmpty checks that an empty matrix is written as zeros in each format.
func TestEmpty(t *testing.T) {
	for _, f := range Table {
		for _, q := range append([]Quantity{Size}, f.Quantities...) {
			s := sheetOf(2)
			text := written(t, f.Name, s, q)
			if least := f.MinSize(s); uint64(len(text)) < least {
				t.Errorf("%s of %s: %d bytes, MinSize says at least %d", f.Name, q, len(text), least)
			}
			if f.Name == "mat" && text != "0 0 \n0 0 \n" {
				t.Errorf("got %q", text)
			}
		}
	}
}

// TestMinSize checks that no format writes fewer bytes than its MinSize.
func TestMinSize(t *testing.T) {
	for _, f := range Table {
		for _, s := range []*Sheet{directed(), means()} {
			if text, least := written(t, f.Name, s, Size), f.MinSize(s); uint64(len(text)) < least {
				t.Errorf("%s: %d bytes, MinSize says at least %d", f.Name, len(text), least)
			}
		}
	}
}

func TestFind(t *testing.T) {
	found, err := Find([]string{"csv", "mat", "csv"})
	if err != nil || len(found) != 2 || found[0].Name != "csv" || found[1].Name != "mat" {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := Find([]string{"mat", "xls"}); err == nil || !strings.HasPrefix(err.Error(), `unknown format "xls": the formats are mat, mtx, npy, csv,`) {
		t.Errorf("got error %v", err)
	}
}

// TestWriteErrorIsReported checks errors at the first byte, and in the middle
// of a matrix that is larger than the buffer.
func TestWriteErrorIsReported(t *testing.T) {
	const n = 300
	s := sheetOf(n)
	for i := range n * n {
		s.Matrix.Add(matrix.Pair{From: i / n, To: i % n}, matrix.Volume{Bytes: uint64(i)<<40 ^ uint64(i*i), Messages: uint64(i%7) + 1})
	}
	for _, f := range Table {
		length := len(written(t, f.Name, s, Size))
		for _, room := range []int{0, length / 2, length - 1} {
			if err := f.Write(&testenv.FullWriter{Room: room}, s, Size); !errors.Is(err, testenv.ErrFull) {
				t.Errorf("%s after %d bytes: got error %v", f.Name, room, err)
			}
		}
	}
}
