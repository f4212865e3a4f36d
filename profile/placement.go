package profile

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxProcessors is how many hardware threads a node may have.
const MaxProcessors = 1 << 16

// Placement is where a process may run. A processor is a hardware thread, as the
// operating system numbers them.
type Placement struct {
	Processors string `json:"processors"` // of its affinity mask, as "0-3,8"; see ParseProcessors
	// CPULimit is how many processors' time its control group may use, 0 if there
	// is no limit. Processes of a node with the same LimitGroup share the limit.
	CPULimit   float64 `json:"cpu_limit,omitempty"`
	LimitGroup uint64  `json:"limit_group,omitempty"`
	// What the node has; 0 where it is not known.
	NodeProcessors int `json:"node_processors"`
	NodeCores      int `json:"node_cores"`
	NodeSockets    int `json:"node_sockets"`
}

// ProcessorList writes processors, in ascending order, as Linux does: "0-3,8".
func ProcessorList(processors []int) string {
	var out []string
	for i := 0; i < len(processors); {
		last := i
		for last+1 < len(processors) && processors[last+1] == processors[last]+1 {
			last++
		}
		text := strconv.Itoa(processors[i])
		if last > i {
			text += "-" + strconv.Itoa(processors[last])
		}
		out = append(out, text)
		i = last + 1
	}
	return strings.Join(out, ",")
}

// ParseProcessors is the inverse; no text lists no processors. A list that is not in
// ascending order is an error, so that a damaged one cannot ask for much memory.
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
			return nil, fmt.Errorf("%q is no list of processors such as 0-3,8", list)
		}
		for n := first; n <= last; n++ {
			out = append(out, n)
		}
		before = last
	}
	return out, nil
}

// Usage is what a process used of processors while a slice was the current one,
// between the end of MPI_Init and the start of MPI_Finalize.
type Usage struct {
	Slice       uint32 `json:"slice"`
	WallNs      uint64 `json:"wall_ns"` // how long the slice was the current one
	UserNs      uint64 `json:"user_ns"` // CPU time of all threads
	SystemNs    uint64 `json:"system_ns"`
	Voluntary   uint64 `json:"voluntary"` // context switches of all threads
	Involuntary uint64 `json:"involuntary"`
	// RunDelayNs is how long the main thread was ready to run and had no
	// processor, if the kernel tells.
	RunDelayNs uint64 `json:"run_delay_ns"`
	DelayKnown bool   `json:"delay_known"`
}

// TotalUsage adds up the usage of all slices; ok is false if none is known. Of a
// process that was killed the last slice is missing.
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
