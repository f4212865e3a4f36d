package launch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
)

func TestCheckPhysical(t *testing.T) {
	for _, f := range flavours {
		err := CheckPhysical(f)
		if (err == nil) != (f == rundir.OpenMPI) || err != nil && !strings.Contains(err.Error(), f.Title()) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestPhysicalEnviron(t *testing.T) {
	host, _ := os.Hostname()
	file := fmt.Sprintf("/run/physical/%s-%d", host, os.Getpid())
	on := []string{"MPITRACE_PHYSICAL=on", "OMPI_MCA_pml_monitoring_enable=2", "OMPI_MCA_pml_monitoring_enable_output=3",
		"OMPI_MCA_pml_monitoring_filename=" + file}
	physical, err := settings.ParseWords([]string{"physical=on"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name       string
		r          Recorder
		old, want  []string
		overridden string
	}{
		{"off", Recorder{Flavour: rundir.OpenMPI}, []string{"MPITRACE_PHYSICAL=on", "A=b"}, []string{"A=b"}, ""},
		{"another MPI", Recorder{Flavour: rundir.MPICH, Settings: physical}, []string{"A=b"}, []string{"A=b"}, ""},
		{"on", Recorder{Flavour: rundir.OpenMPI, Settings: physical}, nil, append(slices.Clone(on), "OMPI_MCA_osc=^monitoring"), ""},
		{"components chosen", Recorder{Flavour: rundir.OpenMPI, Settings: physical},
			[]string{"OMPI_MCA_pml=ob1", "OMPI_MCA_coll=tuned,basic", "OMPI_MCA_osc=rdma"},
			append([]string{"OMPI_MCA_osc=rdma"}, append(slices.Clone(on), "OMPI_MCA_pml=ob1,monitoring", "OMPI_MCA_coll=tuned,basic,monitoring")...), ""},
		{"components left out", Recorder{Flavour: rundir.OpenMPI, Settings: physical},
			[]string{"OMPI_MCA_pml=^cm", "OMPI_MCA_coll=^hcoll", "OMPI_MCA_osc=^ucx"},
			append([]string{"OMPI_MCA_pml=^cm", "OMPI_MCA_coll=^hcoll"}, append(slices.Clone(on), "OMPI_MCA_osc=^ucx,monitoring")...), ""},
		{"monitoring left out", Recorder{Flavour: rundir.OpenMPI, Settings: physical}, []string{"OMPI_MCA_coll=^han,monitoring"},
			[]string{"OMPI_MCA_coll=^han,monitoring"}, "coll is ^han,monitoring, which excludes the monitoring"},
		{"set otherwise", Recorder{Flavour: rundir.OpenMPI, Settings: physical},
			[]string{"OMPI_MCA_pml_monitoring_enable=1", "OMPI_MCA_pml_monitoring_filename=/mine"}, append(slices.Clone(on), "OMPI_MCA_osc=^monitoring"),
			"pml_monitoring_enable is set to 2 instead of 1; pml_monitoring_filename is not /mine: the files are in /run/physical"},
	} {
		test.r.Dir = "/run"
		if got := test.r.physical(test.old); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if said := test.r.Overridden(test.old); !strings.Contains(said, test.overridden) || (said == "") != (test.overridden == "") {
			t.Errorf("%s: says %q", test.name, said)
		}
	}
}
