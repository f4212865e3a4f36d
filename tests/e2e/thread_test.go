package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestThreads(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.recorded(t, "threads").ranks
		toSelf := volumes{}
		for r := range 2 {
			toSelf.add(r, r, 4*10000*8, 4*10000)
		}
		moved := map[string]volumes{"Sendrecv": toSelf}
		want{sent: moved, received: moved, calls: map[string][]uint64{"Sendrecv": {40000, 40000}}}.check(t, ranks)
	})
}

func TestThreadSends(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		const n = 100000
		w := threadSends(n)
		ranks := m.run(t, 2, m.compile(t, "thread_sends"), fmt.Sprint(n)).ranks
		w.check(t, ranks)
		diff(t, "threads", 9, ranks[0].Threads)
	})
}

// threadSends returns what thread_sends N does.
func threadSends(n uint64) want {
	v := volumes{}
	for r := range 2 {
		for thread := range uint64(8) {
			v.add(r, r, n/100*(8+thread), n/100)
		}
	}
	w := sendrecvs(v)
	w.calls = map[string][]uint64{"Send": {8 * n, 8 * n}, "Sendrecv": {8 * n / 100, 8 * n / 100}}
	return w
}

func TestThreadReceives(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		threadReceives(1000).check(t, m.run(t, 2, m.compile(t, "thread_receives"), "1000").ranks)
	})
}

// threadReceives returns what thread_receives N does.
func threadReceives(n uint64) want {
	v := messages(0, 1, 1, 2, 3, 4).times(8 * n)
	return want{sent: map[string]volumes{"Send": v}, received: map[string]volumes{"Irecv": v}, calls: map[string][]uint64{
		"Send": {8 * 4 * n, 0}, "Irecv": {0, 8 * 4 * n}, "Waitany": {0, 8 * 5 * n / 4}, "Waitall": {0, 8 * n / 4},
	}}
}

func threadEnds() want {
	v := volumes{}
	for k := range 200 {
		v.add(0, 0, uint64(k), 1)
	}
	return sendrecvs(v)
}

// TestRaces runs the library and multithreaded programs with the compiler's
// race detector. Any report, except about the MPI's own code, gives exit status
// 66.
func TestRaces(t *testing.T) {
	const sanitize = "-fsanitize=thread"
	withEachAt(t, testenv.All, anyMPI, func(t *testing.T, m implementation) {
		testenv.Need(t, "setarch")
		lib := m.library(t, sanitize, checkLocks, "-O1", "-g")
		for _, c := range []struct {
			name, argument string
			ranks          int
			want           want
		}{
			{"thread_sends", "1000", 2, threadSends(1000)}, {"thread_receives", "100", 2, threadReceives(100)},
			{"thread_ends", "", 1, threadEnds()}, {"mpit_threads", "30", 2, servedThreads(30)},
		} {
			t.Run(c.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				// The sanitizer's runtime occupies addresses that PMIx uses. It
				// supports neither randomized addresses nor UCX's hooks of
				// malloc.
				env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_INTERVAL=10ms", "UCX_MEM_EVENTS=no", "PMIX_MCA_gds=hash",
					"TSAN_OPTIONS=report_signal_unsafe=0:suppressions=" + filepath.Join(root, "tests", "e2e", "testdata", "tsan.supp")}
				if m.name == "mpich5" { // maps shared memory at addresses for which the runtime has no shadow memory
					env = append(env, "UCX_TLS=tcp,self")
				}
				command := append([]string{"setarch", "-R"}, preload(lib, env, m.compile(t, c.name, sanitize), c.argument)...)
				out := succeed(t, nil, m.launch(c.ranks, command...)...)
				if text := out.stdout + out.stderr; strings.Contains(text, "ThreadSanitizer") {
					t.Error(text)
				}
				c.want.check(t, readRecordings(t, dir))
			})
		}
	})
}
