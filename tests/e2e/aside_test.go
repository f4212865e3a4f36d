package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestStepsAside preloads a library that was built for another MPI. It must
// record nothing, report that, and pass the program's calls on unchanged.
// Handles are 32-bit integers in one MPI and pointers in the other.
func TestStepsAside(t *testing.T) {
	other := map[string]implementation{}
	for _, m := range implementations() {
		other[m.name] = m
	}
	withEach(t, debian, func(t *testing.T, m implementation) {
		wrong := other["mpich"]
		if m.name == "mpich" {
			wrong = other["openmpi"]
		}
		checkStepsAside(t, m, wrong)
	})
}

// TestStandardABIStepsAside does the same with the two libraries of MPICH and of
// Intel MPI: all functions of the standard ABI are in both.
func TestStandardABIStepsAside(t *testing.T) {
	testenv.At(t, testenv.All)
	withStandardABI(t, func(t *testing.T, m implementation) {
		native := m
		native.name, native.cc = "mpich5", filepath.Join(filepath.Dir(m.cc), "mpicc")
		checkStepsAside(t, m, native)
		checkStepsAside(t, native, m)
	})
}

// checkStepsAside runs a program of m with the library for another MPI.
func checkStepsAside(t *testing.T, m, wrong implementation) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	program := preload(wrong.library(t), []string{"MPITRACE_DIR=" + dir}, m.compile(t, "collectives"))
	out := succeed(t, nil, m.launch(4, program...)...)
	if first, _, _ := strings.Cut(out.stdout, "\n"); first != "ok" {
		t.Errorf("it printed %q, want ok", out.stdout)
	}
	if !strings.Contains(out.stderr, "built for another MPI") {
		t.Errorf("no message was printed: %q", out.stderr)
	}
	if n := len(readRecordings(t, dir)); n != 0 {
		t.Errorf("%d recordings, want none", n)
	}
}

// realPath resolves symbolic links, because the loader and mpicc give different
// names for the same file.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// TestWrongMPI runs scripts with jobs of two MPIs. The library is built for one
// of them. The report must name the processes of the other as missing, with
// their number.
func TestWrongMPI(t *testing.T) {
	const right, wrong = 4, 3 // ranks of in_place and of completion
	withEach(t, debian, func(t *testing.T, m implementation) {
		others := slices.DeleteFunc(implementations(), func(o implementation) bool { return !debian(o) || o.name == m.name })
		other := others[0]
		mine := strings.Join(m.launch(right, m.compile(t, "in_place")), " ")
		theirs := strings.Join(other.launch(wrong, other.compile(t, "completion")), " ")
		missing := rundir.WrongMPI{Program: other.compile(t, "completion"), Library: realPath(other.mpiLibrary(t)), Processes: wrong}
		for _, test := range []struct {
			name, script string
			before       []string
			jobs         []rundir.JobInfo
		}{
			{"of two jobs", mine + "\n" + theirs, nil, []rundir.JobInfo{{Size: right, Recorded: right}}},
			{"all of a script", theirs, []string{"bash"}, nil},
			{"behind a shell", "bash -c '" + theirs + "'", []string{"bash"}, nil},
		} {
			t.Run(test.name, func(t *testing.T) {
				script := filepath.Join(t.TempDir(), "job.sh")
				if err := os.WriteFile(script, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				j := record(t, []string{"--strict", "--mpi", m.name}, append(test.before, script)...)
				if strings.Count(j.stdout, "ok\n") != len(test.jobs)+1 || j.code != 3 || len(j.ranks) != len(test.jobs)*right {
					t.Errorf("printed %q, exit status %d, want 3; %d recordings", j.stdout, j.code, len(j.ranks))
				}
				report := execute(t, nil, mpitrace, "report", "--full", j.dir)
				want := fmt.Sprintf("not recorded: %d processes of ", wrong)
				for _, out := range []string{j.stderr, report.stdout + report.stderr} {
					if strings.Contains(out, "complete: finalized") {
						t.Errorf("an incomplete run is reported as complete:\n%s", out)
					}
					if !strings.Contains(out, want) {
						t.Errorf("does not say %q:\n%s", want, out)
					}
					want += missing.Program + ", which uses another MPI (" // what the short report has no room for
				}
				info, err := rundir.Dir(j.dir).ReadInfo()
				if err != nil {
					t.Fatal(err)
				}
				for i := range info.WrongMPI {
					info.WrongMPI[i].Library = realPath(info.WrongMPI[i].Library)
				}
				if !slices.Equal(info.WrongMPI, []rundir.WrongMPI{missing}) || len(info.Jobs) != len(test.jobs) {
					t.Errorf("run.json: %d jobs, not recorded %+v; want %d, %+v", len(info.Jobs), info.WrongMPI, len(test.jobs), missing)
				}
			})
		}
	})
}
