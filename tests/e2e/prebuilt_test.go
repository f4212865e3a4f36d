package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/interpose/zig"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPrebuilt records examples/halo under all MPIs, with no compiler called,
// and checks every cell of the matrices. One library serves all MPIs of a
// family.
func TestPrebuilt(t *testing.T) {
	testenv.At(t, testenv.All)
	check := func(t *testing.T, m implementation) {
		if !interpose.HasPrebuilt(interpose.BuildOptions{MPI: m.mpiLibrary(t)}) {
			testenv.Skip(t, "needs libraries of these sources: make prebuilt")
		}
		j := checkHalo(t, m)
		if strings.Contains(j.stderr, "building the library") {
			t.Errorf("the library was compiled: %s", j.stderr)
		}
	}
	atOnce(t, 1, anyMPI, check)
	withStandardABI(t, check)
}

// TestPrebuiltWithoutCache runs a program and a script with a cache that exists and
// cannot be written to. The libraries are written to the run directory. A rank,
// which has no such place, fails with the reason.
func TestPrebuiltWithoutCache(t *testing.T) {
	testenv.At(t, testenv.All)
	if !interpose.HasPrebuiltDispatcher() {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
	m := implementations()[0]
	program := m.compile(t, "reloaded_main")
	dir := t.TempDir()
	cache := filepath.Join(dir, "place", "cache")
	if err := os.Mkdir(filepath.Dir(cache), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MPITRACE_CACHE", cache)
	place := filepath.Dir(cache)
	mount := "mount -t tmpfs none " + place + " && mkdir -m 700 " + cache + " && mount -o remount,ro " + place
	for name, command := range map[string][]string{"program": m.launch(1, program), "script": {writeScript(t, strings.Join(m.launch(1, program), " "))}} {
		out := execute(t, nil, inNamespace(t, mount, dir, `"$@"`, slices.Concat([]string{mpitrace, "run", "--strict", "-o", name, "--"}, command)...)...)
		if ranks := readRecordings(t, filepath.Join(dir, name)); out.code != 0 || countCalls(ranks)["Sendrecv"] != 1 || !strings.Contains(out.stderr, "for this run alone") {
			t.Errorf("%s: exit status %d, %d recordings\n%s", name, out.code, len(ranks), out.stderr)
		}
	}
	out := execute(t, nil, inNamespace(t, mount, dir, `"$@"`, m.launch(1, mpitrace, "run", "-o", "rank", "--", program)...)...)
	if out.code == 0 || !strings.Contains(out.stderr, "read-only file system (set MPITRACE_CACHE)") {
		t.Errorf("a rank: exit status %d\n%s", out.code, out.stderr)
	}
}

// TestPrebuiltInContainers fills one cache from eight processes that have the same
// process ID, as in containers or on several nodes.
func TestPrebuiltInContainers(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "unshare")
	if os.Geteuid() != 0 {
		testenv.Skip(t, "process namespaces need root")
	}
	if !interpose.HasPrebuiltDispatcher() {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
	t.Setenv("MPITRACE_CACHE", filepath.Join(t.TempDir(), "cache"))
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			if out, err := exec.Command("unshare", "--pid", "--fork", mpitrace, "preload").CombinedOutput(); err != nil {
				return fmt.Errorf("%w\n%s", err, out)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// withStandardABI runs f under the libraries with the standard ABI of MPICH and
// Intel MPI. Both run the same programs, which are linked with MPICH's.
func withStandardABI(t *testing.T, f func(*testing.T, implementation)) {
	t.Helper()
	for _, m := range standardABIs() {
		m.subtest(t, f)
	}
}

func standardABIs() (all []implementation) {
	in := func(name, command string) string { return filepath.Join(root, "build", name, "bin", command) }
	for _, name := range []string{"mpich5", "impi"} {
		cc, launcher := in("mpich5", "mpicc_abi"), in("mpich5", "mpiexec")
		if name == "impi" {
			launcher = in("impi", "mpirun")
		}
		environment := func(t *testing.T) {
			// Intel MPI has no mpicc_abi: the library is compiled with MPICH's.
			t.Setenv("PATH", filepath.Dir(cc)+":"+os.Getenv("PATH"))
			if name == "impi" {
				setIntelMPI(t)
			}
			t.Setenv("LD_LIBRARY_PATH", filepath.Join(root, "build", name, "lib"))
		}
		all = append(all, implementation{name: "abi-" + name, binaries: "abi", cc: cc, launcher: []string{launcher},
			mpi4: true, large: true, environment: environment})
	}
	return all
}

// TestCompiled is TestPrebuilt with an mpitrace that has no prebuilt libraries.
func TestCompiled(t *testing.T) {
	testenv.At(t, testenv.All)
	defer func(before string) { mpitrace = before }(mpitrace)
	mpitrace = buildWithoutPrebuilt(t)
	out := execute(t, []string{"MPITRACE_CACHE=" + t.TempDir()}, mpitrace, "preload")
	if out.code != 1 || out.stdout != "" || !strings.Contains(out.stderr, "no library for any MPI") || !strings.Contains(out.stderr, "mpitrace build") {
		t.Errorf("preload without a library to preload: exit status %d, %q, %q", out.code, out.stdout, out.stderr)
	}
	check := func(t *testing.T, m implementation) {
		j := checkHalo(t, m)
		if !strings.Contains(j.stderr, "building the library") {
			t.Errorf("nothing was compiled: %s", j.stderr)
		}
	}
	atOnce(t, 1, anyMPI, check)
	withStandardABI(t, check)
}

// buildWithoutPrebuilt returns the path of an mpitrace that has no prebuilt
// libraries.
func buildWithoutPrebuilt(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "interpose", "prebuilt", "*.zst"))
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for _, file := range files {
		replace[file] = "" // as if it did not exist
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir, "./cmd/mpitrace")
	build.Dir = root
	build.Env = append(environ(t), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "mpitrace")
}

// checkHalo records examples/halo with an empty cache, and checks every cell of
// the matrices.
func checkHalo(t *testing.T, m implementation) job {
	t.Helper()
	t.Setenv("MPITRACE_CACHE", t.TempDir())
	p := plate{rows: 31, cols: 25, steps: 20, down: 2, across: 2}
	j := p.run(t, m)
	checkReceived(t, j.ranks)
	p.checkMatrices(t, j)
	return j
}

// findNames prints, for each name on standard input, whether a program finds it
// in the library sys.argv[1] and in the library sys.argv[2].
const findNames = `
import ctypes, sys
libraries = [ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in sys.argv[1:]]
for name in sys.stdin.read().split():
    print(name, *[hasattr(library, name) for library in libraries])
`

// TestNamesThatTheMPILacks checks that a program finds no function in our
// library that its MPI lacks. mpi4py tests by weak symbols which functions there
// are. The names that are tried are those of MPICH 5.
func TestNamesThatTheMPILacks(t *testing.T) {
	testenv.At(t, testenv.All)
	python := testenv.Python(t)
	all := implementations()
	newest := all[len(all)-1]
	testenv.Need(t, newest.cc)
	names := succeed(t, nil, "nm", "-D", "--defined-only", "--format=just-symbols", newest.mpiLibrary(t))
	withEachAt(t, testenv.All, anyMPI, func(t *testing.T, m implementation) {
		mpi := m.mpiLibrary(t)
		library, err := interpose.Build(t.Context(), interpose.BuildOptions{CC: m.cc, MPI: mpi, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		find := exec.Command(python, "-c", findNames, mpi, library)
		find.Stdin = strings.NewReader(names.stdout)
		out, err := find.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lacking := 0
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			if !strings.HasPrefix(f[0], "MPI_") {
				continue
			}
			if f[1] == "False" {
				lacking++
			}
			if f[1] == "False" && f[2] == "True" {
				t.Errorf("the library has %s, which %s lacks", f[0], m.name)
			}
			if f[0] == "MPI_Send_c" && f[1] != f[2] {
				t.Errorf("MPI_Send_c: the MPI has it: %s; the library has it: %s", f[1], f[2])
			}
		}
		if m.name != newest.name && lacking == 0 {
			t.Errorf("%s lacks no function of %s: nothing is tested", m.name, newest.name)
		}
	})
}

// zigCommand returns the command of the compiler that `make prebuilt` uses.
func zigCommand(t *testing.T) string {
	t.Helper()
	python := filepath.Join(root, "build", "zig", "bin", "python")
	testenv.Need(t, python)
	return python + " -m ziglang"
}

// TestPrebuildTwice checks that a library is the same, byte for byte, wherever
// it is built.
func TestPrebuildTwice(t *testing.T) {
	testenv.At(t, testenv.All)
	command := zigCommand(t)
	var built [2][]byte
	for i := range built {
		dir := t.TempDir()
		t.Setenv("TMPDIR", t.TempDir()) // it compiles there
		f := interpose.Families[0]
		if _, err := zig.Prebuild(t.Context(), command, interpose.Prebuilt[0], f, runtime.GOARCH, dir); err != nil {
			t.Fatal(err)
		}
		built[i] = readAll(t, filepath.Join(dir, f.PrebuiltName(runtime.GOARCH)))
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("the library differs between two directories")
	}
}
