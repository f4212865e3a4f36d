package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The job of the mutants: mutantRanks processes, each of which sends to the others
// mutantRows messages of one byte, from as many places.
const (
	mutantRanks = 4
	mutantRows  = 300
)

// sums are those of a whole job.
type sums struct{ messages, bytes uint64 }

var mutantSums = sums{mutantRanks * mutantRows, mutantRanks * mutantRows}

// mutantJob returns the processes. Rank 0 has two threads, and so more than one extent.
func mutantJob() (ps []*profile.Profile) {
	for rank := range mutantRanks {
		p := &profile.Profile{Run: "job", Rank: rank, Size: mutantRanks, Host: "node7", Pid: 100 + rank, Start: int64(1_000 + rank), End: 9_000_000,
			State: profile.Finalized, Threads: 1, Comms: []profile.Comm{{ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1,
				Rank: rank, Members: profile.Group{Stride: 1, N: mutantRanks}}}}
		if rank == 0 {
			p.Threads = 2
		}
		for i := range mutantRows {
			peer := (rank + 1 + i%(mutantRanks-1)) % mutantRanks
			p.Rows = append(p.Rows, profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Thread: int32(i % p.Threads),
				Peer: int32(peer), Callsite: uint64(i + 1), Slice: 0, Calls: 1, Messages: 1, Bytes: 1, SizeClass: 1})
		}
		slices.SortStableFunc(p.Rows, func(a, b profile.Row) int { return int(a.Thread - b.Thread) })
		ps = append(ps, p)
	}
	return ps
}

// liveMutant and packedMutant return the container of the job.
func liveMutant(t testing.TB) []byte {
	c := recordingtest.NewContainer("node7")
	testenv.NoError(t, c.Add(mutantJob()...))
	return c.Bytes()
}

func packedMutant(t testing.TB) []byte {
	var out bytes.Buffer
	w := recording.NewContainerWriter(&out, nil)
	for _, p := range mutantJob() {
		raw, err := recordingtest.Append(nil, p)
		if err == nil {
			err = w.Add(fmt.Sprintf("%s-%d-%d.rec", p.Host, p.Pid, p.Start), bytes.NewReader(raw), int64(len(raw)))
		}
		testenv.NoError(t, err)
	}
	testenv.NoError(t, w.Close())
	return out.Bytes()
}

// mutate damages a container, and says how.
func mutate(r *rand.Rand, raw []byte) ([]byte, string) {
	raw = bytes.Clone(raw)
	at, length := mutantPlace(r, raw), 1+r.IntN(64)
	if r.IntN(3) == 0 {
		length = 1 + r.IntN(2*layout.Granule)
	}
	end := min(at+length, len(raw))
	switch r.IntN(6) {
	case 0, 1:
		bit := r.IntN(8)
		raw[at] ^= 1 << bit
		return raw, fmt.Sprintf("bit %d of byte %d flipped", bit, at)
	case 2:
		for i := at; i < end; i++ {
			raw[i] = byte(r.Uint32())
		}
		return raw, fmt.Sprintf("bytes %d to %d overwritten", at, end)
	case 3:
		clear(raw[at:end])
		return raw, fmt.Sprintf("bytes %d to %d set to zero", at, end)
	case 4:
		return raw[:at], fmt.Sprintf("truncated at byte %d", at)
	}
	if r.IntN(2) == 0 { // whole granules
		at, length = at/layout.Granule*layout.Granule, layout.Granule
	}
	other := mutantPlace(r, raw)
	if length == layout.Granule {
		other = other / layout.Granule * layout.Granule
	}
	length = min(length, len(raw)-max(at, other))
	a, b := raw[at:at+length], raw[other:other+length]
	both := bytes.Clone(b)
	copy(b, bytes.Clone(a))
	copy(a, both)
	return raw, fmt.Sprintf("%d bytes at %d and %d exchanged", length, at, other)
}

// mutantPlace chooses a byte: near the start of a granule, one that is not zero, or any.
func mutantPlace(r *rand.Rand, raw []byte) int {
	at := r.IntN(len(raw))
	switch r.IntN(3) {
	case 0:
		return min(at/layout.Granule*layout.Granule+r.IntN(layout.ExtentSize), len(raw)-1)
	case 1:
		for raw[at] == 0 {
			at = r.IntN(len(raw))
		}
	}
	return at
}

// answer is what a command says about a run: its sums, or what is damaged or missing.
type answer struct {
	sums
	told string // "" if nothing is said to be damaged or missing
}

var tellsDamage = regexp.MustCompile(`(?m)^.*(is damaged|no recording of|read recording|read container|read arrow file|holds no recording|not a container).*$`)

func told(got output) string {
	if text := tellsDamage.FindString(got.stderr); text != "" || got.code == 0 {
		return text
	}
	return "status " + strconv.Itoa(got.code) + ": " + got.stderr
}

func reported(dir string) (a answer, err error) {
	got := call("report", "--json", dir)
	if a.told = told(got); a.told != "" || got.code != 0 {
		return a, nil
	}
	var doc struct {
		Jobs []struct {
			Classes []struct {
				Messages uint64 `json:"messages"`
				Bytes    uint64 `json:"bytes"`
			} `json:"classes"`
			NotMeasured []string `json:"not_measured"`
		} `json:"jobs"`
	}
	err = json.Unmarshal([]byte(got.stdout), &doc)
	for _, j := range doc.Jobs {
		for _, text := range j.NotMeasured {
			if strings.Contains(text, "no recording of") {
				a.told = text
			}
		}
		for _, c := range j.Classes {
			a.messages, a.bytes = a.messages+c.Messages, a.bytes+c.Bytes
		}
	}
	return a, err
}

func exportedAs(dir string) (a answer, err error) {
	got := call("export", dir, "--format", "csv", "-o", "-")
	if a.told = told(got); a.told != "" || got.code != 0 {
		return a, nil
	}
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil || len(rows) == 0 {
		return a, fmt.Errorf("%d rows: %w", len(rows), err)
	}
	messages, bytes := slices.Index(rows[0], "messages"), slices.Index(rows[0], "bytes")
	for _, row := range rows[1:] {
		m, _ := strconv.ParseUint(row[messages], 10, 64)
		b, _ := strconv.ParseUint(row[bytes], 10, 64)
		a.messages, a.bytes = a.messages+m, a.bytes+b
	}
	return a, nil
}

// matrixOf reads a run as profile2mat does, which refuses damage and names missing ranks.
func matrixOf(dir string) (a answer, err error) {
	var damage source.DamageList
	in := source.TrafficReader{Log: io.Discard, Stdin: strings.NewReader(""), Selection: &matrix.Selection{}, Damage: &damage, Warn: func(error) {},
		Use: func(j *source.Traffic) error {
			if missing := j.Missing(); missing.Len() > 0 {
				a.told = "nothing from " + missing.String()
			}
			for _, v := range j.Builder.Matrices().Direct().All() {
				a.messages, a.bytes = a.messages+v.Messages, a.bytes+v.Bytes
			}
			return nil
		}}
	if err := errors.Join(in.Read([]string{dir}), errors.Join(damage.Errors...)); err != nil {
		a.told = err.Error()
	}
	return a, nil
}

// mutantCommands are the commands whose answers are compared.
var mutantCommands = map[string]func(dir string) (answer, error){"report": reported, "export": exportedAs, "profile2mat": matrixOf}

// mutantStages are what is done with a damaged run before the commands are called. The
// last one leaves only the merged files.
var mutantStages = []struct {
	name string
	do   func(dir string) error
}{
	{"as it is", func(string) error { return nil }},
	{"after merge", func(dir string) error { call("merge", dir); return nil }},
	{"after collect", func(dir string) error { call("collect", dir); return nil }},
	{"after a second merge", func(dir string) error { call("merge", dir); return nil }},
	{"without recordings", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "recordings")) }},
}

// checkMutant requires that no command gives a wrong sum without a word, and that what
// export or profile2mat does not accept stays so, whatever is done with the run.
func checkMutant(dir string, raw []byte) error {
	if err := os.MkdirAll(filepath.Join(dir, "recordings"), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "recordings", "job-node7-01234567.node"), raw, 0o644); err != nil {
		return err
	}
	first := map[string]answer{}
	for i, stage := range mutantStages {
		if err := stage.do(dir); err != nil {
			return err
		}
		if i == len(mutantStages)-1 && !exists(filepath.Join(dir, "profile.arrow")) {
			continue // nothing could be merged
		}
		for name, ask := range mutantCommands {
			got, err := ask(dir)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", stage.name, name, err)
			}
			if got.told == "" && got.sums != mutantSums {
				return fmt.Errorf("%s: %s gives %+v without a word, want %+v", stage.name, name, got.sums, mutantSums)
			}
			if was := first[name].told; was != "" && got.told == "" {
				return fmt.Errorf("%s: %s accepts what it refused: %s", stage.name, name, was)
			}
			if i == 0 {
				first[name] = got
			}
		}
	}
	return nil
}

// TestMutants damages live and packed containers at random. MPITRACE_TEST_SEED repeats a
// run of the test. A sweep has a process for each 200 mutants, because cobra keeps the
// flags of every command that was made in a process.
func TestMutants(t *testing.T) {
	seed := mutantSeed(t)
	switch testenv.Highest() {
	case testenv.Sweep:
		for part := range uint64(25) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutants$", "-test.v")
			cmd.Env = append(os.Environ(), "MPITRACE_TEST_LEVEL="+string(testenv.All), fmt.Sprint("MPITRACE_TEST_SEED=", seed+part))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	case testenv.All:
		checkMutants(t, seed, 200)
	case testenv.Quick:
		checkMutants(t, seed, 12)
	case testenv.Check:
		checkMutants(t, seed, 2)
	}
}

func mutantSeed(t *testing.T) (seed uint64) {
	seed = rand.Uint64()
	if text := os.Getenv("MPITRACE_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("MPITRACE_TEST_SEED=%d", seed)
	return seed
}

func checkMutants(t *testing.T, seed uint64, n int) {
	base := t.TempDir()
	whole := [2][]byte{liveMutant(t), packedMutant(t)}
	for i, raw := range whole {
		testenv.NoError(t, checkMutant(filepath.Join(base, "whole"+strconv.Itoa(i)), raw))
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			raw, how := mutate(r, whole[i%2])
			dir := filepath.Join(base, strconv.Itoa(i))
			if err := checkMutant(dir, raw); err != nil {
				t.Errorf("mutant %d, %s container, %s: %v", i, [2]string{"live", "packed"}[i%2], how, err)
			}
			return os.RemoveAll(dir)
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
