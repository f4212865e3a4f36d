package calls

import (
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/bench/measure/measuretest"
)

var (
	send    = operation{"Send", []string{"Send"}, 1}
	watcher = tool{name: "watcher", preload: "/elsewhere/libtool.so"}
)

// The loop and the MPI are not part of the wrapper, although the MPI calls the
// same libc function.
func TestParseProfile(t *testing.T) {
	got, err := parseProfile(strings.NewReader(measuretest.Profile), "Send", layerOf(watcher, send))
	if err != nil || got != 50+8+20 {
		t.Errorf("got %d, %v; want 78", got, err)
	}
}

// Open MPI's monitoring has components that call those that they replace, and
// look up symbols in the MPI.
func TestParseProfileOfMonitoring(t *testing.T) {
	text := strings.NewReplacer("/tmp/libtool.so", "/lib/mca_pml_monitoring.so", "/lib/libmpi.so.40", "/lib/mca_pml_ob1.so").Replace(measuretest.Profile)
	got, err := parseProfile(strings.NewReader(text), "Send", layerOf(monitoring(1), send))
	if err != nil || got != 50+8+20 {
		t.Errorf("got %d, %v; want 78", got, err)
	}
}

func TestParseProfileRefuses(t *testing.T) {
	const part = measuretest.Profile
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
