package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// A part is a program of tests/programs that runs in one job with all others for as
// many ranks, in a slice of its own: see tests/programs/together.c.
type part struct {
	program string
	flags   []string
	has     func(implementation) bool
}

// slice returns the name of the part's slice.
func (p part) slice() string { return sliceOf(p.program, p.flags...) }

func sliceOf(program string, flags ...string) string {
	return strings.Join(append([]string{program}, flags...), " ")
}

// togetherRanks are the numbers of ranks for which there are parts.
var togetherRanks = []int{2, 3, 4, 5}

// allParts returns the parts of all jobs, in the order in which they run.
func allParts() []part {
	var all []part
	for _, program := range []string{
		"sends", "persistent", "matched", "cancel", "type_reuse", "errors", "large", "late_receive",
		"self", "twins", "idup", "idup_moved", "mpi41", "rest", "manage", "partitioned", "joined", "files",
		"sendrecv", "completion", "onesided", "early_persistent",
		"subcomm", "dup", "reuse", "constructors", "graphs", "intercomm",
	} {
		all = append(all, part{program, nil, anyMPI})
	}
	for _, f := range countForms() {
		all = append(all, part{"windows", f.flags, f.has}, part{"file_calls", f.flags, f.has})
	}
	for _, f := range forms() {
		for _, program := range []string{"collectives", "in_place", "neighbors", "inter_collectives", "zeros", "inter_reduce_scatter"} {
			all = append(all, part{program, f.flags, f.has})
		}
		all = append(all, part{"neighbors", slices.Concat(f.flags, []string{"-DPERIODIC"}), f.has})
	}
	return all
}

// partsFor returns the parts that an MPI can run on n ranks.
func (m implementation) partsFor(t *testing.T, n int) []part {
	t.Helper()
	return slices.DeleteFunc(allParts(), func(p part) bool {
		return !p.has(m) || m.lacks(p.program) != "" || ranksNeeded(t, p.program) != n
	})
}

// compileTogether compiles the parts for n ranks into one program.
func (m implementation) compileTogether(t *testing.T, n int, flags ...string) string {
	t.Helper()
	dir := filepath.Join(m.builtWith(flags), fmt.Sprint("together", n))
	program := filepath.Join(dir, "together")
	defer lock(program)()
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	objects := []string{filepath.Join(root, "tests", "programs", "together.c"), "-I" + dir}
	for i, p := range m.partsFor(t, n) {
		function := fmt.Sprint("part", i)
		fmt.Fprintf(&list, "PROGRAM(%q, %s)\n", p.slice(), function)
		object := filepath.Join(dir, function+".o")
		m.compileTo(t, object, slices.Concat(flags, p.flags, []string{"-c", "-DTOGETHER", "-Dmain=" + function,
			filepath.Join(root, "tests", "programs", p.program+".c")})...)
		objects = append(objects, object)
	}
	if err := os.WriteFile(filepath.Join(dir, "together.inc"), []byte(list.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	m.compileTo(t, program, slices.Concat(flags, objects)...)
	return program
}

// shared holds the jobs that several tests check, each recorded once.
var shared sync.Map // of func() job, by MPI, name and number of ranks

// together returns the job of the parts for n ranks.
func (m implementation) together(t *testing.T, n int) job {
	t.Helper()
	return m.once(t, fmt.Sprint("together ", n), func(dir string) job {
		return m.runInto(t, dir, n, m.compileTogether(t, n), filepath.Join(t.TempDir(), "data"))
	})
}

// recorded returns the job of a program that runs alone. It is recorded once.
func (m implementation) recorded(t *testing.T, program string) job {
	t.Helper()
	return m.once(t, program, func(dir string) job { return m.runInto(t, dir, ranksNeeded(t, program), m.compile(t, program)) })
}

// togetherTraced does what together does with events.
func (m implementation) togetherTraced(t *testing.T, n int) job {
	t.Helper()
	return m.once(t, fmt.Sprint("together ", n, " traced"), func(dir string) job {
		j := m.traceInto(t, dir, n, nil, m.compileTogether(t, n), filepath.Join(t.TempDir(), "data"))
		profile.Unify(j.ranks) // as in the traces
		return j
	})
}

// recordedTraced does what recorded does with events.
func (m implementation) recordedTraced(t *testing.T, program string) job {
	t.Helper()
	return m.once(t, program+" traced", func(dir string) job { return m.traceInto(t, dir, ranksNeeded(t, program), nil, m.compile(t, program)) })
}

// once records a job at the first call with this name, into a directory that remains
// until all tests have ended.
func (m implementation) once(t *testing.T, name string, record func(dir string) job) job {
	t.Helper()
	key := m.name + " " + name
	recorded, _ := shared.LoadOrStore(key, sync.OnceValue(func() job {
		dir := filepath.Join(scratch, "shared", strings.ReplaceAll(key, " ", "-"))
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		return record(dir)
	}))
	j := recorded.(func() job)()
	if len(j.ranks) == 0 {
		t.Fatalf("the job %q failed in another test", key)
	}
	return j
}

// part returns what the ranks did in a part of a job.
func (m implementation) part(t *testing.T, program string, flags ...string) []*profile.Profile {
	t.Helper()
	return inSlice(t, m.together(t, ranksNeeded(t, program)).ranks, sliceOf(program, flags...))
}

// inSlice returns the ranks with their rows of a slice alone.
func inSlice(t *testing.T, ranks []*profile.Profile, name string) []*profile.Profile {
	t.Helper()
	var in []*profile.Profile
	for _, p := range ranks {
		at := slices.IndexFunc(p.Slices, func(s profile.Slice) bool { return s.Name == name })
		if at < 0 {
			t.Fatalf("rank %d has no slice %q", p.Rank, name)
		}
		other := func(slice uint32) bool { return slice != p.Slices[at].Index }
		own := *p
		own.Rows = slices.DeleteFunc(slices.Clone(p.Rows), func(r profile.Row) bool { return other(r.Slice) })
		own.Vectors = slices.DeleteFunc(slices.Clone(p.Vectors), func(v profile.Vector) bool { return other(v.Slice) })
		own.Abnormal = slices.DeleteFunc(slices.Clone(p.Abnormal), func(a profile.AbnormalOps) bool { return other(a.Slice) })
		in = append(in, &own)
	}
	return in
}

// TestTogether requires that nothing was recorded outside the slices of the parts but
// the calls of together.c.
func TestTogether(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		for _, n := range togetherRanks {
			times := uint64(len(m.partsFor(t, n)))
			between := inSlice(t, m.together(t, n).ranks, "run")
			want{sent: map[string]volumes{"Barrier": toOthers(n, size(0)).times(times)}}.check(t, between)
			calls := countCalls(between[:1])
			delete(calls, "Type_free_keyval") // of ROMIO, in MPI_Finalize
			diff(t, "calls between the parts", map[string]uint64{"Init": 1, "Comm_set_errhandler": times, "Barrier": times, "Finalize": 1}, calls)
		}
	})
}
