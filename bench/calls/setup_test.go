package calls

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// eachMPI runs a test, at level all, for each MPI that is installed.
func eachMPI(t *testing.T, test func(t *testing.T, mpi, cc string)) {
	testenv.At(t, testenv.All)
	mpis := installedMPIs()
	if len(mpis.order) == 0 {
		t.Skip("no mpicc.openmpi or mpicc.mpich is installed")
	}
	for _, mpi := range mpis.order {
		t.Run(mpi, func(t *testing.T) { test(t, mpi, mpis.value[mpi]) })
	}
}

// newSetup builds everything for an MPI except our library.
func newSetup(t *testing.T, mpi, cc string) setup {
	t.Helper()
	dir := t.TempDir()
	testenv.NoError(t, os.CopyFS(dir, sources))
	o := options{libs: named{value: map[string]string{mpi: "libmpitrace-not-there.so"}}}
	s, err := prepareMPI(t.Context(), mpi, cc, o, dir, io.Discard)
	testenv.NoError(t, err)
	return s
}

func (s *setup) tool(t *testing.T, name string) tool {
	t.Helper()
	i := slices.IndexFunc(s.tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		t.Fatalf("no tool %s among %d", name, len(s.tools))
	}
	return s.tools[i]
}

func TestSourcesCompileWithoutWarnings(t *testing.T) {
	eachMPI(t, func(t *testing.T, _, cc string) {
		files, err := filepath.Glob("src/*.c")
		if err != nil || len(files) != 4 {
			t.Fatalf("%d sources, want 4 (%v)", len(files), err)
		}
		// MPICH's MPI_STATUSES_IGNORE is address 1, which gcc 12 takes for an array too small.
		args := append([]string{"-O2", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"}, files...)
		if text, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func TestMeasuring(t *testing.T) {
	eachMPI(t, func(t *testing.T, mpi, cc string) {
		s := newSetup(t, mpi, cc)
		t.Run("monitoring is for Open MPI", func(t *testing.T) { testTools(t, s) })
		t.Run("every tool times every call", func(t *testing.T) { testTiming(t, s) })
		t.Run("a tool that did not watch is refused", func(t *testing.T) { testRefusal(t, s) })
		t.Run("a peer that crashes is left out", func(t *testing.T) { testCrash(t, s, cc) })
	})
}

func testTools(t *testing.T, s setup) {
	var names []string
	for _, tool := range s.tools {
		names = append(names, tool.name)
	}
	want := map[string]string{
		"openmpi": "none empty limit monitoring1 monitoring2 ours ours-sampled ours-off ours-receives-off ours-trace ours-trace-last",
		"mpich":   "none empty limit ours ours-sampled ours-off ours-receives-off ours-trace ours-trace-last",
	}
	if interpose.HasPrebuilt(interpose.BuildOptions{MPI: s.library}) {
		want[s.mpi] += " " + prebuiltTool
	}
	if got := strings.Join(names, " "); got != want[s.mpi] {
		t.Errorf("tools are %s, want %s", got, want[s.mpi])
	}
}

// quick has the options for one short round.
func quick(pattern string) options {
	return options{rounds: 1, repeats: 1, length: 10 * time.Microsecond, pattern: regexp.MustCompile(pattern)}
}

// withoutOurs returns the setup without our library, which newSetup does not
// build.
func withoutOurs(s setup) setup {
	s.tools = slices.DeleteFunc(slices.Clone(s.tools), func(t tool) bool { return strings.HasPrefix(t.name, "ours") })
	return s
}

func testTiming(t *testing.T, s setup) {
	s = withoutOurs(s)
	if s.drivers["f08"] == "" || s.launcher == "" {
		testenv.Skip(t, s.mpi+" has no mpif90 or no mpirun")
	}
	found := newSamples()
	testenv.NoError(t, timeRounds(t.Context(), quick(""), []setup{s}, found, io.Discard, io.Discard))
	for _, p := range programs {
		for _, o := range p.operations {
			for _, tool := range s.tools {
				of := subject{s.mpi, o.name + p.variant, tool.name}
				if n := len(found.times[of]); p.timed != (n == 1) {
					t.Errorf("%+v has %d results", of, n)
				}
			}
		}
	}
}

func testRefusal(t *testing.T, s setup) {
	empty := s.tool(t, "empty").preload
	for name, tool := range map[string]tool{
		"its library is not there": ours("ours", "libmpitrace-not-there.so"),
		"it leaves no recording":   {name: "ours", preload: empty, proof: "recordings/*.rec"},
		"another library answers":  {name: "none", env: func(string) []string { return []string{"LD_PRELOAD=" + empty} }},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := s.open(t.Context(), programs[0], tool, nil, patience)
			if err == nil {
				_, err = x.run("Send", 0, 1)
			}
			if err == nil {
				err = x.close()
			}
			if err == nil {
				t.Error("the run was accepted")
			}
		})
	}
}

// The peer aborts in MPI_Barrier. Later calls are still measured.
func testCrash(t *testing.T, s setup, cc string) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "crash.c"), filepath.Join(dir, "libcrash.so")
	text := "#include <mpi.h>\n#include <stdlib.h>\nint MPI_Barrier(MPI_Comm c) { (void)c; abort(); }\n"
	testenv.WriteFile(t, source, text)
	if text, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s.tools = []tool{none(), peer("crash", path)}
	found := newSamples()
	var log strings.Builder
	testenv.NoError(t, timeRounds(t.Context(), quick("^(Bcast|Barrier|PutFlush)$"), []setup{s}, found, io.Discard, &log))
	for call, want := range map[string]int{"Bcast": 1, "Barrier": 0, "PutFlush": 1} {
		if got := len(found.times[subject{s.mpi, call, "crash"}]); got != want {
			t.Errorf("%s has %d results, want %d", call, got, want)
		}
	}
	if !strings.Contains(log.String(), s.mpi+" Barrier under crash: left out") {
		t.Errorf("the log does not say what is left out:\n%s", log.String())
	}
}
