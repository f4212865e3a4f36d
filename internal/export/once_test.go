package export_test

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// packedRun writes the recordings of a job into one packed container for each node.
func packedRun(t *testing.T, j *synth.Job, change func(*profile.Profile)) rundir.Dir {
	t.Helper()
	d, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err == nil {
		err = container.WriteAll(d.Recordings(), j, change)
	}
	testenv.NoError(t, err)
	return d
}

// inOrder hides that a source can be read in parts.
type inOrder struct{ profile.Source }

// scratch returns a Scratch of a few kilobytes, and a function that reports whether it was
// used.
func scratch(t *testing.T) (s *matrix.Scratch, used func() bool) {
	t.Setenv("TMPDIR", t.TempDir())
	is := false
	return matrix.NewScratch(4000, func() (matrix.ScratchFile, error) {
		is = true
		return atomicfile.Unnamed("")
	}), func() bool { return is }
}

func summaryJSON(t *testing.T, src profile.Source, o aggregate.Options) (*aggregate.Summary, string) {
	t.Helper()
	j, err := aggregate.Of(src, o)
	testenv.NoError(t, err)
	s := j.Summary()
	testenv.NoError(t, j.Err())
	text, err := json.MarshalIndent(s, "", " ")
	testenv.NoError(t, err)
	return s, string(text)
}

// TestOnceEqualsTwice compares the summary that is made in one pass, by several goroutines
// and with most sums of pairs in a file, with that of profiles in memory in the order of
// ranks, and with what the job's formula says.
func TestOnceEqualsTwice(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, shape := range []string{"stencil", "random", "alltoall", "master", "killed", "lost", "sparse"} {
		job, err := synth.Named(shape, 300)
		testenv.NoError(t, err)
		job.PerNode, job.RoundRobin = 7, shape == "random"
		d := packedRun(t, job, nil)
		whole, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
		if err != nil || len(whole.Damage()) > 0 {
			t.Fatal(err, whole.Damage())
		}
		_, want := summaryJSON(t, inOrder{whole.Jobs[0]}, aggregate.Options{})
		for _, workers := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(workers)
			once, err := source.Open([]string{string(d)}, source.Options{Depth: source.Once})
			testenv.NoError(t, err)
			file, used := scratch(t)
			s, got := summaryJSON(t, once.Jobs[0], aggregate.Options{Scratch: file})
			if len(once.Damage()) > 0 || !once.ReadOnce() || job.Graph != nil && !used() {
				t.Errorf("%s: damage %v, file used: %v", shape, once.Damage(), used())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, %d workers: %s", shape, workers, diff)
			}
			total := job.TotalP2P()
			if job.Fault == nil && (s.Direct.Bytes != total.Bytes || s.Direct.Messages != total.Messages || s.Conservation.Sent != s.Direct.Volume) {
				t.Errorf("%s: %+v, conserved %+v, want %+v", shape, s.Direct, s.Conservation.Sent, total)
			}
			if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		}
	}
}

// TestOnceDamaged has a recording that is damaged, and a process that did not finalize.
func TestOnceDamaged(t *testing.T) {
	job, err := synth.Named("stencil", 60)
	testenv.NoError(t, err)
	job.PerNode = 20
	d := packedRun(t, job, func(p *profile.Profile) {
		if p.Rank == 33 {
			p.State = profile.Running
		}
	})
	path := container.Path(d.Recordings(), job, 20)
	raw := testenv.ReadFile(t, path)
	raw[len(raw)/3] ^= 0x55
	testenv.WriteFile(t, path, raw)
	once, err := source.Open([]string{string(d)}, source.Options{Depth: source.Once})
	testenv.NoError(t, err)
	s, _ := summaryJSON(t, once.Jobs[0], aggregate.Options{})
	if err := errors.Join(once.Damage()...); len(once.Damage()) != 1 || !strings.Contains(err.Error(), path) {
		t.Errorf("damage: %v, want one recording in %s", err, path)
	}
	if s.RanksRecorded != 60 || s.RanksFinalized != 59 || len(s.Ends) != 1 || s.Ends[0].Rank != 33 {
		t.Errorf("%d recorded, %d finalized, %+v", s.RanksRecorded, s.RanksFinalized, s.Ends)
	}
	if text := strings.Join(s.Problems, "\n"); !strings.Contains(text, "rank 33 did not reach MPI_Finalize") || !strings.Contains(text, "damaged parts of recordings were skipped (rank 2") {
		t.Errorf("problems: %s", text)
	}
}

// TestOnceNamesSites has a process with a call site that no other process has: its name is
// looked up when it is met.
func TestOnceNamesSites(t *testing.T) {
	testenv.Need(t, "gcc")
	code, program := filepath.Join(t.TempDir(), "two.c"), filepath.Join(t.TempDir(), "two")
	err := os.WriteFile(code, []byte("int usual(void) { return 1; }\nint rare(void) { return 2; }\nint main(void) { return usual() + rare(); }\n"), 0o666)
	testenv.NoError(t, err)
	if out, err := exec.Command("gcc", "-g", "-O0", "-no-pie", "-Wl,--build-id=0x1234abcd", "-o", program, code).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(program)
	testenv.NoError(t, err)
	defer file.Close()
	symbols, err := file.Symbols()
	testenv.NoError(t, err)
	at := func(name string) uint64 {
		i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
		return symbols[i].Value + 5 // in the function's body
	}
	job, err := synth.Named("ring", 200)
	testenv.NoError(t, err)
	job.PerNode, job.Collectives = 10, nil
	d := packedRun(t, job, func(p *profile.Profile) {
		p.Modules = []profile.Module{{Path: program, BuildID: "1234abcd", End: 1 << 47}}
		for i := range p.Rows {
			p.Rows[i].Callsite = at("usual")
			if p.Rank == 77 { // not one of those that are looked at first
				p.Rows[i].Callsite = at("rare")
			}
		}
	})
	once, err := source.Open([]string{string(d)}, source.Options{Depth: source.Once})
	testenv.NoError(t, err)
	s, _ := summaryJSON(t, once.Jobs[0], aggregate.Options{})
	ranks := map[string]int{}
	for _, site := range s.CallSites {
		if site.Call == "Init" {
			ranks[fmt.Sprintf("%s:%d", site.Function, site.Line)] += site.PerRank.Ranks
		}
	}
	if want := map[string]int{"usual:1": 199, "rare:2": 1}; !maps.Equal(ranks, want) {
		t.Errorf("%v, want %v; errors %v", ranks, want, once.Unnamed())
	}
}

// TestTrafficInFile compares matrices whose entries are in a file with those in memory, by rank
// and by node.
func TestTrafficInFile(t *testing.T) {
	job := synth.NewStencil(300)
	job.PerNode = 7
	d := packedRun(t, job, nil)
	file, used := scratch(t)
	read := func(s *matrix.Scratch) (traffic *source.Traffic) {
		t.Helper()
		in := source.TrafficReader{Selection: new(matrix.Selection), Hosts: true, Scratch: s, Log: io.Discard, Damage: new(source.DamageList),
			Warn: func(err error) { t.Error(err) }, Use: func(found *source.Traffic) error { traffic = found; return nil }}
		if err := in.Read([]string{string(d)}); err != nil || len(in.Damage.Errors) > 0 {
			t.Fatal(err, in.Damage.Errors)
		}
		return traffic
	}
	a, b := read(nil), read(file)
	names, node := b.Hosts()
	if len(names) != 43 || !used() {
		t.Errorf("%d nodes, want 43; file used: %v", len(names), used())
	}
	inMemory, inFile := a.Builder.Matrices(), b.Builder.Matrices()
	for c := range inMemory {
		for name, m := range map[string][2]*matrix.Matrix{"ranks": {&inMemory[c], &inFile[c]}, "nodes": {inMemory[c].Fold(node), inFile[c].Fold(node)}} {
			if m[0].Len() != m[1].Len() {
				t.Errorf("%v of %s: %d and %d entries", matrix.TrafficClass(c), name, m[0].Len(), m[1].Len())
			}
			matrix.Differences(m[0], m[1], func(p matrix.Pair, v, w matrix.Volume) {
				t.Errorf("%v of %s, %v: %v and %v", matrix.TrafficClass(c), name, p, v, w)
			})
		}
	}
	total, want := inFile[matrix.External].Fold(node).Total(), job.TotalP2P()
	if total.Bytes != want.Bytes || total.Messages != want.Messages {
		t.Errorf("%+v, want %+v", total, want)
	}
}
