package interpose

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// stands returns in how many of the tables each name is.
func stands() map[string]int {
	n := map[string]int{}
	for _, c := range calls.Table {
		for _, name := range c.Names() {
			n[name]++
		}
	}
	for _, reasons := range []map[string]string{localCalls, missingCalls} {
		for name := range reasons {
			n[name]++
		}
	}
	return n
}

func TestEachProcedureHasOneStand(t *testing.T) {
	in, listed := stands(), map[string]bool{}
	for _, p := range calls.Standard {
		if listed[p.Name] {
			t.Errorf("%s is listed twice in standard.txt", p.Name)
		}
		listed[p.Name] = true
		if in[p.Name] != 1 {
			t.Errorf("%s is in %d of calls.txt, local.txt and missing.txt, want 1", calls.Symbol(p.Name), in[p.Name])
		}
	}
	for name := range in {
		if !listed[name] {
			t.Errorf("%s is not in standard.txt", calls.Symbol(name))
		}
	}
	// A map hides a name that is twice in a file of reasons.
	if words := len(strings.Fields(names(localText) + names(missingText))); words != len(localCalls)+len(missingCalls) {
		t.Errorf("%d names in local.txt and missing.txt, %d different ones", words, len(localCalls)+len(missingCalls))
	}
}

func names(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if _, after, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			b.WriteString(after)
		}
	}
	return b.String()
}

// mayBeLeft lists the procedures with a handle that are so short, and called so
// often, that their time would be mostly the time of measuring.
var mayBeLeft = []string{
	"Comm_rank", "Comm_size", "Comm_remote_size", "Comm_test_inter", "Comm_compare",
	"Comm_get_attr", "Attr_get", "Win_get_attr", "Pack_size", "MPIX_Request_is_complete",
	"Cart_rank", "Cart_coords", "Cart_shift", "Cartdim_get", "Topo_test",
	"Graph_neighbors_count", "Graphdims_get", "Dist_graph_neighbors_count",
	"Comm_c2f", "Win_c2f", "File_c2f", "Request_c2f", "Comm_toint", "Win_toint", "File_toint", "Request_toint",
}

// TestProceduresWithHandlesAreRecorded checks that procedures with a
// communicator, a window, a file or a request are recorded.
func TestProceduresWithHandlesAreRecorded(t *testing.T) {
	handles := 0
	for _, p := range calls.Standard {
		if len(p.Handles) == 0 || p.From == "callback" {
			continue
		}
		handles++
		_, local := localCalls[p.Name]
		switch {
		case local && !slices.Contains(mayBeLeft, p.Name):
			t.Errorf("%s takes %v and is not recorded: %s", calls.Symbol(p.Name), p.Handles, localCalls[p.Name])
		case !local && slices.Contains(mayBeLeft, p.Name):
			t.Errorf("%s is recorded, and need not be excused", calls.Symbol(p.Name))
		}
		if _, missing := missingCalls[p.Name]; missing && !strings.HasPrefix(p.Name, "MPIX_") {
			t.Errorf("%s is of the Standard, and missing", calls.Symbol(p.Name))
		}
	}
	if handles < 200 {
		t.Errorf("%d procedures with handles, want the hundreds that MPI has", handles)
	}
}
