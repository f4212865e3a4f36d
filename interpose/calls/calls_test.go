package calls

import (
	"slices"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	const head = "trait sends  sends\npolicy call() = nothing, end()\n"
	for _, c := range []struct{ name, text, want string }{
		{"too few fields", head + "1 | Send | p2p", "calls.txt:3: 3 fields"},
		{"no number", head + "x | Send | p2p | peer | - | call() | void", "id \"x\""},
		{"id again", head + "5 | A | p2p | peer | - | call() | void\n5 | B | p2p | peer | - | call() | void", "calls.txt:4: id 5"},
		{"name again", head + "5 | A | p2p | peer | - | call() | void\n6 | A | p2p | peer | - | call() | void", "A is listed twice"},
		{"no type", head + "5 | A | p2p | peer | - | call() | x", "has no type"},
		{"unknown trait", head + "5 | A | p2p | peer | sings | call() | void", "calls.txt:3: MPI_A: trait \"sings\""},
		{"trait twice", head + "5 | A | p2p | peer | sends sends | call() | void", "trait \"sends\""},
		{"unused trait", head + "5 | A | p2p | peer | - | call() | void", "no call has trait sends"},
		{"unknown policy", head + "5 | A | p2p | peer | - | send() | void", "calls.txt:3: MPI_A: \"send()\" is not a policy"},
		{"unused policy", "policy call() = nothing, end()\n5 | A | p2p | peer | - | hand | void", "no call has policy call"},
		{"policy without functions", "policy send(comm) = begin_send(comm)\n", "calls.txt:1: a policy is"},
		{"arguments of a policy", "policy send(comm, peer) = nothing, end()\n5 | A | p2p | peer | - | send(comm) | MPI_Comm comm", "has 1 arguments, want 2"},
		{"parameter that the call lacks", "policy send(comm) = begin_send(comm, tag), end()\n5 | A | p2p | peer | - | send(comm) | MPI_Comm comm", "needs a parameter tag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestCallsWithRequestsHaveTraits checks that the traits of a call with
// requests say what it does with them.
func TestCallsWithRequestsHaveTraits(t *testing.T) {
	for i := range Table {
		c := &Table[i]
		requests := slices.ContainsFunc(c.Params, func(p Param) bool { return strings.Contains(p.Type, "MPI_Request") })
		of := 0
		for _, trait := range []string{"nonblocking", "persistent", "starts", "completes", "tests", "frees", "cancels", "informs"} {
			if c.Has(trait) {
				of++
			}
		}
		if requests && of != 1 || !requests && of != 0 {
			t.Errorf("%s has %d of the traits that calls with a request have: see calls.txt", Symbol(c.Name), of)
		}
	}
}

// TestTraitsAgreeWithTheRow checks the traits that follow from other columns.
func TestTraitsAgreeWithTheRow(t *testing.T) {
	for i := range Table {
		c := &Table[i]
		parameter := func(of func(Param) bool) bool { return slices.ContainsFunc(c.Params, of) }
		collective := slices.Contains([]string{"O2A", "A2O", "A2A"}, c.Class)
		for trait, want := range map[string]bool{
			"array":       parameter(func(p Param) bool { return strings.HasSuffix(p.Type, "MPI_Request") && p.Suffix == "[]" }),
			"scan":        c.Spread == "higher",
			"neighbor":    strings.HasPrefix(c.Spread, "edge"),
			"irregular":   collective && parameter(func(p Param) bool { return p.Type == "const COUNT" && p.Suffix == "[]" }),
			"nonblocking": parameter(func(p Param) bool { return p.Name == "request" && p.Type == "MPI_Request *" }) && !has(c, "persistent starts completes frees cancels"),
			"callback":    c.Policy == "callback",
		} {
			if c.Has(trait) != want {
				t.Errorf("%s: trait %s is %v, its row says %v", Symbol(c.Name), trait, !want, want)
			}
		}
		if c.Has("blocks") && has(c, "nonblocking persistent starts tests frees cancels informs buffered") {
			t.Errorf("%s both waits and returns at once", Symbol(c.Name))
		}
		if message := has(c, "sends receives probes"); message && c.Class != "p2p" || collective && !has(c, "blocks nonblocking persistent") {
			t.Errorf("%s: class %s and its traits do not agree", Symbol(c.Name), c.Class)
		}
	}
}

// has reports whether a call has at least one of the traits.
func has(c *Call, traits string) bool {
	return slices.ContainsFunc(strings.Fields(traits), c.Has)
}
