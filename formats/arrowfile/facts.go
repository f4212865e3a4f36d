package arrowfile

import (
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// fact is a row of profile.arrow. Its row has no Comm, Peer, Callsite and Slice.
type fact struct {
	profile.Row
	internal    bool // of class internal, see table.Internal
	timed       bool
	comm, slice string
	peer        int32 // world rank, -1 if there is none
	site        siteText
}

// Facts iterates over the rows of a file in their order. They have the fields of their own
// columns: no Comm, Peer, Callsite and Slice.
func Facts(path string) iter.Seq2[profile.Row, error] {
	return func(yield func(profile.Row, error) bool) {
		rows := newRows(path, new(runOrder), table.ProfileColumns, decodeFacts)
		err := rows.each(func(_ key, f fact) error {
			if !yield(f.Row, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			yield(profile.Row{}, err)
		}
	}
}

// runSlice is the name of the first slice.
const runSlice = "run"

func decodeFacts(c *columns) func(int) (fact, error) {
	thread, call, class, direction := c.number("thread"), c.word("call"), c.text("class"), c.word("direction")
	comm, slice, peer := c.word("comm"), c.text("slice"), c.integers("peer", math.MinInt32, math.MaxInt32)
	sizeClass := c.integers("size_class", 0, profile.NumSizeClasses-1)
	calls, messages, bytes := c.count("calls"), c.count("messages"), c.count("bytes")
	time, timeError := c.integers("time_ns", 0, math.MaxUint64), c.count("time_error_ns")
	least, most := c.count("min_ns"), c.count("max_ns")
	site := decodeSite(c)
	return func(i int) (f fact, err error) {
		f.Thread, f.Call = thread(i), call(i)
		f.Calls, f.Messages, f.Bytes = calls(i), messages(i), bytes(i)
		f.TimeErrorNs, f.MinNs, f.MaxNs = timeError(i), least(i), most(i)
		f.TimeNs, f.timed = time(i)
		f.comm, f.site = comm(i), site(i)
		f.slice = runSlice
		if name, ok := slice(i); ok {
			f.slice = name
		}
		f.peer = -1
		if rank, ok := peer(i); ok {
			f.peer = max(int32(rank), -1)
		}
		size, known := sizeClass(i)
		if !known {
			size = uint64(bits.Len64(f.Bytes / max(f.Messages, 1)))
		}
		f.SizeClass = uint8(size)
		name, classed := class(i)
		return f, f.parse(name, classed, direction(i))
	}
}

// parse sets the class, the direction and the spread.
func (f *fact) parse(class string, classed bool, direction string) error {
	if f.internal = direction == table.Internal; f.internal {
		return nil
	}
	call := profile.CallNamed(f.Call)
	f.Class = profile.Other
	if call != nil {
		f.Class = call.Class
	}
	var ok bool
	if classed {
		if f.Class, ok = profile.ParseClass(class); !ok {
			return fmt.Errorf("column class cannot be %q", class)
		}
	}
	if f.Direction, ok = profile.ParseDirection(direction); !ok {
		return fmt.Errorf("column direction cannot be %q", direction)
	}
	if call != nil && f.Direction != profile.None && f.comm != "" {
		f.Spread = call.SpreadOf(f.Direction)
	}
	return nil
}
