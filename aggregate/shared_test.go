package aggregate_test

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The function with at least half of the time in MPI is found, unless it is main or callers were
// recorded. It is a wrapper if it is named after its MPI function, or if each function of its file
// calls only one.
func TestLargestFunction(t *testing.T) {
	site := func(file, function, call string, ns uint64) aggregate.CallSite {
		c := aggregate.CallSite{Call: call}
		c.Module, c.File, c.Function, c.TimeNs = "/app", file, function, ns
		return c
	}
	init := site("main.c", "main", "Init", 500)
	deeper := site("a.c", "exchange", "Sendrecv", 90)
	deeper.Callers = []aggregate.NamedPlace{{Label: "main"}}
	for name, test := range map[string]struct {
		sites []aggregate.CallSite
		want  aggregate.SharedFunction
	}{
		"most":           {[]aggregate.CallSite{init, site("a.c", "exchange", "Sendrecv", 60), site("main.c", "main", "Barrier", 40)}, aggregate.SharedFunction{Function: "exchange", Share: 0.6}},
		"two calls":      {[]aggregate.CallSite{site("a.c", "exchange", "Isend", 30), site("a.c", "exchange", "Wait", 30), site("b.c", "sum", "Allreduce", 40)}, aggregate.SharedFunction{Function: "exchange", Share: 0.6}},
		"less than half": {[]aggregate.CallSite{site("a.c", "exchange", "Sendrecv", 40), site("b.c", "sum", "Allreduce", 30), site("b.c", "sync", "Barrier", 30)}, aggregate.SharedFunction{}},
		"main":           {[]aggregate.CallSite{init, site("main.c", "main", "Barrier", 40)}, aggregate.SharedFunction{}},
		"callers":        {[]aggregate.CallSite{deeper}, aggregate.SharedFunction{}},
		"named":          {[]aggregate.CallSite{site("a.c", "my_MPI_Sendrecv", "Sendrecv", 100), init}, aggregate.SharedFunction{Function: "my_MPI_Sendrecv", Share: 1, Wrapper: true}},
		"a file of them": {[]aggregate.CallSite{site("a.c", "exchange", "Sendrecv", 75), site("a.c", "sum", "Allreduce", 25), init}, aggregate.SharedFunction{Function: "exchange", Share: 0.75, Wrapper: true}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := aggregate.LargestFunction(test.sites)
			testenv.Equal(t, test.want, got)
		})
	}
}
