package tracefile

import (
	"strconv"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPython opens 100 iterations of a halo exchange with pandas, pyarrow,
// polars and DuckDB, in several batches, with the dictionaries before the
// batches and after them.
func TestPython(t *testing.T) {
	const times = 100
	events := 25*times + times/5
	for name, held := range map[string]int{"dictionaries first": maxHeld, "dictionaries last": 0} {
		t.Run(name, func(t *testing.T) {
			path := saved(t, write(t, halo(1, events), 1000, held))
			testenv.Pytest(t, []string{"MPITRACE_TRACE=" + path, "MPITRACE_TIMES=" + strconv.Itoa(times)}, "test_trace.py")
		})
	}
}
