package calls

import (
	"strings"
	"testing"
)

// part is a profile of a loop of Send: 70 instructions in a wrapper, 8 in a
// libc function that it calls, and 5000 in the call that it passes on. The loop
// and the MPI are not part of the wrapper, although the MPI calls the same libc
// function.
const part = `# callgrind format
version: 1
desc: Trigger: --dump-after=loop_Send

positions: line
events: Ir
summary: 6078

ob=/tmp/driver
fl=loops.c
fn=loop_Send
0 1000
cob=/tmp/libtool.so
cfn=MPI_Send
calls=10 0
0 5078

ob=/tmp/libtool.so
fn=MPI_Send
0 50
cob=/lib/libc.so.6
cfn=memcpy
calls=10 0
0 8
cfn=note
calls=10 0
0 20
cob=/lib/libmpi.so.40
cfn=PMPI_Send'2
calls=10 0
0 5000

fn=note
0 20

ob=/lib/libmpi.so.40
fn=PMPI_Send
0 4900
cob=/lib/libc.so.6
cfn=memcpy
calls=10 0
0 100

totals: 6078
`

var (
	send    = operation{"Send", []string{"Send"}, 1}
	watcher = tool{name: "watcher", preload: "/elsewhere/libtool.so"}
)

func TestParseProfile(t *testing.T) {
	got, err := parseProfile(strings.NewReader(part), "Send", layerOf(watcher, send))
	if err != nil || got != 50+8+20 {
		t.Errorf("got %d, %v; want 78", got, err)
	}
}

// Open MPI's monitoring has components that call those that they replace, and
// look up symbols in the MPI.
func TestParseProfileOfMonitoring(t *testing.T) {
	text := strings.NewReplacer("/tmp/libtool.so", "/lib/mca_pml_monitoring.so", "/lib/libmpi.so.40", "/lib/mca_pml_ob1.so").Replace(part)
	got, err := parseProfile(strings.NewReader(text), "Send", layerOf(monitoring(1), send))
	if err != nil || got != 50+8+20 {
		t.Errorf("got %d, %v; want 78", got, err)
	}
}

func TestParseProfileRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an empty file":                 "",
		"a torn file":                   part[:strings.Index(part, "totals")],
		"a part of another kind":        strings.Replace(part, "--dump-after=loop_Send", "Program termination", 1),
		"a part of another loop":        strings.Replace(part, "loop_Send", "loop_Sendrecv", 1),
		"a malformed cost":              strings.Replace(part, "0 50\n", "0 many\n", 1),
		"costs of more than one event":  strings.Replace(part, "0 50\n", "0 50 7\n", 1),
		"compressed positions of lines": strings.Replace(part, "0 50\n", "+3 50\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseProfile(strings.NewReader(text), "Send", layerOf(watcher, send)); err == nil {
				t.Errorf("it was read as %d", got)
			}
		})
	}
}

func TestMakes(t *testing.T) {
	o := operation{"PutFlush", []string{"Put", "Win_flush"}, 2}
	for function, want := range map[string]bool{
		"MPI_Put": true, "PMPI_Put": true, "PMPI_Put'2": true, "mpi_put_": true, "pmpi_put": true, "MPI_PUT": true,
		"mpi_put_f08ts_": true, "pmpir_win_flush_f08_": true, "pmpi_win_flush_f08_": true, "ompi_win_flush_f": true,
		"MPI_Win_flush_all": false, "PMPI_Type_size": false, "put": false, "MPI_Rput": false, "mpi_get_": false,
	} {
		if got := o.makes(function); got != want {
			t.Errorf("makes(%s) is %v", function, got)
		}
	}
}
