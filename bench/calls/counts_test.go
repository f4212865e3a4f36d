package calls

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestInstructions checks that recording adds to each call as many instructions
// as instructions.txt says. On a platform that is not in the file it is
// skipped, but not in CI.
func TestInstructions(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "valgrind", "mpicc.openmpi", "mpif90.openmpi", "mpicc.mpich", "mpif90.mpich")
	kept, err := readCountsFile("instructions.txt")
	testenv.NoError(t, err)
	setups, err := prepare(t.Context(), options{}, t.TempDir(), io.Discard)
	testenv.NoError(t, err)
	compiled := len(setups)
	if setups, err = withPrebuilt(t.Context(), setups); err != nil {
		t.Fatal(err)
	}
	if len(setups) != 2*compiled {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
	for i := range setups {
		t.Run(setups[i].mpi+"/"+setups[i].compiler, func(t *testing.T) {
			platform := setups[i].platform()
			if !slices.ContainsFunc(slices.Collect(maps.Keys(kept)), func(of subject) bool { return of.mpi == platform }) {
				testenv.Skip(t, "instructions.txt has nothing of "+platform+": go run ./bench calls --update-instructions")
			}
			testInstructions(t, &setups[i], kept)
		})
	}
}

// testInstructions counts each call, once if the first count shows no change.
func testInstructions(t *testing.T, s *setup, kept counts) {
	now := counts{}
	var changes error
	for _, padding := range paddings {
		found, err := s.countGated(t.Context(), padding, io.Discard)
		testenv.NoError(t, err)
		now.keepLeast(found)
		if changes = compareCounts(kept, now, s.platform()); changes == nil {
			return
		}
	}
	t.Error(changes)
}

// The instructions that are added up from a profile are the difference of the
// process's totals. The totals can be compared if MPI neither polls nor waits.
func TestFollowedInstructionsAreTheDifference(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "valgrind")
	eachMPI(t, func(t *testing.T, mpi, cc string) {
		s := newSetup(t, mpi, cc)
		program := programs[0]
		program.operations = []operation{send, {"Sendrecv", []string{"Sendrecv"}, 1}}
		all := layer{owns: func(string) bool { return true }}
		total := map[string]map[string]float64{}
		for _, name := range []string{"none", "limit"} {
			profile := callgrindOf(t, s, program, s.tool(t, name))
			total[name] = map[string]float64{}
			for i, o := range program.operations {
				total[name][o.name] = perCall(t, profile, i, o, all)
			}
			if name == "none" {
				continue
			}
			for i, o := range program.operations {
				added := perCall(t, profile, i, o, layerOf(s.tool(t, name), o))
				if difference := total["limit"][o.name] - total["none"][o.name]; math.Abs(added-difference) > 1.5 || added < 20 {
					t.Errorf("%s: %.2f instructions are the wrapper's, and %.2f more are executed", o.name, added, difference)
				}
			}
		}
	})
}

// callgrindOf runs the program as count does, and returns the paths of the
// profiles.
func callgrindOf(t *testing.T, s setup, p program, tool tool) string {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "callgrind.out")
	x, err := s.open(t.Context(), p, tool, callgrind(profile), countPatience)
	for _, o := range p.operations {
		for _, turns := range turnsOf(p) {
			if err == nil {
				_, err = x.run(o.name, 0, turns)
			}
		}
	}
	if err == nil {
		err = x.close()
	}
	testenv.NoError(t, err)
	return profile
}

func perCall(t *testing.T, profile string, i int, o operation, l layer) float64 {
	t.Helper()
	found, err := addedPerCall(profile, i, o, l, aloneTurns)
	testenv.NoError(t, err)
	return found
}

const twoPlatforms = countsHeader + `
MPICH Version: 4.0.2, gcc 12.2.0
operation                        ours
Send                             90.0

Open MPI v4.1.4, gcc 12.2.0
operation                        ours ours-receives-off
Send                            163.0                 –
IsendIrecvWaitall/from=f08      357.3             250.5
`

func TestReadCounts(t *testing.T) {
	got, err := readCounts(strings.NewReader(twoPlatforms))
	testenv.NoError(t, err)
	mpich, openmpi := "MPICH Version: 4.0.2, gcc 12.2.0", "Open MPI v4.1.4, gcc 12.2.0"
	want := counts{
		{mpich, "Send", "ours"}:                                      90,
		{openmpi, "Send", "ours"}:                                    163,
		{openmpi, "IsendIrecvWaitall/from=f08", "ours"}:              357.3,
		{openmpi, "IsendIrecvWaitall/from=f08", "ours-receives-off"}: 250.5,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadCountsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a count too few":      "P\noperation ours ours-off\nSend 1\n",
		"a word":               "P\noperation ours\nSend many\n",
		"an operation twice":   "P\noperation ours\nSend 1\nSend 2\n",
		"no line of tools":     "P\nSend 1\n",
		"less than no cost":    "P\noperation ours\nSend -1\n",
		"what is not a number": "P\noperation ours\nSend NaN\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := readCounts(strings.NewReader(text)); err == nil {
				t.Errorf("it was read as %v", got)
			}
		})
	}
}

func TestCountsReadBack(t *testing.T) {
	file, err := os.Open("instructions.txt")
	testenv.NoError(t, err)
	defer file.Close()
	kept, err := readCounts(file)
	if err != nil || len(kept) == 0 {
		t.Fatalf("%d counts, %v", len(kept), err)
	}
	again, err := readCounts(strings.NewReader(kept.text()))
	if err != nil || !maps.Equal(kept, again) {
		t.Errorf("%v: wrote\n%s", err, kept.text())
	}
}

func TestCompareCounts(t *testing.T) {
	of := subject{"P", "Send", "ours"}
	for name, c := range map[string]struct {
		kept, now counts
		want      string // in the message; "" for none
	}{
		"the same":         {counts{of: 100}, counts{of: 100}, ""},
		"5 % more":         {counts{of: 100}, counts{of: 105}, ""},
		"over 5 % more":    {counts{of: 100}, counts{of: 105.1}, "P: Send, ours: adds 105.1 instructions, more than the 100.0 that are kept"},
		"over 5 % less":    {counts{of: 100}, counts{of: 94.9}, ""},
		"a new operation":  {counts{}, counts{of: 7}, "P: Send, ours: adds 7.0 instructions, and none are kept"},
		"one that is gone": {counts{of: 7}, counts{}, "P: Send, ours: 7.0 instructions are kept, and none counted"},
		"another platform": {counts{{"Q", "Send", "ours"}: 7}, counts{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := compareCounts(c.kept, c.now, "P")
			if (err == nil) != (c.want == "") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "-update-instructions")) {
				t.Errorf("got %v, want %q and what to do", err, c.want)
			}
		})
	}
}

// compareCounts returns an error with the differences between the kept counts
// and those of now, for one platform: counts that grew by more than 5 %, and
// those that only one of the two has.
func compareCounts(kept, now counts, platform string) error {
	all := maps.Clone(kept)
	maps.Copy(all, now)
	maps.DeleteFunc(all, func(of subject, _ float64) bool { return of.mpi != platform })
	var changes []error
	for _, of := range slices.SortedFunc(maps.Keys(all), bySubject) {
		before, had := kept[of]
		after, has := now[of]
		name := fmt.Sprintf("%s: %s, %s", of.mpi, of.call, of.tool)
		switch {
		case !had:
			changes = append(changes, fmt.Errorf("%s: adds %.1f instructions, and none are kept", name, after))
		case !has:
			changes = append(changes, fmt.Errorf("%s: %.1f instructions are kept, and none counted", name, before))
		case after > 1.05*before:
			changes = append(changes, fmt.Errorf("%s: adds %.1f instructions, more than the %.1f that are kept", name, after, before))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return errors.Join(append(changes,
		errors.New("if that is meant to be: go run ./bench calls --update-instructions"))...)
}

func bySubject(a, b subject) int {
	return strings.Compare(a.call+" "+a.tool, b.call+" "+b.tool)
}
