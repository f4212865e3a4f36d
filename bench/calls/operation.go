package calls

import (
	"regexp"
	"runtime"
	"slices"
)

// operation is a loop of the driver.
type operation struct {
	name  string
	calls []string // MPI functions
	count int      // calls per turn; figures are per call
}

var (
	alone = []operation{
		{"Send", []string{"Send"}, 1},
		{"IsendIrecvWaitall", []string{"Isend", "Irecv", "Waitall"}, 3},
		{"Sendrecv", []string{"Sendrecv"}, 1},
		{"RecvNull", []string{"Recv"}, 1},
		{"SendrecvNull", []string{"Sendrecv"}, 1},
		{"Iprobe", []string{"Iprobe"}, 1},
		{"Test", []string{"Test"}, 1},
		{"Allreduce", []string{"Allreduce"}, 1},
		{"Bcast", []string{"Bcast"}, 1},
		{"Barrier", []string{"Barrier"}, 1},
		{"PutFlush", []string{"Put", "Win_flush"}, 2},
	}
	threaded = alone[:len(alone)-1] // Open MPI 4.1 has no windows within one machine with threads
	paired   = []operation{
		{"Window", []string{"Isend", "Irecv", "Waitall"}, 2*64 + 1},
		{"Alltoallv", []string{"Alltoallv"}, 1},
		{"Allreduce", []string{"Allreduce"}, 1},
	}
	gathered = []operation{{"Allreduce", []string{"Allreduce"}, 1}}
)

// receives reports whether the operation posts receives that a later call
// completes.
func (o operation) receives() bool { return slices.Contains(o.calls, "Irecv") }

// program is a way to run loops: a language and a number of ranks and threads.
type program struct {
	language   string // "c", "mpif", "f08": selects the driver
	ranks      int
	threads    int    // 0: MPI_Init; otherwise MPI_Init_thread with MPI_THREAD_MULTIPLE
	variant    string // suffix of its results' names, as keys of the Go benchmark format
	operations []operation
	timed      bool // if false, only instructions are counted
	counted    bool
}

var programs = []program{
	{"c", 1, 0, "", alone, true, true},
	{"mpif", 1, 0, "/from=mpif", alone, true, true},
	{"f08", 1, 0, "/from=f08", alone, true, true},
	{"c", 1, 1, "/threads=1", threaded, true, false},
	{"c", 1, 4, "/threads=4", threaded, true, false},
	{"c", 2, 0, "/ranks=2", paired, true, true},
	{"mpif", 2, 0, "/from=mpif/ranks=2", paired[:2], true, false},
	{"f08", 2, 0, "/from=f08/ranks=2", paired[:2], true, false},
	{"c", 64, 0, "/ranks=64", gathered, false, true},
}

// crowded reports whether there are more ranks than processors.
func (p program) crowded() bool { return p.ranks > runtime.NumCPU() }

// selected returns the programs with those of their operations whose results'
// names match.
func selected(pattern *regexp.Regexp) []program {
	var found []program
	for _, p := range programs {
		p.operations = slices.DeleteFunc(slices.Clone(p.operations), func(o operation) bool {
			return !pattern.MatchString(o.name + p.variant)
		})
		if len(p.operations) > 0 {
			found = append(found, p)
		}
	}
	return found
}
