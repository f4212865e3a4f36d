package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// unloadedPlugins compiles the plugins of unloaded.c, which differ only in
// their names.
func (m implementation) unloadedPlugins(t *testing.T) (paths []string) {
	for _, name := range []string{"red", "green", "blue"} {
		paths = append(paths, m.compile(t, "unloaded_plugin", "-shared", "-fPIC", "-DNAME="+name))
	}
	return paths
}

// fileOf returns the path of the file that contains a call site.
func fileOf(p *profile.Profile, site uint64) string {
	frames := p.Frames(site)
	if len(frames) == 0 {
		return "unknown"
	}
	return frames[0].Path
}

// pluginUse holds what a plugin did.
type pluginUse struct{ Sendrecvs, Alltoallvs, Vectors, Barriers, Received uint64 }

func pluginUses(p *profile.Profile) map[string]pluginUse {
	out := map[string]pluginUse{}
	for i := range p.Rows {
		r := &p.Rows[i]
		file := fileOf(p, r.Callsite)
		use := out[file]
		switch r.Call {
		case "Sendrecv":
			use.Sendrecvs += r.Calls
		case "Alltoallv":
			use.Alltoallvs += r.Calls
		case "Barrier":
			use.Barriers += r.Calls
		case "Irecv":
			if r.Direction == profile.Recv {
				use.Received += r.Bytes
			}
		}
		out[file] = use
	}
	for i := range p.Vectors {
		file := fileOf(p, p.Vectors[i].Callsite)
		use := out[file]
		use.Vectors += p.Vectors[i].Calls
		out[file] = use
	}
	return out
}

// wantUses returns the expected uses, as unloaded.c describes them.
func wantUses(plugins []string, times uint64) map[string]pluginUse {
	out := map[string]pluginUse{}
	for i, path := range plugins {
		n := uint64(i+1) * times
		out[path] = pluginUse{10 * n, n, n, n, 100 * n}
	}
	return out
}

// TestUnloadedPlugins requires that each plugin has its own calls, although all
// are loaded at the same addresses: in rows of several threads, vectors,
// pending receives, stacks and events.
func TestUnloadedPlugins(t *testing.T) {
	cases := map[string]struct {
		times int
		flags []string
	}{
		"profile": {1, nil},
		"sampled": {3, []string{"--timing", "sampled"}},
		"stacks":  {1, []string{"--stack", "3"}},
		// The rows of the unloaded plugins fill the first table several times.
		"again": {300, nil},
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		plugins := m.unloadedPlugins(t)
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				command := append([]string{m.compile(t, "unloaded"), strconv.Itoa(c.times)}, plugins...)
				j := record(t, c.flags, m.launch(1, command...)...)
				checkWhole(t, 1, j)
				got := pluginUses(j.ranks[0])
				for file := range got {
					if !strings.Contains(file, "unloaded_plugin") {
						delete(got, file)
					}
				}
				diff(t, "calls of the plugins", wantUses(plugins, uint64(c.times)), got)
				if rows := len(j.ranks[0].Rows); rows > 300 {
					t.Errorf("%d rows: those of a plugin that is loaded again are not added up", rows)
				}
				sites := map[string]uint64{}
				for _, s := range callSites(t, j.dir) {
					if s.Call == "Sendrecv" {
						sites[s.Function] += s.Calls
					}
				}
				n := uint64(c.times)
				diff(t, "call sites", map[string]uint64{"step_in_red": 10 * n, "step_in_green": 20 * n, "step_in_blue": 30 * n}, sites)
			})
		}
		t.Run("trace", func(t *testing.T) {
			const times = 60
			command := append([]string{m.compile(t, "unloaded"), strconv.Itoa(times)}, plugins...)
			j, traces := m.trace(t, 1, nil, command...)
			checkWhole(t, 1, j)
			got := map[string]uint64{}
			err := traces[0].Each(func(e *profile.Events, kinds []profile.EventKind) error {
				for i := range e.Start {
					if k := &kinds[e.Kind[i]]; k.Call == "Sendrecv" && k.Action == profile.Called {
						function, _, _ := strings.Cut(k.Callsite, " ")
						got[function]++
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "events", map[string]uint64{"step_in_red": 10 * times, "step_in_green": 20 * times, "step_in_blue": 30 * times}, got)
		})
	})
}

// TestUnloadedUnseen requires that the library notices that a file was unloaded
// when the next unknown file makes a call.
func TestUnloadedUnseen(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		plugins := m.unloadedPlugins(t)
		j := m.run(t, 1, m.compile(t, "unloaded_unseen"), plugins...)
		got := pluginUses(j.ranks[0])
		for i, path := range plugins {
			if n := got[path].Sendrecvs; n != uint64(10*(i+1)) {
				t.Errorf("%d Sendrecvs of %s, want %d", n, path, 10*(i+1))
			}
		}
	})
}

// TestReloadedMPI unloads MPI together with the plugin that uses it, and loads
// it again. Each round must be recorded.
func TestReloadedMPI(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		checkReloaded(t, m.library(t), m.compile(t, "reloaded_plugin", "-shared", "-fPIC"))
	})
}

func TestReloadedFortran(t *testing.T) {
	withEachBinding(t, func(t *testing.T, m implementation, b binding) {
		checkReloaded(t, m.library(t), m.compileFortran(t, b, "fortran_reloaded", "-shared", "-fPIC"))
	})
}

func checkReloaded(t *testing.T, library, plugin string) {
	t.Helper()
	const rounds = 3
	host := compilePlain(t, "reloaded")
	for _, scope := range []string{"local", "global"} {
		t.Run(scope, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			command := preload(library, []string{"MPITRACE_DIR=" + dir}, host, plugin, scope, strconv.Itoa(rounds))
			out := succeed(t, nil, command...)
			if strings.TrimSpace(out.stdout) != "ok" || out.stderr != "" {
				t.Errorf("it printed %q and %q", out.stdout, out.stderr)
			}
			ranks := readRecordings(t, dir)
			checkWhole(t, 1, job{ranks: ranks})
			moved := message(0, 0, 20).times(rounds)
			want{
				sent: map[string]volumes{"Sendrecv": moved}, received: map[string]volumes{"Sendrecv": moved},
				calls: map[string][]uint64{"Init": {rounds}, "Sendrecv": {rounds}, "Barrier": {rounds}, "Finalize": {rounds}},
			}.check(t, ranks)
			worlds := 0
			for i := range ranks[0].Comms {
				if ranks[0].Comms[i].Name == "MPI_COMM_WORLD" {
					worlds++
				}
			}
			diff(t, "communicators called MPI_COMM_WORLD", 1, worlds)
		})
	}
}

// TestReloadedOtherMPI loads and unloads an MPI several times. A library for another MPI must
// record nothing, each time.
func TestReloadedOtherMPI(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		other := implementations()[0]
		if m.name == other.name {
			other = implementations()[1]
		}
		plugin := m.compile(t, "reloaded_plugin", "-shared", "-fPIC")
		for _, scope := range []string{"local", "global"} {
			out := succeed(t, nil, preload(other.library(t), nil, compilePlain(t, "reloaded"), plugin, scope, "2")...)
			if strings.TrimSpace(out.stdout) != "ok" {
				t.Errorf("%s: it printed %q", scope, out.stdout)
			}
		}
	})
}
