package matrixfile

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/plot"
)

func writePNG(w io.Writer, s *Sheet, q Quantity) error { return plot.Write(w, ".png", Heatmap(s, q)) }

func writeSVG(w io.Writer, s *Sheet, q Quantity) error { return plot.Write(w, ".svg", Heatmap(s, q)) }

// Heatmap returns the picture of a quantity. If there are more lines than can
// be shown, each bin is the sum of several.
func Heatmap(s *Sheet, q Quantity) *plot.Heatmap {
	perBin, bins := plot.Bins(s.N)
	h := &plot.Heatmap{Title: s.title(q), Quantity: q.Text(), Unit: plot.Bytes, Mean: q == Avg, N: s.N, PerBin: perBin,
		Cells: make([][]float64, bins), AxisName: s.Line, Labels: s.Labels}
	if q == Msg {
		h.Unit = plot.Count
	}
	if s.Program != "" {
		h.Title = s.Program + ": " + h.Title
	}
	if s.Selection != "" {
		h.Title += " (" + s.Selection + ")"
	}
	m := s.Matrix
	if perBin > 1 {
		m = m.Fold(func(line int) int { return line / perBin })
	}
	for i := range h.Cells {
		h.Cells[i] = make([]float64, bins)
	}
	for p, v := range m.All() {
		h.Cells[p.From][p.To] = s.double(q, v)
	}
	h.Note = func(from, to int) string { return s.note(q, m.At(from, to)) }
	return h
}

// note returns the text of a cell: the quantities that its colour does not
// show.
func (s *Sheet) note(q Quantity, v matrix.Volume) string {
	messages, bytes := s.exact(Msg), s.exact(Size)
	switch q {
	case Size:
		return fmt.Sprintf("%s messages", messages(nil, v))
	case Msg:
		return fmt.Sprintf("%s bytes", bytes(nil, v))
	}
	return fmt.Sprintf("%s messages, %s bytes", messages(nil, v), bytes(nil, v))
}
