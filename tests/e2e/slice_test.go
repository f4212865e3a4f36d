package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sentIn returns what was sent, by the name of the slice.
func sentIn(ranks []*profile.Profile) map[string]volumes {
	sent := map[string]volumes{}
	for _, p := range ranks {
		names := map[uint32]string{}
		for _, s := range p.Slices {
			names[s.Index] = s.Name
		}
		p.EachFlow(func(row *profile.Row, f profile.Flow) {
			name := names[row.Slice]
			if sent[name] == nil {
				sent[name] = volumes{}
			}
			sent[name].add(f.From, f.To, f.Bytes, f.Messages)
		})
	}
	return sent
}

func TestPhases(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "pcontrol"))
		// The message of 4 bytes is sent between Pcontrol(0) and Pcontrol(1).
		diff(t, "sent by phase", map[string]volumes{
			"run": message(0, 1, 1), "2": messages(0, 1, 2, 8), "3": message(0, 1, 16),
		}, sentIn(j.ranks))
	})
}

func TestNamedPhases(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "phases")
		succeed(t, nil, m.launch(2, program)...) // nothing needs to be linked
		j := m.run(t, 2, program)
		want := map[string]volumes{
			"run": messages(0, 1, 1, 2048), "solve": messages(0, 1, 2, 8, 16), "output": message(0, 1, 4),
			"later": message(0, 1, 64), "7": messages(0, 1, 128, 256),
			strings.Repeat("x", 200): message(0, 1, 512), "caf\uFFFD": message(0, 1, 1024),
		}
		diff(t, "sent by phase", want, sentIn(j.ranks))
		checkPhaseTables(t, j.dir, want)
		for _, p := range j.ranks {
			for _, s := range p.Slices {
				if strings.HasPrefix(s.Name, "before") || strings.HasPrefix(s.Name, "after") {
					t.Errorf("rank %d has a slice %q", p.Rank, s.Name)
				}
			}
		}
	})
}

// checkPhaseTables requires the same sums in the output of `mpitrace report
// --json` and in what pandas reads from profile.arrow.
func checkPhaseTables(t *testing.T, dir string, sent map[string]volumes) {
	t.Helper()
	want := map[string]uint64{"only rank 1": 0}
	for name, v := range sent {
		want[name] = v[pair{0, 1}].Bytes
	}
	var report struct {
		Jobs []struct {
			Slices []struct {
				Slice string
				Bytes uint64
			}
		}
	}
	got := map[string]uint64{"only rank 1": 0} // nothing is called in this phase
	if err := json.Unmarshal([]byte(succeed(t, nil, mpitrace, "report", "--json", dir).stdout), &report); err != nil {
		t.Fatal(err)
	}
	for _, s := range report.Jobs[0].Slices {
		got[s.Slice] = s.Bytes
	}
	diff(t, "bytes by slice in the report", want, got)
	if text := succeed(t, nil, mpitrace, "report", "--full", dir).stdout; !regexp.MustCompile(`(?m)^solve .* 26 B$`).MatchString(text) {
		t.Errorf("no line of the slice solve with 26 bytes in\n%s", text)
	}
	python := testenv.Python(t)
	table := succeed(t, nil, python, "-c", `import pandas, sys
t = pandas.read_feather(sys.argv[1])
print(t[t.direction == "send"].groupby("slice", observed=True).bytes.sum().to_json())`, filepath.Join(dir, "profile.arrow")).stdout
	got = map[string]uint64{"only rank 1": 0}
	if err := json.Unmarshal([]byte(table), &got); err != nil {
		t.Fatal(err)
	}
	diff(t, "bytes by slice in pandas", want, got)
}

// TestIntervals compares slices with the program's own clock. In the k-th 100
// ms the program sends messages of 2^k bytes, and three times as much in the
// phase "solve".
func TestIntervals(t *testing.T) {
	withEachAlone(t, anyMPI, func(t *testing.T, m implementation) {
		j := record(t, []string{"--interval", "100ms"}, m.launch(2, m.compile(t, "intervals"))...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		checkWhole(t, 2, j)
		messages := map[string]uint64{}
		for name, sent := range sentIn(j.ranks) {
			phase, at, _ := strings.Cut(name, "@")
			began, err := strconv.ParseFloat(strings.TrimSuffix(at, "s"), 64)
			if err != nil {
				t.Fatalf("slice %q: %v", name, err)
			}
			size := uint64(1) << int(began*10+0.5)
			if phase == "solve" {
				size *= 3
			}
			for pair, v := range sent {
				if v.Bytes != v.Count*size {
					t.Errorf("%q, rank %d: %d messages of %d bytes in all, want %d bytes each", name, pair.From, v.Count, v.Bytes, size)
				}
				messages[phase] += v.Count
			}
		}
		diff(t, "messages by phase", map[string]uint64{"run": 2 * 40, "solve": 2 * 20}, messages)
		if n := len(j.ranks[0].Slices); n < 1+6 { // that of MPI_Init, and six parts of at least 60 ms
			t.Errorf("%d slices", n)
		}
	})
}

// TestPhaseLinking names phases in all the parts that a program can consist of,
// compiled in several ways: one at level quick, the others at level all.
func TestPhaseLinking(t *testing.T) {
	withEachAt(t, testenv.Highest(), debian, func(t *testing.T, m implementation) {
		for _, cc := range []string{"gcc", "clang"} {
			for _, optimize := range []string{"-O0", "-O2"} {
				for name, link := range map[string][]string{
					"-fPIE": {"-pie"}, "-fno-pie": {"-no-pie"}, "-fno-plt": {"-no-pie", "-Wl,-z,now"},
				} {
					t.Run(cc+optimize+name, func(t *testing.T) {
						if cc+optimize+name == "gcc-O2-fPIE" {
							testenv.At(t, testenv.Quick)
						} else {
							testenv.At(t, testenv.All)
						}
						b := parts{cc: m.cc, compiler: cc, compile: []string{optimize, name}, link: link, dir: t.TempDir()}
						program, plugin := b.build(t)
						want := map[string]volumes{"program": message(0, 0, 1), "static_part": message(0, 0, 2),
							"shared_part": message(0, 0, 4), "plugin_part": message(0, 0, 8)}
						diff(t, "sent by phase", want, sentIn(m.run(t, 1, program, plugin).ranks))
					})
				}
			}
		}
	})
}

// parts is the program phase_parts with its libraries, and how to build them.
type parts struct {
	cc, compiler  string // the MPI's compiler wrapper and the underlying compiler
	compile, link []string
	dir           string
}

func (b parts) build(t *testing.T) (program, plugin string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(b.dir, name) }
	source := func(name string) string { return filepath.Join(root, "tests", "programs", name) }
	part := source("phase_part.c")
	b.run(t, append(b.compile, "-c", part, "-DPART=static_part", "-o", in("static.o"))...)
	succeed(t, nil, "ar", "cr", in("libstatic.a"), in("static.o"))
	b.run(t, b.compile[0], "-fPIC", "-shared", part, "-DPART=shared_part", "-o", in("libshared.so"))
	b.run(t, b.compile[0], "-fPIC", "-shared", part, "-o", in("plugin.so"))
	b.run(t, slices.Concat(b.compile, b.link, []string{source("phase_parts.c"), "-o", in("program"),
		"-L" + b.dir, "-lstatic", "-lshared", "-Wl,-rpath," + b.dir, "-ldl"})...)
	return in("program"), in("plugin.so")
}

func (b parts) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(b.cc, append([]string{"-Wall", "-I" + filepath.Join(root, "interpose", "include")}, args...)...)
	cmd.Env = append(environ(t), "OMPI_CC="+b.compiler, "MPICH_CC="+b.compiler)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}
