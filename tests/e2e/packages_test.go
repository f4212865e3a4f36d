package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A packaging is one of the forms that `make dist` makes: how it is installed
// and removed in a Debian whose /dist has the files, and where its commands are.
type packaging struct{ name, install, path, remove string }

var packagings = []packaging{
	{"archive", "tar -xzf /dist/*-linux-amd64.tar.gz -C /opt", "/opt/mpitrace-*/bin", "rm -r /opt/mpitrace-*"},
	{"deb", "dpkg -i /dist/*_amd64.deb", "/opt/mpitrace/bin", "dpkg -P mpitrace"},
	{"rpm", "rpm -i --nodeps --force-debian /dist/*.x86_64.rpm", "/opt/mpitrace/bin", "rpm -e --nodeps --force-debian mpitrace"},
	{"wheel", "/venv/bin/pip install -q --no-index /dist/*_x86_64.whl", "/venv/bin", "/venv/bin/pip uninstall -q -y mpitrace"},
}

// In a Debian with neither compiler nor network: installs a package, records
// halo with each MPI, and removes the package. The arguments are those of halo.
const useAndRemove = `
set -e
export HOME=/root MPITRACE_CACHE=/scratch/cache OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
for compiler in cc gcc clang go; do
    ! command -v $compiler
done
python3 -m venv /venv
touch /opt/of-another-package # otherwise dpkg removes /opt
files() { # but those that a package manager or Python keeps for itself
    find / -xdev -not -path '/var/l*' -not -path '/root/.rpmdb*' -not -path '/scratch/*' -not -path '/tmp/*' \
        -not -name '__pycache__' -not -name '*.pyc' | sort
}
files >/scratch/before
eval "$INSTALL"
(
    export PATH=$(echo $BIN):$PATH
    mpitrace version
    mpitrace run --strict --no-report -o /scratch/openmpi -- mpirun.openmpi --oversubscribe -n 4 /scratch/halo-openmpi "$@"
    mpitrace run --strict --no-report -o /scratch/mpich -- mpiexec.mpich -n 4 /scratch/halo-mpich "$@"
    export PATH=/impi/bin:$PATH LD_LIBRARY_PATH=/impi/lib I_MPI_ROOT=/impi I_MPI_FABRICS=shm
    mpitrace run --strict --no-report -o /scratch/impi -- mpirun -n 4 /scratch/halo-impi "$@"
)
(
    modules=$(echo $BIN)/../share/modulefiles
    if [ -d $modules ]; then # a wheel has none
        . /usr/share/modules/init/bash
        module use $modules
        module load mpitrace
        [ "$(dirname $(command -v mpitrace))" -ef "$(echo $BIN)" ]
        [[ $MANPATH == */mpitrace*/share/man* ]]
    fi
)
eval "$REMOVE"
files >/scratch/after
`

// allPrebuilt is what `mpitrace version` prints of a release.
const allPrebuilt = "prebuilt libraries: openmpi, mpich, abi"

// matrixOfPython is the first use in a new Python environment: it makes
// the matrix of a ring of four processes that pass on one byte.
const matrixOfPython = `
python3 -m venv v
. v/bin/activate
pip install -q --disable-pip-version-check mpi4py==4.1.2 mpich==5.0.2 "$WHEEL"/*_x86_64.whl
mpitrace run --no-report -o ring -- mpiexec -n 4 python -m mpi4py.bench ringtest && mpitrace matrix ring
cat ring/matrix/*_size_external.mat
`

// TestPackages makes all packages, and installs, uses and removes each in a
// Debian without compilers, Go and network.
func TestPackages(t *testing.T) {
	testenv.At(t, testenv.All)
	system := filepath.Join(root, "build", "root")
	if os.Getuid() != 0 {
		testenv.Skip(t, "needs root, to change the root directory")
	}
	testenv.Need(t, "unshare", "ip", filepath.Join(system, "bin", "bash"))
	makeDist(t)
	halo := filepath.Join(root, "examples", "halo", "halo.c")
	setIntelMPI(t)
	mpis := append(slices.DeleteFunc(implementations(), func(m implementation) bool { return !debian(m) }), intelMPI())
	t.Run("aarch64", func(t *testing.T) {
		testenv.Need(t, "qemu-aarch64")
		dir := t.TempDir()
		succeed(t, nil, "sh", "-c", "tar -xzf "+filepath.Join(root, "dist", "*-linux-arm64.tar.gz")+" -C "+dir)
		out := succeed(t, nil, "sh", "-c", "qemu-aarch64 "+dir+"/*/bin/mpitrace version")
		if !strings.Contains(out.stdout, "linux/arm64") || !strings.Contains(out.stdout, allPrebuilt) {
			t.Errorf("got %s", out.stdout)
		}
	})
	t.Run("mpi4py", func(t *testing.T) {
		env := []string{"WHEEL=" + filepath.Join(root, "dist"), "MPITRACE_CACHE=" + t.TempDir()}
		out := succeed(t, env, "bash", "-ec", matrixOfPython)
		if want := "0 1 0 0 \n0 0 1 0 \n0 0 0 1 \n1 0 0 0 \n"; !strings.HasSuffix(out.stdout, want) {
			t.Errorf("got %s\n%s", out.stdout, out.stderr)
		}
	})
	for _, p := range packagings {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, m := range mpis {
				succeed(t, nil, "cp", m.compileFile(t, halo), filepath.Join(dir, "halo-"+m.name))
			}
			out := inside(t, system, dir, []string{"INSTALL=" + p.install, "BIN=" + p.path, "REMOVE=" + p.remove},
				useAndRemove, "-n", "31", "-m", "25", "-s", "20")
			if strings.Contains(out, "building the library") || !strings.Contains(out, allPrebuilt) {
				t.Errorf("prebuilt libraries are not used:\n%s", out)
			}
			for _, m := range mpis {
				run := filepath.Join(dir, m.name)
				plate{rows: 31, cols: 25, steps: 20, down: 2, across: 2}.checkMatrices(t, job{dir: run, ranks: readRecordings(t, run)})
			}
			before, after := readAll(t, filepath.Join(dir, "before")), readAll(t, filepath.Join(dir, "after"))
			diff(t, "files that are left", strings.Fields(string(before)), strings.Fields(string(after)))
		})
	}
}

// makeDist runs `make dist`.
func makeDist(t *testing.T) {
	t.Helper()
	cmd := exec.Command("make", "dist")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make dist: %v\n%s", err, out)
	}
}

// inside runs a script in a system, of which it may change a copy only. The files
// of dist/ are in /dist, Intel MPI is in /impi, scratch in /scratch, and there is
// no network but a loopback. It returns what the script printed.
func inside(t *testing.T, system, scratch string, env []string, script string, args ...string) string {
	t.Helper()
	const enter = `
set -e
ip link set lo up
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
cd /mnt/root
mkdir dist impi scratch
mount -t proc proc proc
mount --rbind /dev dev
mount --bind "$2/dist" dist
mount --bind "$2/build/impi" impi
mount --bind "$3" scratch
exec chroot . bash -c "$4" bash "${@:5}"
`
	args = slices.Concat([]string{"--mount", "--net", "bash", "-c", enter, "bash", system, root, scratch, script}, args)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(environ(t), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
