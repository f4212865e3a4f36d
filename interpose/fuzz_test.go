package interpose

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestFuzzCompiles checks that the fuzz program compiles and links, in runs that do not
// fuzz. It includes the sources of the library and uses their static names.
func TestFuzzCompiles(t *testing.T) {
	testenv.Need(t, "mpicc.openmpi")
	dir := t.TempDir()
	testenv.WriteFile(t, filepath.Join(dir, "have.h"), "")
	compile := exec.Command("mpicc.openmpi", "-std=gnu11", "-shared", "-fPIC", "-Wl,-z,defs", "-Wall", "-Wextra", "-Werror",
		"-Wno-deprecated-declarations", "-I"+dir, "-Isrc", "fuzz/environment.c", "-o", filepath.Join(dir, "fuzz.so"), "-ldl", "-lpthread")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestFuzzEnvironment checks that the library reads no byte that it should not,
// and creates no file that could be another user's, whatever the environment,
// /proc, names and loaded files contain. It runs only if $MPITRACE_FUZZ_TIME is
// set to its duration, as scripts/fuzz.sh does. New inputs are kept with the
// seeds.
func TestFuzzEnvironment(t *testing.T) {
	wanted := os.Getenv("MPITRACE_FUZZ_TIME")
	if wanted == "" {
		t.Skip("MPITRACE_FUZZ_TIME is not set")
	}
	testenv.Need(t, "clang", "mpicc.openmpi")
	length, err := time.ParseDuration(wanted)
	testenv.NoError(t, err)
	dir := t.TempDir()
	fuzz, corpus := filepath.Join(dir, "fuzz"), filepath.Join(dir, "corpus")
	testenv.NoError(t, os.Mkdir(corpus, 0o700))
	// Declare no MPI functions, since there are none to call.
	testenv.WriteFile(t, filepath.Join(dir, "have.h"), "")
	compile := exec.Command("mpicc.openmpi", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
		"-Wno-deprecated-declarations", "-fno-strict-aliasing", "-fsanitize=fuzzer,address,undefined",
		"-fno-sanitize-recover=undefined", "-I"+dir, "-Isrc", "fuzz/environment.c", "-o", fuzz, "-Wl,--as-needed")
	compile.Env = append(os.Environ(), "OMPI_CC=clang")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(fuzz, fmt.Sprintf("-max_total_time=%.0f", length.Seconds()), "-max_len=8192", "-timeout=10",
		"-verbosity=0", "-artifact_prefix=fuzz/seeds/", corpus, "fuzz/seeds")
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.10000s", err, out)
	}
}
