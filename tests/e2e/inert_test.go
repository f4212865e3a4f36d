package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/interpose"
)

// library builds the library for an MPI, with additional flags for the C
// compiler.
func (m implementation) library(t *testing.T, flags ...string) string {
	t.Helper()
	lib, err := interpose.Build(t.Context(), interpose.BuildOptions{
		CC: m.cc, MPI: m.mpiLibrary(t), CFlags: flags, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// libraryWith builds the library for an MPI with a header of tests/programs. A
// macro holds a hash of the header, because the library's name depends on its
// flags only.
func (m implementation) libraryWith(t *testing.T, header string, flags ...string) string {
	t.Helper()
	path := filepath.Join(root, "tests", "programs", header)
	return m.library(t, append([]string{"-include", path, hashOf(t, path)}, flags...)...)
}

// hashOf returns a compiler flag that changes with the content of a file.
func hashOf(t *testing.T, path string) string {
	t.Helper()
	return fmt.Sprintf("-DTEST_INPUT_HASH=0x%.8x", sha256.Sum256(readAll(t, path)))
}

// mpiLibrary returns the path of the MPI's shared library, as the dynamic
// linker finds it for a program.
func (m implementation) mpiLibrary(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("ldd", m.compile(t, "subcomm")).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`libmpi(?:ch|_abi)?\.so\S* => (\S+)`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("no MPI among\n%s", out)
	}
	return string(found[1])
}

// compilePlain compiles a program of tests/programs without MPI.
func compilePlain(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(scratch, name)
	defer lock(program)()
	if _, err := os.Stat(program); err == nil {
		return program
	}
	source := filepath.Join(root, "tests", "programs", name+".c")
	if out, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, out)
	}
	return program
}

// preload returns a command line that runs a program under the library without
// mpitrace. It does not depend on the launcher passing on the environment.
func preload(lib string, env []string, program ...string) []string {
	return append(append([]string{"env", "LD_PRELOAD=" + lib}, env...), program...)
}

// TestNoUndefinedSymbols requires that the library can be loaded without MPI:
// it refers to none of its functions and data.
func TestNoUndefinedSymbols(t *testing.T) {
	ofMPI := regexp.MustCompile(`(?m)^.* (P?MPI_|p?mpi_|ompi_|opal_|MPIR_|MPID_|MPIX_).*$`)
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		out := succeed(t, nil, "nm", "-D", "-u", m.library(t))
		if !strings.Contains(out.stdout, "dlsym") {
			t.Errorf("nm shows no undefined symbols at all:\n%s", out.stdout)
		}
		if found := ofMPI.FindAllString(out.stdout, -1); found != nil {
			t.Errorf("undefined:\n%s", strings.Join(found, "\n"))
		}
	})
}

// TestInert preloads the library into programs that do not use MPI.
func TestInert(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		lib := m.library(t)
		for name, command := range map[string][]string{
			"bash":             {"bash", "-c", "echo $((6*7)); exit 7"},
			"no MPI":           {compilePlain(t, "no_mpi")},
			"a failing helper": {"ls", "/nonexistent"},
			"children":         {"sh", "-c", "ls /nonexistent | cat; (exit 3) || perl -e 'exit system(q(echo 5; exit 5)) >> 8'"},
			"a launcher":       m.launch(1, "sh", "-c", "echo 6; exit 0"),
		} {
			for _, bind := range []string{"LD_BIND_NOW=", "LD_BIND_NOW=1"} {
				t.Run(name+", "+bind, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "run")
					alone := execute(t, nil, command...)
					under := execute(t, nil, preload(lib, []string{bind, "MPITRACE_DIR=" + dir}, command...)...)
					if under != alone {
						t.Errorf("under the preload %+v, alone %+v", under, alone)
					}
					if _, err := os.Stat(dir); err == nil {
						t.Error("a run directory was made")
					}
				})
			}
		}
	})
}

// TestNamesakes calls functions of other libraries that have the names of MPI's
// Fortran bindings. They must get their arguments unchanged, and must not be
// recorded as MPI calls.
func TestNamesakes(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		dir := t.TempDir()
		source := filepath.Join(root, "tests", "programs", "namesakes.c")
		succeed(t, nil, "gcc", "-shared", "-fPIC", "-DLIBRARY", source, "-o", filepath.Join(dir, "libnamesakes.so"))
		program := filepath.Join(dir, "namesakes")
		succeed(t, nil, m.cc, source, "-o", program, "-L"+dir, "-lnamesakes", "-Wl,-rpath,"+dir)
		ranks := m.run(t, 2, program).ranks
		want{
			sent:  map[string]volumes{"Allreduce": toOthers(2, func(int, int) int { return 4 })},
			calls: map[string][]uint64{"Allreduce": {1, 1}, "Init": {1, 1}, "Send": nil, "Bcast": nil},
		}.check(t, ranks)
	})
}

// TestPlugin loads MPI with RTLD_LOCAL into a program that does not use it
// itself.
func TestPlugin(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		host := compilePlain(t, "host")
		plugin := m.compile(t, "plugin", "-shared", "-fPIC")
		moved := message(0, 1, 77)
		for _, bind := range []string{"LD_BIND_NOW=", "LD_BIND_NOW=1"} {
			t.Run(bind, func(t *testing.T) {
				succeed(t, []string{bind}, m.launch(2, host, plugin)...)
				dir := filepath.Join(t.TempDir(), "run")
				command := preload(m.library(t), []string{bind, "MPITRACE_DIR=" + dir}, host, plugin)
				out := succeed(t, nil, m.launch(2, command...)...)
				if strings.TrimSpace(out.stdout) != "ok" || out.stderr != "" {
					t.Errorf("under the preload it printed %q and %q", out.stdout, out.stderr)
				}
				want{
					sent: map[string]volumes{"Send": moved}, received: map[string]volumes{"Recv": moved},
				}.check(t, readRecordings(t, dir))
			})
		}
		t.Run("mpitrace run", func(t *testing.T) {
			j := m.run(t, 2, host, plugin)
			diff(t, "point-to-point", moved, pointToPoint(j.ranks))
		})
		t.Run("RTLD_GLOBAL", func(t *testing.T) {
			j := m.run(t, 2, host, plugin, "global")
			diff(t, "point-to-point", moved, pointToPoint(j.ranks))
		})
	})
}

// TestScripts starts the program from shell scripts: one that runs on each
// rank, and one that contains the launcher.
func TestScripts(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "sendrecv")
		t.Run("one on each rank", func(t *testing.T) {
			script := writeScript(t, "ls / >/dev/null", program, "true")
			checkReceived(t, m.run(t, 3, script).ranks)
		})
		t.Run("one with the launcher", func(t *testing.T) {
			script := writeScript(t, strings.Join(m.launch(3, program), " "))
			// mpitrace cannot see what a script will start, so the user names
			// the MPI.
			j := record(t, []string{"--mpi", m.mpiLibrary(t)}, script)
			if j.code != 0 || strings.TrimSpace(j.stdout[:min(3, len(j.stdout))]) != "ok" {
				t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
			}
			checkWhole(t, 3, j)
			checkReceived(t, j.ranks)
		})
	})
}

func writeScript(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.sh")
	text := "#!/bin/bash\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestByHand preloads the library without mpitrace. The .prof files that it
// writes must equal those that are made from its recordings.
func TestByHand(t *testing.T) {
	for _, name := range []string{"collectives", "sends", "truncated", "intercomm", "graphs", "constructors"} {
		n := map[string]int{"sends": 2, "truncated": 2, "intercomm": 5}[name]
		if n == 0 {
			n = 4
		}
		t.Run(name, func(t *testing.T) {
			withEach(t, anyMPI, func(t *testing.T, m implementation) {
				dir := t.TempDir()
				env := []string{"MPITRACE_DIR=" + filepath.Join(dir, "run"), "MPITRACE_PROF=" + filepath.Join(dir, "p")}
				succeed(t, nil, m.launch(n, preload(m.library(t), env, m.compile(t, name))...)...)
				ranks := readRecordings(t, filepath.Join(dir, "run"))
				if len(ranks) != n {
					t.Fatalf("%d recordings of %d ranks", len(ranks), n)
				}
				for r, p := range ranks {
					var want strings.Builder
					if err := prof.Write(&want, p.Traffic()); err != nil {
						t.Fatal(err)
					}
					diff(t, fmt.Sprintf("file of rank %d", r), want.String(),
						string(readAll(t, filepath.Join(dir, fmt.Sprintf("p.%d.prof", r)))))
				}
			})
		})
	}
}
