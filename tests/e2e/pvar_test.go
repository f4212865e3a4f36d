package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A pvarReading is the expected reading of a performance variable of an object.
type pvarReading struct {
	Moment profile.Moment
	Slice  string
	Values []float64
}

// readingsOf returns the readings of a variable by the name of its
// communicator: "" for one without a name, and "process" for a variable without
// an object.
func readingsOf(p *profile.Profile, variable string) map[string][]pvarReading {
	names := map[uint32]string{}
	for _, s := range p.Slices {
		names[s.Index] = s.Name
	}
	out := map[string][]pvarReading{}
	for _, r := range p.Readings {
		h := p.PvarHandles[r.Handle]
		v := p.Pvars[h.Pvar]
		if v.Name != variable {
			continue
		}
		object := "process"
		if h.Comm >= 0 {
			object = p.Comms[h.Comm].Name
		}
		read := pvarReading{Moment: r.Moment, Slice: names[r.Slice]}
		for _, word := range r.Values {
			read.Values = append(read.Values, v.Type.Number(word))
		}
		out[object] = append(out[object], read)
	}
	return out
}

// withOb1 runs f for each Open MPI with the PML ob1, whose queues can be read.
func withOb1(t *testing.T, f func(*testing.T, implementation)) {
	setenv(t, "OMPI_MCA_pml", "ob1")
	withEach(t, func(m implementation) bool { return strings.HasPrefix(m.name, "openmpi") }, f)
}

const queueLength = "pml_ob1_unexpected_msgq_length"

// TestQueueLength checks the lengths of the queues of unexpected messages. All
// 20 messages are queued when phase 2 begins, and none when it ends; the 7 of
// the duplicate are queued until phase 3. The program reads the same through
// MPI_T itself.
func TestQueueLength(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "pml_ob1_*")
	withOb1(t, func(t *testing.T, m implementation) {
		for _, flags := range [][]string{nil, {"-DTOOL"}} {
			j := m.run(t, 2, m.compile(t, "flood", flags...), "20", "7", "recv")
			diff(t, "queues of rank 1", map[string][]pvarReading{
				"MPI_COMM_WORLD": {
					{profile.ReadAtInit, "run", []float64{0, 0}}, {profile.ReadAtSlice, "run", []float64{20, 0}},
					{profile.ReadAtSlice, "2", []float64{0, 0}}, {profile.ReadAtFinalize, "3", []float64{0, 0}}},
				"MPI_COMM_SELF": {
					{profile.ReadAtInit, "run", []float64{0}}, {profile.ReadAtSlice, "run", []float64{0}},
					{profile.ReadAtSlice, "2", []float64{0}}, {profile.ReadAtFinalize, "3", []float64{0}}},
				"": {
					{profile.ReadAtBind, "run", []float64{0, 0}}, {profile.ReadAtSlice, "run", []float64{7, 0}},
					{profile.ReadAtSlice, "2", []float64{7, 0}}, {profile.ReadAtFree, "3", []float64{0, 0}}},
			}, readingsOf(j.ranks[1], queueLength))
			if len(j.ranks[1].Late) != 0 {
				t.Errorf("got late receives %v without --watch-unexpected", j.ranks[1].Late)
			}
		}
	})
}

// A lateSite is a group of late receives with the same call and source line.
type lateSite struct {
	Call, Comm, Line, Slice string
	Peer                    int32
	Count, Queued           uint64
}

func lateSites(t *testing.T, p *profile.Profile) []lateSite {
	t.Helper()
	var sites symbolize.Sites
	sites.Add(p, p.Start)
	symbols, errs := sites.Symbols(nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var out []lateSite
	for _, l := range p.Late {
		i := slices.IndexFunc(p.Slices, func(s profile.Slice) bool { return s.Index == l.Slice })
		out = append(out, lateSite{Call: l.Call, Comm: p.Comms[l.Comm].Name, Peer: l.Peer, Count: l.Count, Queued: l.Queued,
			Line: profile.Frame{Symbol: symbols[p.Place(l.Callsite)]}.SourceLine(), Slice: p.Slices[i].Name})
	}
	slices.SortFunc(out, func(a, b lateSite) int {
		return strings.Compare(a.Slice+a.Line+a.Comm, b.Slice+b.Line+b.Comm)
	})
	return out
}

// marked returns the file and line of a comment in a source of tests/programs.
func marked(t *testing.T, file, comment string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "tests", "programs", file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	line := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(strings.TrimSuffix(l, " */"), comment) })
	return file + ":" + strconv.Itoa(line+1)
}

// queued returns the sum of the queue's lengths as it shrinks from n to
// allowed+1.
func queued(n, allowed uint64) (sum uint64) {
	for ; n > allowed; n-- {
		sum += n
	}
	return sum
}

// TestLateReceives receives 20 messages that are queued when the first is
// received. 15 are received while more than 5 are queued, whatever the call.
// Startall posts all receives at once.
func TestLateReceives(t *testing.T) {
	setenv(t, "MPITRACE_WATCH_UNEXPECTED", "5")
	calls := map[string]string{"recv": "Recv", "any": "Recv", "irecv": "Irecv", "sendrecv": "Sendrecv",
		"sendrecv_replace": "Sendrecv_replace", "start": "Start", "startall": "Startall",
		"isendrecv": "Isendrecv", "isendrecv_replace": "Isendrecv_replace"}
	withOb1(t, func(t *testing.T, m implementation) {
		for how, call := range calls {
			if strings.HasPrefix(how, "isendrecv") && !m.mpi4 {
				continue
			}
			late := lateSite{Call: call, Line: marked(t, "flood.c", "late "+how), Count: 15, Queued: queued(20, 5)}
			fewer := late
			fewer.Count, fewer.Queued = 2, queued(7, 5)
			if how == "any" {
				late.Peer, fewer.Peer = profile.PeerAnySource, profile.PeerAnySource
			}
			if how == "startall" {
				late.Count, late.Queued, fewer.Count, fewer.Queued = 20, 20*20, 7, 7*7
			}
			late.Comm, late.Slice, fewer.Slice = "MPI_COMM_WORLD", "2", "3"
			j := m.run(t, 2, m.compile(t, "flood"), "20", "7", how)
			diff(t, how+" late", []lateSite{late, fewer}, lateSites(t, j.ranks[1]))
			if len(j.ranks[0].Late) != 0 || len(j.ranks[1].Readings) != 0 {
				t.Errorf("rank 0 has late receives %v; rank 1 has %d readings of a variable that is not recorded", j.ranks[0].Late, len(j.ranks[1].Readings))
			}
		}
	})
}

func TestLateReceivesFortran(t *testing.T) {
	setenv(t, "MPITRACE_WATCH_UNEXPECTED", "5")
	setenv(t, "OMPI_MCA_pml", "ob1")
	withFortran(t, func(m implementation) bool { return hasFortran(m) && openMPI(m) }, func(t *testing.T, m implementation) {
		withBindings(t, func(t *testing.T, b binding) {
			j := m.run(t, 2, m.compileFortran(t, b, "flood"), "20", "7")
			diff(t, "late", []lateSite{
				{Call: "Recv", Comm: "MPI_COMM_WORLD", Line: marked(t, "flood.F90", "late recv"), Slice: "2", Count: 15, Queued: queued(20, 5)},
				{Call: "Irecv", Line: marked(t, "flood.F90", "late irecv"), Slice: "2", Peer: profile.PeerAnySource, Count: 2, Queued: queued(7, 5)},
			}, lateSites(t, j.ranks[1]))
		})
	})
}

// imagined compiles a program with the tool interface of imaginary.c.
func (m implementation) imagined(t *testing.T, program string, flags ...string) string {
	t.Helper()
	library := m.compile(t, "imaginary", "-shared", "-fPIC")
	return m.compile(t, program, append(flags, "-Wl,--no-as-needed", library)...)
}

// steps returns the readings of an object that exists from MPI_Init to the end:
// at each of three moments, the values that imaginary.c gives the variable's
// elements.
func steps(elements int, of func(n int) float64) []pvarReading {
	out := []pvarReading{{Moment: profile.ReadAtInit, Slice: "run"}, {Moment: profile.ReadAtSlice, Slice: "run"}, {Moment: profile.ReadAtFinalize, Slice: "2"}}
	for step := range out {
		for i := range elements {
			out[step].Values = append(out[step].Values, of(10*step+i))
		}
	}
	return out
}

// passing returns the readings of an object that exists only from step 0 to
// step 1.
func passing(all []pvarReading) []pvarReading {
	return []pvarReading{{profile.ReadAtBind, "run", all[0].Values}, {profile.ReadAtFree, "run", all[1].Values}}
}

// TestVariables reads variables of each class, type and binding, and some that
// fail, from an imaginary MPI. Results are the same for all MPIs.
func TestVariables(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "odd_s*,odd_[!s]*,odd_state")
	minus := func(n int) float64 { return -float64(n) }
	plus := func(n int) float64 { return float64(n) }
	quarter := func(n int) float64 { return float64(n) + 0.25 }
	text := []float64{'s', 't', 'e', 'p'}
	want := map[string]map[string][]pvarReading{
		"odd_state": {"process": steps(1, minus)}, "odd_level": {"process": steps(3, plus)},
		"odd_size":       {"process": steps(1, func(n int) float64 { return float64(n + 1<<40) })},
		"odd_percentage": {"process": steps(1, quarter)},
		"odd_high":       {"process": steps(1, func(n int) float64 { return float64(^uint64(0) - uint64(n)) })},
		"odd_low":        {"process": steps(2, func(n int) float64 { return -float64(n + 1<<40) })},
		"odd_counter":    {"process": steps(1, func(n int) float64 { return float64(n + 1<<40) })},
		"odd_aggregate":  {"process": steps(1, quarter)}, "odd_timer": {"process": steps(1, quarter)},
		"odd_generic": {"process": steps(4, func(n int) float64 { return text[n%10] })},
		"odd_of_comm": {"MPI_COMM_WORLD": steps(2, minus), "MPI_COMM_SELF": steps(2, minus), "": passing(steps(2, minus))},
		"odd_of_win":  {"MPI_COMM_WORLD": passing(steps(1, plus))},
		"odd_broken":  {"process": steps(1, minus)[:2]}, "odd_unbindable": {}, "odd_of_file": {},
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := record(t, nil, m.launch(2, m.imagined(t, "readings"))...)
		if j.code != 0 || !strings.HasPrefix(j.stdout, "ok\n") || len(j.ranks) != 2 {
			t.Fatalf("exit status %d, %d recordings\n%s%s", j.code, len(j.ranks), j.stdout, j.stderr)
		}
		for _, p := range j.ranks {
			for name, readings := range want {
				diff(t, name, readings, readingsOf(p, name))
			}
			// It has one more element with each handle. Those of MPI_COMM_WORLD
			// and MPI_COMM_SELF are the first two.
			diff(t, "odd_growing", passing(steps(3, minus)), readingsOf(p, "odd_growing")[""])
			if p.Losses != (profile.Losses{Readings: 2}) {
				t.Errorf("lost %+v, want the readings that fail", p.Losses)
			}
		}
		for _, said := range []string{"odd_broken cannot be read", "odd_unbindable cannot be bound", "odd_of_file is not read: it is bound to a kind of object"} {
			if !strings.Contains(j.stderr, said) {
				t.Errorf("no message says that %s:\n%s", said, j.stderr)
			}
		}
	})
}

// TestLateReceivesImagined makes receives of each kind, with int and large
// counts. They are late while 6 messages are queued, but not while 5 are or
// during a pause.
func TestLateReceivesImagined(t *testing.T) {
	setenv(t, "MPITRACE_WATCH_UNEXPECTED", "5")
	for _, flags := range [][]string{nil, {"-DLARGE"}} {
		has := anyMPI
		if flags != nil {
			has = large
		}
		withEach(t, has, func(t *testing.T, m implementation) {
			want := map[string]int32{"Recv": 0, "Irecv": profile.PeerAnySource, "Sendrecv": 0, "Sendrecv_replace": 0,
				"Start": 0, "Startall": 0}
			if m.mpi4 {
				want["Isendrecv"], want["Isendrecv_replace"] = 0, 0
			}
			for _, p := range m.run(t, 2, m.imagined(t, "readings", flags...)).ranks {
				got := map[string]int32{}
				for _, l := range p.Late {
					got[l.Call] = l.Peer
					if l.Count != 1 || l.Queued != 6 || p.Comms[l.Comm].Name != "MPI_COMM_SELF" {
						t.Errorf("late %+v, want one, 6 queued, on MPI_COMM_SELF", l)
					}
				}
				diff(t, "late calls and peers", want, got)
			}
		})
	}
}

// TestReadingsOfCycles makes and frees 1,000 duplicates, and 100 windows.
// Each kind must have one record. The first object is read at its creation and
// at its end, the second at its creation, because the values have changed in
// between; all later ones are not read.
func TestReadingsOfCycles(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "odd_of_comm,odd_of_win")
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, p := range m.run(t, 2, m.imagined(t, "readings"), "1000").ranks {
			dup, win := readingsOf(p, "odd_of_comm"), readingsOf(p, "odd_of_win")
			minus, plus := steps(2, func(n int) float64 { return -float64(n) }), steps(1, func(n int) float64 { return float64(n) })
			second := pvarReading{profile.ReadAtBind, "2", minus[2].Values}
			diff(t, "duplicates", append(passing(minus), second), dup[""])
			second.Values = plus[2].Values
			diff(t, "windows", append(passing(plus), second), win["MPI_COMM_WORLD"])
			if len(p.PvarHandles) != 4 {
				t.Errorf("%d handles, want 3 of communicators and one of windows", len(p.PvarHandles))
			}
		}
	})
}

// TestReadingsByTime checks that variables are read at most once in each
// interval, and only in calls.
func TestReadingsByTime(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "odd_state")
	setenv(t, "MPITRACE_PVAR_INTERVAL", "2ms")
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		p := m.run(t, 1, m.imagined(t, "probing")).ranks[0]
		n := 0
		for _, r := range p.Readings {
			if r.Moment == profile.ReadAtInterval {
				n++
			}
		}
		length := time.Duration(p.FinalizeStart - p.Readings[0].At)
		if most := int(length/(2*time.Millisecond)) + 1; n < 1 || n > most {
			t.Errorf("%d readings in %v, want from 1 to %d", n, length, most)
		}
	})
}

// TestReadingsWithoutRoom makes readings that need more than a quarter of the
// recording. The surplus must be counted, and the last readings must be kept.
func TestReadingsWithoutRoom(t *testing.T) {
	const cycles = 400 // of duplicates; their variable has up to 403 elements of 8 bytes
	setenv(t, "MPITRACE_PVAR", "odd_growing")
	setenv(t, "MPITRACE_MAX_MB", "1")
	withEach(t, debian, func(t *testing.T, m implementation) {
		j := record(t, nil, m.launch(2, m.imagined(t, "readings"), strconv.Itoa(cycles))...)
		for _, p := range j.ranks {
			bytes := 0
			for _, r := range p.Readings {
				bytes += 32 + 8*len(r.Values)
			}
			// Each cycle has one reading that is kept, or two that are lost: an
			// object whose first reading was lost is read again.
			kept, lost := len(p.Readings), int(p.Losses.Readings)
			if 2*(kept-3-3-2)+lost != 2*cycles || lost == 0 || bytes > 1<<18 || bytes < 1<<18-1<<13 {
				t.Errorf("%d readings kept, of %d bytes, and %d lost", kept, bytes, lost)
			}
			if last := p.Readings[kept-1]; last.Moment != profile.ReadAtFinalize {
				t.Errorf("the last reading is of moment %d", last.Moment)
			}
			if p.Losses.Calls != 0 || p.Losses.Folded != 0 || p.Losses.Comms != 0 {
				t.Errorf("lost %+v", p.Losses)
			}
		}
		if strings.Count(j.stderr, "quarter of MPITRACE_MAX_MB") != 2 {
			t.Errorf("want one message from each rank that its recording is full:\n%s", j.stderr)
		}
	})
}

// TestVariablesMissing asks for variables that do not exist. Each message must
// say what to do.
func TestVariablesMissing(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "pml_ob1_*,nobody's")
	setenv(t, "MPITRACE_WATCH_UNEXPECTED", "0")
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 4, m.compile(t, "dup"))
		want := []string{"this MPI has no performance variables", "--enable-mpit-pvars=recvq"}
		if strings.HasPrefix(m.name, "openmpi") {
			want = []string{"matches nobody's (`mpitrace vars`"}
		}
		if m.name == "impi" { // it has the variable idle
			want[0] = "none of the 2 performance variables of this MPI matches nobody's (`mpitrace vars`"
		}
		for _, said := range want {
			if strings.Count(j.stderr, said) != 1 {
				t.Errorf("want %q once in\n%s", said, j.stderr)
			}
		}
	})
}

// TestVariablesOfThreads lets eight threads receive. Whichever calls MPI first
// after an interval reads the variables.
func TestVariablesOfThreads(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "pml_ob1_*")
	setenv(t, "MPITRACE_PVAR_INTERVAL", "1ms")
	setenv(t, "MPITRACE_WATCH_UNEXPECTED", "0")
	withOb1(t, func(t *testing.T, m implementation) {
		for _, p := range m.run(t, 2, m.compile(t, "thread_receives"), "200").ranks {
			if !slices.IsSortedFunc(p.Readings, func(a, b profile.Reading) int { return int(a.At - b.At) }) {
				t.Errorf("rank %d: readings are not in the order of time", p.Rank)
			}
			for _, l := range p.Late {
				if l.Call != "Irecv" || l.Queued < l.Count {
					t.Errorf("rank %d: %+v", p.Rank, l)
				}
			}
		}
	})
}

// TestSanitizedVariables reads variables with a library that has the compiler's
// checks of addresses and of undefined behaviour.
func TestSanitizedVariables(t *testing.T) {
	const sanitize = "-fsanitize=address,undefined"
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		lib, dir := m.library(t, sanitize, checkLocks, "-fno-sanitize-recover=all", "-O1", "-g"), filepath.Join(t.TempDir(), "run")
		env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_PVAR=*", "MPITRACE_PVAR_INTERVAL=1ms", "MPITRACE_WATCH_UNEXPECTED=5",
			"ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"}
		out := succeed(t, nil, m.launch(2, preload(lib, env, m.imagined(t, "readings", sanitize), "300")...)...)
		if report := out.stdout + out.stderr; strings.Contains(report, "Sanitizer") || strings.Contains(report, "runtime error") {
			t.Errorf("%s", report)
		}
		for _, p := range readRecordings(t, dir) {
			if len(p.Readings) == 0 || len(p.Late) == 0 {
				t.Errorf("rank %d: %d readings, %d late receives", p.Rank, len(p.Readings), len(p.Late))
			}
		}
	})
}

// TestEveryVariable reads all variables while programs create and free
// communicators and windows. Variables that crash must be left out: Open MPI
// 4.1 crashes if mtl_psm2_* is read while another PML is in use.
func TestEveryVariable(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "*")
	setenv(t, "MPITRACE_PVAR_INTERVAL", "1ms")
	setenv(t, "MPITRACE_WATCH_UNEXPECTED", "0")
	setenv(t, "OMPI_MCA_pml", "ob1")
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		for _, program := range []string{"intercomm", "idup", "callbacks", "windows", "reuse"} {
			j := m.run(t, ranksNeeded(t, program), m.compile(t, program))
			const said = "variables of intercommunicators are not read"
			if strings.HasPrefix(m.name, "openmpi") != strings.Contains(j.stderr, said) && program == "intercomm" {
				t.Errorf("%q is printed, or missing, by mistake:\n%s", said, j.stderr)
			}
			for _, v := range j.ranks[0].Pvars {
				if strings.HasPrefix(v.Name, "mtl_psm2_") || strings.HasPrefix(v.Name, "osc_rdma_") {
					t.Errorf("%s is read", v.Name)
				}
			}
		}
	})
}

// TestVariablesOfWindows checks that a window's variables are read when it is
// created and before it is freed. The number of retries is 0 in both.
func TestVariablesOfWindows(t *testing.T) {
	setenv(t, "MPITRACE_PVAR", "osc_rdma_*")
	setenv(t, "OMPI_MCA_osc", "rdma")
	withOb1(t, func(t *testing.T, m implementation) {
		p := m.run(t, 3, m.compile(t, "onesided")).ranks[0]
		none := []pvarReading{{profile.ReadAtBind, "run", []float64{0}}, {profile.ReadAtFree, "run", []float64{0}}}
		for _, name := range []string{"osc_rdma_put_retry_count", "osc_rdma_get_retry_count"} {
			diff(t, name, map[string][]pvarReading{"": none}, readingsOf(p, name))
		}
	})
}
