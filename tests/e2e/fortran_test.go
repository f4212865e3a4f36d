package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A binding is one of the ways to call MPI from Fortran.
type binding struct {
	name  string
	level testenv.Level
	flags []string
}

// bindings returns all bindings. tests/programs/forms.inc explains FORM. The
// calls of mpif.h, and some of MPICH's mpi module, have no interface, so that
// gfortran warns about programs that pass buffers of several types.
func bindings() []binding {
	unchecked := []string{"-fallow-argument-mismatch", "-w"}
	return []binding{
		{"mpif.h", testenv.Quick, append([]string{"-DFORM=1"}, unchecked...)},
		{"mpi", testenv.All, append([]string{"-DFORM=2"}, unchecked...)}, // the procedures of mpif.h
		{"mpi_f08", testenv.Quick, []string{"-DFORM=3", "-Wall", "-Werror", "-Wno-unused-variable", "-Wno-unused-dummy-argument"}},
	}
}

// hasFortran reports whether the MPI has Fortran bindings. Those of the Python
// wheels have none.
func hasFortran(m implementation) bool { return debian(m) }

// withEachBinding runs f as a subtest for each MPI and binding.
func withEachBinding(t *testing.T, f func(*testing.T, implementation, binding)) {
	withFortran(t, hasFortran, func(t *testing.T, m implementation) {
		withBindings(t, func(t *testing.T, b binding) { f(t, m, b) })
	})
}

// withFortran runs f as a subtest for each MPI for which has returns true, at
// the levels of the bindings.
func withFortran(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	atOnce(t, 2, has, f)
}

// withBindings runs f as a subtest for each binding whose level runs.
func withBindings(t *testing.T, f func(*testing.T, binding)) {
	for _, b := range bindings() {
		if testenv.Runs(b.level) {
			t.Run(b.name, func(t *testing.T) { f(t, b) })
		}
	}
}

// compileFortran compiles a program of tests/programs with a binding.
func (m implementation) compileFortran(t *testing.T, b binding, name string, flags ...string) string {
	t.Helper()
	return m.compileFortranFile(t, b, filepath.Join(root, "tests", "programs", name+".F90"), flags...)
}

func (m implementation) compileFortranFile(t *testing.T, b binding, source string, flags ...string) string {
	t.Helper()
	dir := filepath.Join(scratch, m.name, b.name+strings.ReplaceAll(strings.Join(flags, ""), "=", "-"))
	program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	if _, err := os.Stat(program); err != nil {
		m.buildFortran(t, b, source, program, flags...)
	}
	return program
}

func (m implementation) buildFortran(t *testing.T, b binding, source, program string, flags ...string) {
	t.Helper()
	compiler, dir := strings.Replace(m.cc, "mpicc", "mpif90", 1), filepath.Dir(program)
	testenv.Need(t, compiler)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-cpp", "-O1", "-g", "-J" + dir, "-o", program, source}, b.flags...)
	if out, err := exec.Command(compiler, append(args, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, out)
	}
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?([eE][+-]\d+)?`)

// values returns the numbers in the first lines of a program's output.
func values(t *testing.T, text string, lines int) []float64 {
	t.Helper()
	var out []float64
	for _, line := range strings.SplitAfter(text, "\n")[:lines] {
		for _, s := range number.FindAllString(line, -1) {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
	}
	return out
}

// TestFortranHalo requires the same matrices, calls and results of the example
// in C and in each Fortran binding.
func TestFortranHalo(t *testing.T) {
	for _, p := range []plate{
		{rows: 31, cols: 25, steps: 20, down: 2, across: 2},
		{rows: 31, cols: 25, steps: 20, down: 3, across: 2},
	} {
		t.Run(strconv.Itoa(p.down*p.across)+" ranks", func(t *testing.T) {
			if p.down == 3 {
				testenv.At(t, testenv.All)
			}
			withFortran(t, hasFortran, func(t *testing.T, m implementation) {
				inC := p.run(t, m)
				withBindings(t, func(t *testing.T, b binding) {
					source := filepath.Join(root, "tests", "programs", "halo.F90")
					if b.name == "mpi_f08" {
						source = filepath.Join(root, "examples", "halo_f08", "halo.f90")
					}
					j := m.run(t, p.down*p.across, m.compileFortranFile(t, b, source),
						strconv.Itoa(p.rows), strconv.Itoa(p.cols), strconv.Itoa(p.steps))
					p.checkMatrices(t, j)
					checkReceived(t, j.ranks)
					diff(t, "calls as in C", callsBy(inC.ranks), callsBy(j.ranks))
					diff(t, "results as in C", values(t, inC.stdout, 2), values(t, j.stdout, 2))
				})
			})
		})
	}
}

// TestFortranCompletion requires that the size and source of each received
// message are known, however the receive is completed, and whether or not the
// program reads its status.
func TestFortranCompletion(t *testing.T) {
	moved := volumes{}
	for round := range 18 {
		moved = moved.plus(message(1, 0, 100+round)).plus(message(2, 0, 200+round))
	}
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		ranks := m.run(t, 3, m.compileFortran(t, b, "fortran_completion")).ranks
		want{
			sent:     map[string]volumes{"Send": moved},
			received: map[string]volumes{"Irecv": moved},
			calls: map[string][]uint64{
				"Irecv": {36, 0, 0}, "Wait": {4, 0, 0}, "Waitall": {4, 0, 0}, "Waitany": {4, 0, 0}, "Send": {0, 18, 18},
			},
		}.check(t, ranks)
		for _, call := range []string{"Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_get_status"} {
			if n := callsBy(ranks)[call]; n == nil || n[0] < 2 {
				t.Errorf("calls of %s: %v, want some on rank 0", call, n)
			}
		}
	})
}

func TestFortranPointToPoint(t *testing.T) {
	const integers, reals, doubles = 4, 4, 8
	simple := messages(0, 1, 10*integers, 50*integers, 12) // shapes: an array, a section, characters
	simple = simple.plus(messages(0, 1, 8*integers, 4*(integers+doubles), 7*integers))
	for k := 11; k <= 15; k++ { // probes
		simple = simple.plus(message(0, 1, k*integers))
	}
	simple = simple.plus(message(0, 1, 18*integers)) // paused
	swapped := message(0, 1, 5*integers).plus(message(1, 0, 10*integers))
	replaced := message(0, 1, 6*integers).plus(message(1, 0, 6*integers))
	// Nine integers three times, then both requests twice together and once
	// each.
	started, startedAll := messages(0, 1, 9*integers, 9*integers, 9*integers, 9*integers, 8*integers),
		messages(0, 1, 9*integers, 8*integers).times(2)
	matched := messages(0, 1, 11*integers, 13*integers)
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		want{
			sent: map[string]volumes{
				"Send": simple, "Ssend": message(0, 1, doubles), "Isend": message(0, 1, 12*reals),
				"Sendrecv": swapped, "Sendrecv_replace": replaced, "Start": started, "Startall": startedAll,
			},
			received: map[string]volumes{
				"Recv": messages(0, 1, 10*integers, doubles, 12*reals, 50*integers, 12, 8*integers,
					4*(integers+doubles), 7*integers, 14*integers, 15*integers, 18*integers),
				"Sendrecv": swapped, "Sendrecv_replace": replaced, "Start": started, "Startall": startedAll,
				"Mrecv": matched, "Imrecv": message(0, 1, 12*integers),
			},
			calls: map[string][]uint64{
				"Send": {13, 0}, "Recv": {0, 12}, "Sendrecv": {1, 1}, "Sendrecv_replace": {1, 1}, "Start": {5, 5},
				"Startall": {2, 2}, "Waitall": {2, 2}, "Request_free": {2, 2}, "Mprobe": {0, 2}, "Mrecv": {0, 2},
				"Imrecv": {0, 1}, "Probe": {0, 1}, "Type_commit": {3, 3}, "Type_free": {3, 3},
				"Type_create_hindexed": {1, 1}, "Type_create_struct": {1, 1}, "Type_contiguous": {1, 1},
				"Pcontrol": {1, 1}, // the other calls are made while recording is off
			},
		}.check(t, m.run(t, 2, m.compileFortran(t, b, "fortran_p2p")).ranks)
	})
}

// sentInFortran returns what fortran_collectives.F90 sends.
func sentInFortran() map[string]volumes {
	const integers = 4
	everyone := func(n int) volumes { return toOthers(3, size(n*integers)) }
	higher := func(n int) volumes {
		return message(0, 1, n*integers).plus(message(0, 2, n*integers)).plus(message(1, 2, n*integers))
	}
	ring := message(0, 1, 5*integers).plus(message(1, 2, 5*integers)).plus(message(2, 0, 5*integers))
	line := volumes{}
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}} {
		line = line.plus(message(pair[0], pair[1], 2*integers))
	}
	return map[string]volumes{
		// From rank 1; from rank 2, which is the first of the reversed
		// communicator; over the intercommunicator.
		"Bcast":              fromRoot(3, 1, each(40)).plus(fromRoot(3, 2, each(20))).plus(fromRoot(3, 0, each(20))),
		"Reduce":             toRoot(3, 2, each(9*integers)).plus(toRoot(3, 2, each(8*integers))),
		"Allgather":          everyone(4).times(2),
		"Scan":               higher(3),
		"Exscan":             higher(2),
		"Reduce_scatter":     toOthers(3, func(_, to int) int { return (to + 1) * integers }),
		"Gatherv":            toRoot(3, 0, func(from int) int { return (from + 1) * integers }),
		"Barrier":            everyone(0),
		"Alltoallv":          toOthers(3, func(_, to int) int { return (to + 1) * integers }),
		"Alltoallw":          toOthers(3, func(_, to int) int { return (to + 2) * integers }),
		"Ibarrier":           everyone(0),
		"Iallreduce":         everyone(7),
		"Neighbor_allgather": ring,
		"Neighbor_alltoallv": message(0, 1, 3*integers).plus(message(0, 2, 4*integers)),
		"Neighbor_alltoall":  line,
		// On the duplicates, on the group of 1 and 2, and with an operation in
		// Fortran.
		"Allreduce": everyone(2).plus(everyone(3)).plus(everyone(11)).
			plus(messages(1, 2, 4*integers)).plus(messages(2, 1, 4*integers)),
	}
}

func TestFortranCollectives(t *testing.T) {
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		ranks := m.run(t, 3, m.compileFortran(t, b, "fortran_collectives")).ranks
		want{sent: sentInFortran(), calls: map[string][]uint64{
			"Init_thread": {1, 1, 1}, "Comm_split": {2, 2, 2}, "Comm_dup": {1, 1, 1}, "Comm_idup": {1, 1, 1},
			"Comm_create_group": {0, 1, 1}, "Intercomm_create": {1, 1, 1}, "Comm_free": {8, 9, 9},
			"Cart_create": {1, 1, 1}, "Dist_graph_create": {1, 1, 1}, "Dist_graph_create_adjacent": {1, 1, 1},
			"Neighbor_alltoall": {1, 1, 1}, "Allreduce": {3, 4, 4},
		}}.check(t, ranks)
		// The MPI decides how often it applies an operation.
		made, freed := callsBy(ranks)["Info_create"], callsBy(ranks)["Info_free"]
		diff(t, "calls inside the reduction", made, freed)
		if made == nil || made[0]+made[1]+made[2] == 0 {
			t.Error("no call was recorded inside the reduction")
		}
	})
}

// TestFortranOneSided uses windows, files and buffers.
func TestFortranOneSided(t *testing.T) {
	const integers = 4
	both := func(counts ...int) volumes {
		sum := volumes{}
		for _, n := range counts {
			sum = sum.plus(message(0, 1, n*integers)).plus(message(1, 0, n*integers))
		}
		return sum
	}
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		ranks := m.run(t, 2, m.compileFortran(t, b, "fortran_onesided"), filepath.Join(t.TempDir(), "data")).ranks
		written, read := volumes{}, volumes{}
		for _, p := range ranks {
			for _, f := range p.Traffic().Flows {
				switch f.Kind {
				case profile.RemoteWrite:
					written.add(f.From, f.To, f.Bytes, f.Messages)
				case profile.RemoteRead:
					read.add(f.From, f.To, f.Bytes, f.Messages)
				}
			}
		}
		diff(t, "written", both(5, 6, 1, 8), written) // Put, Accumulate, Fetch_and_op, Put
		diff(t, "read", both(7, 1, 1), read)          // Get, Fetch_and_op with MPI_NO_OP, Fetch_and_op
		diff(t, "point-to-point", both(9), pointToPoint(ranks))
		checkReceived(t, ranks)
		calls, once := callsBy(ranks), []uint64{1, 1}
		for _, call := range []string{"Win_create", "Win_allocate", "Win_lock", "Win_unlock", "Win_lock_all", "Get",
			"File_open", "File_sync", "File_iread_at", "File_close", "Buffer_attach", "Buffer_detach", "Bsend"} {
			diff(t, "calls of "+call, once, calls[call])
		}
		for call, n := range map[string]uint64{"Win_fence": 3, "Win_free": 2, "Fetch_and_op": 2, "Put": 2} {
			diff(t, "calls of "+call, []uint64{n, n}, calls[call])
		}
		inFiles := map[string]uint64{}
		for _, p := range ranks {
			for _, r := range p.Rows {
				if r.Class == profile.IO && r.Direction != profile.None {
					inFiles[r.Call] += r.Bytes
				}
			}
		}
		diff(t, "bytes in files", map[string]uint64{
			"File_write_at": 2 * 30 * integers, "File_read_at_all": 2 * 20 * integers, "File_iread_at": 2 * 25 * integers,
		}, inFiles)
	})
}

// TestFortranCallbacks requires that calls in Fortran callbacks are recorded as
// calls of the program, that errors reach the program as they do without the
// library, and that recording continues after them.
func TestFortranCallbacks(t *testing.T) {
	moved := message(0, 1, 4).plus(message(1, 0, 4))
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		command := m.launch(2, m.compileFortran(t, b, "fortran_callbacks"))
		alone := succeed(t, nil, command...)
		j := record(t, nil, command...)
		diff(t, "exit status", 0, j.code)
		diff(t, "output", alone.stdout, j.stdout)
		want{
			sent:     map[string]volumes{"Sendrecv": moved},
			received: map[string]volumes{"Sendrecv": moved},
			calls: map[string][]uint64{"Send": {3, 3}, "Bcast": {1, 1}, "Barrier": {1, 1}, "Comm_free": {1, 1},
				"Comm_dup": {1, 1}, "Comm_set_attr": {1, 1}},
		}.check(t, j.ranks)
		// The bindings of both MPIs set an attribute by an internal function,
		// which no wrapper sees. Open MPI's also create keyvals and error
		// handlers in this way.
		untimed := map[string]uint64{"openmpi": 3, "mpich": 1}[m.name]
		for _, p := range j.ranks {
			diff(t, "losses", profile.Losses{Untimed: untimed}, p.Losses)
		}
		if want := fmt.Sprintf("not timed: %d calls from Fortran", 2*untimed); !strings.Contains(fullReport(t, j.dir), want) {
			t.Errorf("the report does not say %q:\n%s", want, j.stderr)
		}
	})
}

// TestFortranHandler posts a receive in an error handler, during the Wait that
// failed. It must not be confused with the receive that failed.
func TestFortranHandler(t *testing.T) {
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		j := record(t, nil, m.launch(2, m.compileFortran(t, b, "fortran_handler"))...)
		diff(t, "exit status", 0, j.code)
		diff(t, "abnormal", map[string]uint64{"truncated_receives": 10}, abnormalOf(j.ranks))
		diff(t, "received", map[string]volumes{"Irecv": message(0, 1, 16).times(10)}, receivedBy(j.ranks))
		checkConserved(t, j, 1, 1)
	})
}
