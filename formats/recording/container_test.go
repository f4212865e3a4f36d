package recording

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// processOf returns a process of a job: rich, killed or with sampled times.
func processOf(rank int) *profile.Profile {
	p := []func() *profile.Profile{rich, killed, sampled, many}[rank%4]()
	p.Run, p.Rank, p.Size, p.Host, p.Pid, p.Start = "job", rank, 8, "node7", 100+rank, int64(1_000+rank)
	return p
}

// named returns the file name of a process's recording.
func named(p *profile.Profile) string { return fmt.Sprintf("%s-%d-%d.rec", p.Host, p.Pid, p.Start) }

func imageBytes(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	raw, err := recordingtest.Append(nil, p)
	testenv.NoError(t, err)
	return raw
}

// packedContainer writes a container of n processes, in the reverse order of
// their ranks.
func packedContainer(t testing.TB, n int) string {
	t.Helper()
	var out bytes.Buffer
	w := NewContainerWriter(&out, nil)
	for rank := n - 1; rank >= 0; rank-- {
		p := processOf(rank)
		raw := imageBytes(t, p)
		testenv.NoError(t, w.Add(named(p), bytes.NewReader(raw), int64(len(raw))))
	}
	testenv.NoError(t, w.Close())
	return writeContainer(t, out.Bytes())
}

// asRead returns what reading a recording of its own gives.
func asRead(t testing.TB, p *profile.Profile, source string) *profile.Profile {
	t.Helper()
	got, err := Read(bytes.NewReader(imageBytes(t, p)), int64(len(imageBytes(t, p))))
	testenv.NoError(t, err)
	got.Source = source
	return got
}

func opening(t testing.TB, path string) *Container {
	t.Helper()
	c, err := OpenContainer(path)
	testenv.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// checkMembers requires that a container has the recordings of n processes, each
// as in a file of its own.
func checkMembers(t *testing.T, path string, n int, packed bool) {
	t.Helper()
	c := opening(t, path)
	if len(c.Problems()) > 0 || c.Packed() != packed || len(c.Heads()) != n {
		t.Fatalf("%v, packed %v, %d heads", c.Problems(), c.Packed(), len(c.Heads()))
	}
	for rank, h := range c.Heads() {
		p := processOf(rank)
		at := filepath.Join(path, named(p))
		want := asRead(t, p, at)
		if diff := cmp.Diff(headOf(named(p), want), h); diff != "" {
			t.Errorf("head of rank %d: %s", rank, diff)
		}
		for name, read := range map[string]func() (*profile.Profile, error){
			"in order": func() (*profile.Profile, error) { return readWhole(c, rank) },
			"by path":  func() (*profile.Profile, error) { return ReadFile(at) },
		} {
			got, err := read()
			testenv.NoError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rank %d %s: %s", rank, name, diff)
			}
		}
		checkHead(t, at, want)
	}
}

func TestContainerPacked(t *testing.T) {
	path := packedContainer(t, 8)
	checkMembers(t, path, 8, true)
	if _, err := ReadFile(filepath.Join(path, "none.rec")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a recording that is not there: %v", err)
	}
}

// liveContainer writes a container of n processes that is not packed, with
// granules that were claimed and not used.
func liveContainer(t testing.TB, n int) (path string, c *recordingtest.Container) {
	t.Helper()
	c = recordingtest.NewContainer("node7")
	var ps []*profile.Profile
	for rank := range n {
		ps = append(ps, processOf(rank))
	}
	c.Claim(1)
	testenv.NoError(t, c.Add(ps[:n/2]...))
	c.Claim(3)
	testenv.NoError(t, c.Add(ps[n/2:]...))
	c.Claim(1)
	return writeContainer(t, c.Bytes()), c
}

func writeContainer(t testing.TB, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job"+ContainerSuffix)
	testenv.WriteFile(t, path, raw)
	return path
}

// The extents of each process are between those of others.
func TestContainerLive(t *testing.T) {
	path, _ := liveContainer(t, 8)
	checkMembers(t, path, 8, false)
}

// readWhole reads the recording with the index i of Heads.
func readWhole(c *Container, i int) (*profile.Profile, error) {
	c.Heads()
	return c.read(&c.members[c.order[i]], false)
}
