package profile

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxProcessors is the largest number of hardware threads of a node.
const MaxProcessors = 1 << 16

// Placement holds the processors on which a process may run. A processor is a
// hardware thread, numbered as the operating system does.
type Placement struct {
	Processors string `json:"processors"` // affinity mask, as "0-3,8"; see ParseProcessors
	// CPULimit is the CPU time per second that the process's control group may
	// use, in seconds (2.5 is two and a half processors); 0 if there is no
	// limit. Processes of a node with the same LimitGroup share the limit.
	CPULimit   float64 `json:"cpu_limit,omitempty"`
	LimitGroup uint64  `json:"limit_group,omitempty"`
	// Numbers of the node's processors, cores and sockets; 0 if not known.
	NodeProcessors int `json:"node_processors"`
	NodeCores      int `json:"node_cores"`
	NodeSockets    int `json:"node_sockets"`
}

// ProcessorList returns processors, which must be in ascending order, in the
// form that Linux uses: "0-3,8".
func ProcessorList(processors []int) string {
	text, _ := RankSetOf(processors...).MarshalText() // the same form
	return string(text)
}

// ParseProcessors is the inverse of ProcessorList. The empty text is the empty
// list. A list that is not in ascending order is an error, so that a damaged
// one cannot require much memory.
func ParseProcessors(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var out []int
	before := -1
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first <= before || last < first || last >= MaxProcessors {
			return nil, fmt.Errorf("%q is not a list of processors such as 0-3,8", list)
		}
		for n := first; n <= last; n++ {
			out = append(out, n)
		}
		before = last
	}
	return out, nil
}

// Usage holds the use of processors by a process in one slice, between the end
// of MPI_Init and the start of MPI_Finalize.
type Usage struct {
	Slice       uint32 `json:"slice"`
	WallNs      uint64 `json:"wall_ns"` // time in the slice
	UserNs      uint64 `json:"user_ns"` // CPU time of all threads
	SystemNs    uint64 `json:"system_ns"`
	Voluntary   uint64 `json:"voluntary"` // context switches of all threads
	Involuntary uint64 `json:"involuntary"`
	// RunDelayNs is the time in which the main thread was ready to run but had
	// no processor. It is valid if DelayKnown is true.
	RunDelayNs uint64 `json:"run_delay_ns"`
	DelayKnown bool   `json:"delay_known"`
}

// TotalUsage returns the sum over the slices; ok is false if no usage is known.
// If the process was killed, its last slice is missing.
func TotalUsage(slices []Usage) (sum Usage, ok bool) {
	sum.DelayKnown = len(slices) > 0
	for _, u := range slices {
		sum.WallNs += u.WallNs
		sum.UserNs += u.UserNs
		sum.SystemNs += u.SystemNs
		sum.Voluntary += u.Voluntary
		sum.Involuntary += u.Involuntary
		sum.RunDelayNs += u.RunDelayNs
		sum.DelayKnown = sum.DelayKnown && u.DelayKnown
	}
	return sum, sum.WallNs > 0
}
