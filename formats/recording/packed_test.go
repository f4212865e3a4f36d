package recording

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// packedFile packs raw into a file and returns its path.
func packedFile(t testing.TB, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "1.rec")
	testenv.WriteFile(t, path, packedAs(t, "1.rec", raw))
	return path
}

func packedAs(t testing.TB, name string, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	testenv.NoError(t, Pack(&b, name, bytes.NewReader(raw), int64(len(raw)), nil))
	return b.Bytes()
}

// A packed recording gives the same profile, in whole or for its head only, and
// is a fraction of the size.
func TestPacked(t *testing.T) {
	raw := fileOf(t, profile.Finalized)
	plain, packed := filepath.Join(t.TempDir(), "1.rec"), packedFile(t, raw)
	testenv.WriteFile(t, plain, raw)
	for name, readOne := range map[string]func(string) (*profile.Profile, error){"whole": ReadFile, "head": ReadHead} {
		want, err := readOne(plain)
		testenv.NoError(t, err)
		got, err := readOne(packed)
		testenv.NoError(t, err)
		want.Source = packed
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var dumps [2]bytes.Buffer
	for i, path := range []string{plain, packed} {
		testenv.NoError(t, Dump(&dumps[i], path))
	}
	if diff := cmp.Diff(dumps[0].String(), dumps[1].String()); diff != "" {
		t.Errorf("dump: %s", diff)
	}
	info, err := os.Stat(packed)
	testenv.NoError(t, err)
	if info.Size()*4 > int64(len(raw)) {
		t.Errorf("%d bytes, packed %d", len(raw), info.Size())
	}
}

// Files that are no recording, or too long to be unpacked in memory, are copied
// unchanged.
func TestPackLeavesAlone(t *testing.T) {
	long := make([]byte, maxPacked+1)
	copy(long, magic)
	for name, raw := range map[string][]byte{"empty": nil, "text": []byte("three words here"), "long": long} {
		got, err := os.ReadFile(packedFile(t, raw))
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s: %d bytes became %d (%v)", name, len(raw), len(got), err)
		}
	}
}

// Damage anywhere is detected, by zstd's checksum or by ours. (A few bits do
// not matter: the unpacked content is the same.)
func TestPackedDamage(t *testing.T) {
	path := packedFile(t, fileOf(t, profile.Finalized))
	whole := testenv.ReadFile(t, path)
	want, err := ReadFile(path)
	if err != nil || len(want.Problems) > 0 {
		t.Fatalf("whole: %+v, %v", want, err)
	}
	missed := func(raw []byte) bool {
		testenv.WriteFile(t, path, raw)
		p, err := ReadFile(path)
		return err == nil && len(p.Problems) == 0 && !cmp.Equal(want, p)
	}
	for at := 0; at < len(whole); at += testenv.Step(17) {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		if missed(flipped) {
			t.Errorf("bit %d of byte %d was not missed", at%8, at)
		}
		if missed(whole[:at]) {
			t.Errorf("what is behind byte %d was not missed", at)
		}
	}
}

// If two recordings were put together with `cat`, the second is reported.
func TestPackedTogether(t *testing.T) {
	raw := fileOf(t, profile.Finalized)
	one, other := packedAs(t, "1.rec", raw), packedAs(t, "2.rec", raw)
	path := filepath.Join(t.TempDir(), "1.rec")
	for want, second := range map[string][]byte{"another recording begins": other, `recording "1.rec" is left out`: one} {
		testenv.WriteFile(t, path, slices.Concat(one, second))
		p, err := ReadFile(path)
		if err != nil || !strings.Contains(strings.Join(p.Problems, "\n"), want) {
			t.Errorf("%q in %+v, %v", want, p.Problems, err)
		}
	}
}

// FuzzPacked checks that there is no panic, and that no more memory is used
// than the limit of packed files.
func FuzzPacked(f *testing.F) {
	good := packedAs(f, "1.rec", sample().bytes())
	for _, end := range []int{len(containerMagic), len(containerMagic) + 6, len(good) / 2, len(good)} {
		f.Add(good[:end])
	}
	f.Add(append(bytes.Clone(packedMagic), newPacker().EncodeAll(sample().bytes(), nil)...))
	path := filepath.Join(f.TempDir(), "1.rec")
	f.Fuzz(func(t *testing.T, raw []byte) {
		testenv.WriteFile(t, path, raw)
		used := testenv.Allocated(func() { ReadFile(path) })
		if most := uint64(4*maxPacked + 100*len(raw)); used > most {
			t.Errorf("%d bytes of file took %d of memory", len(raw), used)
		}
	})
}
