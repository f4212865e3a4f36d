package calls

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// parse returns the options of a command line.
func parse(args []string, peers string) (options, error) {
	var o options
	flags := pflag.NewFlagSet("calls", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.bind(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.complete(peers)
}

func TestParseOptions(t *testing.T) {
	o, err := parse([]string{"--mpi", "b=/opt/b/bin/mpicc", "--mpi", "a=mpicc", "--lib", "a=x=y.so", "--rounds", "3",
		"--measure", "5ms", "--peer", "p=q.so", "--run", "^Send", "--tools", "ours,p"}, " r=s.so\tt=u.so ")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.mpis.order, []string{"b", "a"}) || o.mpis.value["b"] != "/opt/b/bin/mpicc" {
		t.Errorf("MPIs are %+v", o.mpis)
	}
	if o.libs.value["a"] != "x=y.so" || o.rounds != 3 || o.length != 5*time.Millisecond || !o.times || !o.instructions {
		t.Errorf("options are %+v", o)
	}
	if !slices.Equal(o.peers.order, []string{"p", "r", "t"}) || o.peers.value["t"] != "u.so" {
		t.Errorf("peers are %+v", o.peers)
	}
	if !o.wants("ours") || !o.wants("none") || !o.wants("limit") || o.wants("empty") {
		t.Errorf("tools are %v", o.tools)
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"no rounds":           {"--rounds", "0"},
		"a path alone":        {"--lib", "x.so"},
		"an MPI given twice":  {"--mpi", "a=b", "--mpi", "a=c"},
		"no value":            {"--mpi", "a="},
		"half an expression":  {"--run", "("},
		"a peer like PEERS's": {"--peer", "p=q.so"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(args, "p=r.so"); err == nil {
				t.Errorf("%v was accepted", args)
			}
		})
	}
}
