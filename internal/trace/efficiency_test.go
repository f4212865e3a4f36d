package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// pipeline returns three ranks that compute one after the other: 30, 28 and 38
// ms. Each but the last ends its work
// 10 ms before the next one ends.
func pipeline() []*program {
	j := job(3, 90)
	j[2].Trace().FinalizeStart = at(100)
	j[0].send("Send", 1, 30, 31)
	j[0].wait("Win_fence", 31, 90)
	j[1].recv(0, 0, 32)
	j[1].send("Send", 2, 60, 61)
	j[1].wait("Win_fence", 61, 90)
	j[2].recv(1, 0, 62)
	return j
}

func TestCriticalPath(t *testing.T) {
	got := analyze(t, pipeline(), Options{}).CriticalPath
	want := &CriticalPath{Length: 0.100, Jumps: 2, Computation: 0.096, MPI: 0.004,
		Ranks: []PathRank{ // the last 2 ms of each receive are not for the sender
			{2, 0.040, 0.40, 0.038, 0.002},
			{0, 0.030, 0.30, 0.030, 0},
			{1, 0.030, 0.30, 0.028, 0.002},
		},
		Callsites: []PathPlace{{"Recv", "Recv", 0.004, 0.04}},
		Segments: []PathSegment{
			{0, 0, at(0), at(30)},
			{1, 0, at(30), at(60)},
			{2, 0, at(60), at(100)},
		},
	}
	testenv.Equal(t, want, got, cmp.Comparer(near))
}

// The path goes through the last rank to enter a barrier, and through a rank
// that posts a receive late.
func TestCriticalPathOfLateOnes(t *testing.T) {
	j := job(2, 100)
	came(j, "Barrier", -1, 41, 0, 40)
	j[1].send("Ssend", 0, 45, 81)
	j[0].recv(1, 80, 82)
	j[1].Trace().FinalizeStart = at(101)
	got := analyze(t, j, Options{}).CriticalPath
	// Rank 1 from 101 back to 80, rank 0 to 40, rank 1 to the start.
	want := []PathRank{{1, 0.061, 61. / 101, 0.060, 0.001}, {0, 0.040, 40. / 101, 0.039, 0.001}}
	testenv.Equal(t, want, got.Ranks, cmp.Comparer(near))
}

func TestPOP(t *testing.T) {
	got := *analyze(t, pipeline(), Options{}).POP
	// The useful times are 30, 28 and 38 ms, 32 ms on average. On a network
	// that takes no time the three computations take 96 ms, one after the
	// other.
	want := POPFactors{Ranks: 3, Runtime: 0.100, IdealRuntime: 0.096, UsefulMean: 0.032, UsefulMax: 0.038, UsefulMaxRank: 2, ParallelEfficiency: 0.32,
		LoadBalance: 32. / 38, CommunicationEfficiency: 0.38, Serialisation: 38. / 96, Transfer: 0.96}
	testenv.Equal(t, want, got, cmp.Comparer(near))
}

// Ranks that compute equally long and then meet lose time only to the network.
func TestPOPOfTransfer(t *testing.T) {
	j := job(2, 100)
	came(j, "Allreduce", -1, 60, 40, 40)
	got := *analyze(t, j, Options{}).POP
	want := POPFactors{Ranks: 2, Runtime: 0.100, IdealRuntime: 0.080, UsefulMean: 0.080, UsefulMax: 0.080, ParallelEfficiency: 0.80,
		LoadBalance: 1, CommunicationEfficiency: 0.80, Serialisation: 1, Transfer: 0.80}
	testenv.Equal(t, want, got, cmp.Comparer(near))
}

// Each rank needs data of the other in turn. Because they compute in turn, half
// of the time is lost.
func TestPOPOfSerialisation(t *testing.T) {
	j := job(2, 40)
	j[0].send("Send", 1, 10, 10)
	j[1].recv(0, 0, 10)
	j[1].send("Send", 0, 20, 20)
	j[0].recv(1, 10, 20)
	j[0].send("Send", 1, 30, 30)
	j[1].recv(0, 20, 30)
	j[0].wait("Win_fence", 30, 40)
	got := *analyze(t, j, Options{}).POP
	want := POPFactors{Ranks: 2, Runtime: 0.040, IdealRuntime: 0.040, UsefulMean: 0.020, UsefulMax: 0.020, ParallelEfficiency: 0.50,
		LoadBalance: 1, CommunicationEfficiency: 0.50, Serialisation: 0.50, Transfer: 1}
	testenv.Equal(t, want, got, cmp.Comparer(near), cmpopts.IgnoreFields(POPFactors{}, "UsefulMaxRank"))
}

// TestPOPOfSessions checks that the time in later sessions is no useful time, and that of the first
// Session_init and the last Session_finalize is outside the run time.
func TestPOPOfSessions(t *testing.T) {
	j := job(1, 100)
	j[0].wait("Session_init", -1, 0)
	j[0].wait("Session_finalize", 10, 20)
	j[0].wait("Session_init", 40, 70)
	j[0].wait("Session_finalize", 100, 101)
	if got := analyze(t, j, Options{}).POP; !near(got.ParallelEfficiency, 0.6) || !near(got.Runtime, 0.1) {
		t.Errorf("%+v, want 60 of 100 ms", got)
	}
}
