package launch

import (
	"strings"
	"testing"
)

// TestOtherOptions requires the options that do not place ranks, as they were written.
func TestOtherOptions(t *testing.T) {
	for _, test := range []struct {
		command string
		system  System
		want    string
		ok      bool
	}{
		{"srun --mpi=pmi2 -N2 -n4 ./app -n 5", SlurmLauncher, "--mpi=pmi2", true},
		{"srun -N 2 --mpi pmix --ntasks=4 -m block -l --export=ALL,A=1 ./app", SlurmLauncher, "--mpi pmix -l --export=ALL,A=1", true},
		{"timeout 60 srun -n4 ./app", SlurmLauncher, "", true},
		{"mpirun --oversubscribe -x A --mca btl tcp,self -np 4 --map-by node ./app", OpenMPILauncher, "--oversubscribe -x A --mca btl tcp,self", true},
		{"mpiexec.mpich -genv A 1 -ppn 2 -n 4 ./app", HydraLauncher, "-genv A 1", true},
		{"flux run -N2 -n4 --env=A ./app", FluxLauncher, "--env=A", true},
		{"mpirun -n 4 ./app", SlurmLauncher, "", false},
		{"srun -n 4 ./app", OpenMPILauncher, "", false},
		{"mpirun -n 1 ./a : -n 1 ./b", OpenMPILauncher, "", false},
		{"./script.sh", SlurmLauncher, "", false},
	} {
		got, ok := OtherOptions(strings.Fields(test.command), test.system)
		if strings.Join(got, " ") != test.want || ok != test.ok {
			t.Errorf("%s: %q, %v; want %q, %v", test.command, got, ok, test.want, test.ok)
		}
	}
}
