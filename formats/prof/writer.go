package prof

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Write writes t in the format of Open MPI, section by section.
func Write(w io.Writer, t *profile.Traffic) error {
	flows := slices.Clone(t.Flows)
	profile.SortFlows(flows)
	b := bufio.NewWriterSize(w, 64<<10)
	b.WriteString("# POINT TO POINT\n")
	writeFlows(b, flows, "EI")
	b.WriteString("# OSC\n")
	writeFlows(b, flows, "SR")
	b.WriteString("# COLLECTIVES\n")
	writeFlows(b, flows, "C")
	for i := range t.Comms {
		writeComm(b, &t.Comms[i])
	}
	return b.Flush() // also returns an earlier error
}

func writeFlows(b *bufio.Writer, flows []profile.Flow, kinds string) {
	var line []byte
	for i := range flows {
		if f := &flows[i]; strings.IndexByte(kinds, byte(f.Kind)) >= 0 {
			line = appendFlow(line[:0], f)
			b.Write(line)
		}
	}
}

// appendFlow appends a line of a pair. An I line without histogram ends after
// `sent`: so does Open MPI's if the pair's E line has the histogram.
func appendFlow(line []byte, f *profile.Flow) []byte {
	line = append(line, byte(f.Kind), '\t')
	line = strconv.AppendInt(line, int64(f.From), 10)
	line = append(line, '\t')
	line = strconv.AppendInt(line, int64(f.To), 10)
	line = appendVolume(line, f.Bytes, f.Messages)
	if f.Histogram != nil {
		separator := byte('\t')
		for _, n := range f.Histogram {
			line = append(line, separator)
			line = strconv.AppendUint(line, n, 10)
			separator = ','
		}
	}
	return append(line, '\n')
}

func appendVolume(line []byte, bytes, count uint64) []byte {
	line = append(line, '\t')
	line = strconv.AppendUint(line, bytes, 10)
	line = append(line, " bytes\t"...)
	line = strconv.AppendUint(line, count, 10)
	return append(line, " msgs sent"...)
}

// writeComm writes a D block. If no member is known it writes only the D line.
func writeComm(b *bufio.Writer, c *profile.CommTraffic) {
	line := append([]byte("D\t"), text.Field(c.Name)...) // Field removes line ends from the name
	line = append(line, "\tprocs: "...)
	separator := ""
	for _, r := range c.Members {
		if r < 0 { // a process outside this MPI_COMM_WORLD has no world rank
			continue
		}
		line = append(line, separator...)
		line = strconv.AppendInt(line, int64(r), 10)
		separator = ","
	}
	b.Write(append(line, '\n'))
	if c.Rank < 0 {
		return
	}
	for _, v := range []struct {
		kind   string
		volume profile.FlowVolume
	}{{"O2A", c.O2A}, {"A2O", c.A2O}, {"A2A", c.A2A}} {
		line = append(append(line[:0], v.kind...), '\t')
		line = strconv.AppendInt(line, int64(c.Rank), 10)
		line = appendVolume(line, v.volume.Bytes, v.volume.Count)
		b.Write(append(line, '\n'))
	}
}
