package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// eachMPI runs a test for each MPI that is installed.
func eachMPI(t *testing.T, test func(t *testing.T, mpi, cc string)) {
	mpis := installedMPIs()
	if len(mpis.order) == 0 {
		t.Skip("no mpicc.openmpi or mpicc.mpich is installed")
	}
	for _, mpi := range mpis.order {
		t.Run(mpi, func(t *testing.T) { test(t, mpi, mpis.value[mpi]) })
	}
}

// newSetup builds everything for an MPI but our library.
func newSetup(t *testing.T, mpi, cc string) setup {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, sources); err != nil {
		t.Fatal(err)
	}
	s, err := prepareMPI(t.Context(), mpi, cc, "libmpitrace-not-there.so", dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSourcesCompileWithoutWarnings(t *testing.T) {
	eachMPI(t, func(t *testing.T, _, cc string) {
		files, err := filepath.Glob("src/*.c")
		if err != nil || len(files) != 3 {
			t.Fatalf("%d sources, want 3 (%v)", len(files), err)
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
		t.Run("instructions grow from none to empty to limit", func(t *testing.T) { testInstructions(t, s) })
	})
}

func testTools(t *testing.T, s setup) {
	var names []string
	for _, tool := range s.tools {
		names = append(names, tool.name)
	}
	want := map[string]string{
		"openmpi": "none empty limit monitoring ours",
		"mpich":   "none empty limit ours",
	}
	if got := strings.Join(names, " "); got != want[s.mpi] {
		t.Errorf("tools are %s, want %s", got, want[s.mpi])
	}
}

func testTiming(t *testing.T, s setup) {
	for _, tool := range s.tools[:len(s.tools)-1] {
		output, err := s.run(t.Context(), tool, nil, "time", tool.name, "0.1", "2")
		if err != nil {
			t.Fatal(err)
		}
		found := newSamples("ns")
		if err := found.addLines(s.mpi, benchmarkLines(output)); err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"Send", "IsendIrecvWaitall", "Sendrecv", "Allreduce"} {
			if n := len(found.values[subject{s.mpi, call, tool.name}]); n != 1 {
				t.Errorf("%s under %s has %d results, want 1", call, tool.name, n)
			}
		}
	}
}

func testRefusal(t *testing.T, s setup) {
	empty := s.tools[1].preload
	for name, tool := range map[string]tool{
		"its library is not there": ours("libmpitrace-not-there.so"),
		"it leaves no recording":   {name: "ours", preload: empty, proof: "recordings/*.rec"},
		"another library answers":  {name: "none", env: func(string) []string { return []string{"LD_PRELOAD=" + empty} }},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.run(t.Context(), tool, nil, "time", tool.name, "0.01", "1"); err == nil {
				t.Error("the run was accepted")
			}
		})
	}
}

func testInstructions(t *testing.T, s setup) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("valgrind is not installed")
	}
	last := make([]loop, 4)
	for _, tool := range s.tools[:3] {
		calls, err := s.count(t.Context(), tool)
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) != len(last) {
			t.Fatalf("%d calls were counted, want %d", len(calls), len(last))
		}
		for i := range last {
			if calls[i].instructions <= last[i].instructions {
				t.Errorf("%s: %s executes %v instructions, the tool before %v",
					calls[i].call, tool.name, calls[i].instructions, last[i].instructions)
			}
		}
		last = calls
	}
}
