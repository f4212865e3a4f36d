package views

import (
	"fmt"
	"math"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

// Series is a list of bars. A chart shows one of its series at a time.
type Series struct {
	Name string     `json:"name"`
	Bars []ChartBar `json:"bars"`
}

// ChartBar is a bar of a chart.
type ChartBar struct {
	Name string `json:"name"`
	N    uint64 `json:"n"`
	Text string `json:"text"`
	// From and To limit the compute times of the ranks in the bar, in ns; 0 if it is not about ranks.
	From float64 `json:"from,omitempty"`
	To   float64 `json:"to,omitempty"`
}

// chart adds a chart of bars.
func (s *Section) chart(title string, series ...Series) {
	s.Blocks = append(s.Blocks, Block{Drawing: &Drawing{Name: "bars", Title: title, Series: series}, Detail: true})
}

// The number of bars of a distribution, and the least number of ranks that has one.
const (
	mostBars   = 40
	leastRanks = 8
)

// distribution adds the chart of how many ranks compute for how long.
func (s *report) distribution(out *Section) {
	var times []float64
	low, high := math.Inf(1), 0.0
	for i := range s.Ranks {
		if ns, known := s.Ranks[i].UsefulNs(); known {
			times = append(times, ns)
			low, high = min(low, ns), max(high, ns)
		}
	}
	if len(times) < leastRanks {
		return
	}
	n := min(mostBars, int(math.Ceil(math.Sqrt(float64(len(times)))))+1)
	width := (high - low) / float64(n)
	if width == 0 {
		width = 1
	}
	bars := make([]ChartBar, n)
	for _, ns := range times {
		bars[min(n-1, int((ns-low)/width))].N++
	}
	for k := range bars {
		b := &bars[k]
		b.From = low + float64(k)*width
		b.To = b.From + width
		b.Name = duration(b.From + width/2)
		b.Text = fmt.Sprintf("%s compute from %s to %s", text.CountOf(b.N, "rank"), duration(b.From), duration(b.To))
	}
	out.chart("how many ranks compute for how long", Series{"all ranks", bars})
}

// sizeChart adds the chart of the messages of each size class, of one call or all.
func sizeChart(out *Section, calls []aggregate.CallSizes) {
	first, last := uint8(math.MaxUint8), uint8(0)
	for i := range calls {
		sizes := calls[i].Sizes
		first, last = min(first, sizes[0].SizeClass), max(last, sizes[len(sizes)-1].SizeClass)
	}
	all := make([]matrix.Volume, int(last-first)+1)
	list := []Series{{}}
	for i := range calls {
		volumes := make([]matrix.Volume, len(all))
		for _, size := range calls[i].Sizes {
			k := size.SizeClass - first
			volumes[k] = size.Volume
			all[k].Messages, all[k].Bytes = all[k].Messages+size.Messages, all[k].Bytes+size.Bytes
		}
		list = append(list, Series{calls[i].Call, sizeBars(first, volumes)})
	}
	list[0] = Series{"all calls", sizeBars(first, all)}
	out.chart("messages by size", list...)
}

// sizeBars returns the bars of size classes. A class begins at twice the size of the one before.
func sizeBars(first uint8, volumes []matrix.Volume) (bars []ChartBar) {
	for i, v := range volumes {
		name, size := "0 B", "0 B"
		if k := int(first) + i; k > 0 {
			least := uint64(1) << (k - 1)
			name = round(text.Bytes(least))
			size = name + " to < " + round(text.Bytes(2*least))
		}
		bars = append(bars, ChartBar{Name: name, N: v.Messages, Text: fmt.Sprintf("%s: %s, %s", size, text.CountOf(v.Messages, "message"), text.Bytes(v.Bytes))})
	}
	return bars
}

// round removes the decimals of a power of two: 1.00 KiB is 1 KiB.
func round(size string) string { return strings.NewReplacer(".00 ", " ", ".0 ", " ").Replace(size) }
