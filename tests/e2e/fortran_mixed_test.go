package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFortranAndC starts requests in one language and completes them in the
// other. What the program sends through PMPI must not be recorded.
func TestFortranAndC(t *testing.T) {
	const integers = 4
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		object := filepath.Join(t.TempDir(), "c.o")
		source := filepath.Join(root, "tests", "programs", "fortran_mixed.c")
		if out, err := exec.Command(m.cc, "-c", "-O1", "-o", object, source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		// Not shared with other tests, because the object belongs to this one.
		program := filepath.Join(filepath.Dir(object), "fortran_mixed")
		m.buildFortran(t, b, filepath.Join(root, "tests", "programs", "fortran_mixed.F90"), program, object)
		want{
			sent:     map[string]volumes{"Send": message(0, 1, 5*integers), "Isend": message(0, 1, 6*integers)},
			received: map[string]volumes{"Irecv": messages(0, 1, 5*integers, 6*integers)},
			calls: map[string][]uint64{"Send": {1, 0}, "Isend": {1, 0}, "Irecv": {0, 2}, "Wait": {1, 2},
				"Comm_dup": {1, 1}, "Comm_set_name": {1, 1}, "Comm_free": {1, 1}},
		}.check(t, m.run(t, 2, program).ranks)
	})
}

func TestFortranThreads(t *testing.T) {
	moved := volumes{}
	for thread := 1; thread <= 4; thread++ {
		moved = moved.plus(message(0, 1, 4*thread).times(50))
	}
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		want{
			sent: map[string]volumes{"Send": moved}, received: map[string]volumes{"Recv": moved},
			calls: map[string][]uint64{"Send": {200, 0}, "Recv": {0, 200}},
		}.check(t, m.run(t, 2, m.compileFortran(t, b, "fortran_threads", "-fopenmp")).ranks)
	})
}

// TestFortranPlugin has a Fortran layer that only a plugin loads, in a program
// without MPI and in one with MPI's C library.
func TestFortranPlugin(t *testing.T) {
	moved := message(0, 1, 19*4)
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		plugin := m.compileFortran(t, b, "fortran_plugin", "-shared", "-fPIC")
		for _, host := range []string{compilePlain(t, "host"), m.compile(t, "initialized")} {
			t.Run(filepath.Base(host), func(t *testing.T) {
				want{
					sent: map[string]volumes{"Send": moved}, received: map[string]volumes{"Recv": moved},
					calls: map[string][]uint64{"Init": {1, 1}, "Send": {1, 0}, "Recv": {0, 1}},
				}.check(t, m.run(t, 2, host, plugin).ranks)
			})
		}
	})
}

func TestFortranSpawned(t *testing.T) {
	both := func(m implementation) bool { return hasFortran(m) && can(spawnedWorlds)(m) }
	withFortran(t, both, func(t *testing.T, m implementation) {
		withBindings(t, func(t *testing.T, b binding) {
			checkParents(t, record(t, nil, m.launch(2, m.compileFortran(t, b, "fortran_spawned"))...), 2*8)
		})
	})
}

// TestFortranStepsAside checks that a library for another MPI passes Fortran
// calls on, too.
func TestFortranStepsAside(t *testing.T) {
	of := map[string]implementation{}
	for _, m := range implementations() {
		of[m.name] = m
	}
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		wrong := of["mpich"]
		if m.name == "mpich" {
			wrong = of["openmpi"]
		}
		dir := filepath.Join(t.TempDir(), "run")
		program := preload(wrong.library(t), []string{"MPITRACE_DIR=" + dir}, m.compileFortran(t, b, "fortran_collectives"))
		out := succeed(t, nil, m.launch(3, program...)...)
		if strings.TrimSpace(out.stdout) != "ok" || !strings.Contains(out.stderr, "built for another MPI") {
			t.Errorf("it printed %q, and on stderr %q", out.stdout, out.stderr)
		}
		if n := len(readRecordings(t, dir)); n != 0 {
			t.Errorf("%d recordings, want none", n)
		}
	})
}
