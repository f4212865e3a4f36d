// Package e2e holds the end-to-end tests and nothing else: real programs, from
// tests/programs and examples, under real MPIs, wrapped by the commands as
// a user would. What they must have communicated is worked out beside each
// test, from what the program does and from the definition of what counts.
//
// Tests have three levels, which MPITRACE_TEST_LEVEL selects (default: quick):
//
//   - quick, make test: each behaviour once, on Debian's Open MPI and MPICH;
//   - all, added by make test-all: the MPIs of the Python wheels, sanitizers,
//     applications, and longer runs of what is tried many times;
//   - sweep, make test-sweep: every fault, 408 kills, 10^9 calls, in parts (scripts/sweep.sh).
//
// Programs that need nothing but a number of ranks run together, each in a slice of one
// job: together_test.go lists them, and tests check m.part(t, "program").
//
// A test that uses withEach runs on Debian's MPIs at level quick and on the others
// at level all. withEachAt gives all of a test one level, and testenv.At does so for
// a test of no particular MPI. To run one test at two levels:
//
//	MPITRACE_TEST_LEVEL=quick,all go test ./tests/e2e -run TestHalo
package e2e
