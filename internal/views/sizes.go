package views

import (
	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// sizeBands holds the columns of the table of message sizes. A band ends before
// the size class `below`.
var sizeBands = []struct {
	key, head string
	below     uint8
}{{"0", "0 B", 1}, {"below_64", "< 64 B", 7}, {"below_1k", "< 1 KiB", 11}, {"below_8k", "< 8 KiB", 14}, {"below_64k", "< 64 KiB", 17},
	{"below_1m", "< 1 MiB", 21}, {"below_16m", "< 16 MiB", 25}, {"more", ">= 16 MiB", profile.NumSizeClasses}}

// meanSize returns the mean size of messages; 0 if there are none.
func meanSize(v matrix.Volume) uint64 {
	if v.Messages == 0 {
		return 0
	}
	return (v.Bytes + v.Messages/2) / v.Messages
}

// sizes returns the section of how many messages of each size each MPI function sent.
func (s *report) sizes() Section {
	out := Section{ID: "sizes", Title: "Sizes"}
	if len(s.MessageSizes) == 0 {
		return out
	}
	sizeChart(&out, s.MessageSizes)
	out.Add(s.bandTable())
	out.Detail(func() { out.Add(classSizeTable(s.MessageSizes)) })
	return out
}

// bandTable returns the table of calls and sizes. Bands without messages are left out.
func (s *report) bandTable() *Table {
	type R = aggregate.CallSizes
	columns := []column[R]{col("call", "call", Words, func(c *R) Cell { return wordsCell(c.Call) })}
	for k, band := range sizeBands {
		used := false
		for i := range s.MessageSizes {
			used = used || inBand(&s.MessageSizes[i], k) > 0
		}
		columns = append(columns, col("messages_"+band.key, band.head, Count, func(c *R) Cell {
			if n := inBand(c, k); n > 0 {
				return countCell(n)
			}
			return missing
		}).when(used))
	}
	columns = append(columns,
		col("mean_size", "mean size", Bytes, func(c *R) Cell {
			total := c.Total()
			return bytesCell(meanSize(total))
		}).spare(1),
		col("largest", "largest", Bytes, func(c *R) Cell {
			most := c.Sizes[len(c.Sizes)-1].Most
			if most == 0 {
				return bytesCell(0)
			}
			return Cell{"< " + text.Bytes(most+1), most}
		}))
	return tableOf("message_sizes", s.MessageSizes, columns...).named("messages by size").top(s.Top, "call", topAll)
}

// inBand returns the number of messages in a band.
func inBand(c *aggregate.CallSizes, k int) (n uint64) {
	for _, s := range c.Sizes {
		if s.SizeClass < sizeBands[k].below && (k == 0 || s.SizeClass >= sizeBands[k-1].below) {
			n += s.Messages
		}
	}
	return n
}

// classSizeTable returns the table of calls and size classes.
func classSizeTable(calls []aggregate.CallSizes) *Table {
	type R struct {
		call string
		aggregate.SizeCount
	}
	var list []R
	for i := range calls {
		for _, size := range calls[i].Sizes {
			list = append(list, R{calls[i].Call, size})
		}
	}
	volume := func(r *R) *matrix.Volume { return &r.Volume }
	return tableOf("size_classes", list,
		col("call", "call", Words, func(r *R) Cell { return wordsCell(r.call) }),
		col("size", "size", Bytes, func(r *R) Cell {
			if r.Most == 0 {
				return bytesCell(0)
			}
			return Cell{text.Bytes(r.Least) + " to < " + text.Bytes(r.Most+1), r.Least}
		}),
		messagesColumn("msgs", volume), bytesColumn("bytes", volume),
		col("mean_size", "mean size", Bytes, func(r *R) Cell { return bytesCell(meanSize(r.Volume)) }),
		col("calls", "calls", Count, func(r *R) Cell { return countCell(r.Calls) }),
	).named("messages by call and size; for collectives, of their logical volume")
}
