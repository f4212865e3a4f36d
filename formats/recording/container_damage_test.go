package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// small returns a process that has ended, with a few rows.
func small(rank int) *profile.Profile {
	return &profile.Profile{Run: "job", Rank: rank, Size: 4, Host: "node7", Pid: 100 + rank, Start: int64(1_000 + rank), End: 9_000,
		State: profile.Finalized, Threads: 1, Rows: []profile.Row{{Call: "Init", Class: profile.Other, Comm: -1, Peer: -1, Calls: uint64(rank + 1), TimeNs: 7}}}
}

// inMemory writes the packed container of processes.
func inMemory(t testing.TB, ps ...*profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewContainerWriter(&out, nil)
	for _, p := range ps {
		testenv.NoError(t, w.addBytes(named(p), imageBytes(t, p), nil))
	}
	testenv.NoError(t, w.Close())
	return out.Bytes()
}

// outcome is what reading a container gives: the profiles, and all that is
// reported.
type outcome struct {
	heads    []Head
	of       []*profile.Profile
	reported []string
}

func outcomeOf(t testing.TB, path string) (o outcome) {
	t.Helper()
	c, err := OpenContainer(path)
	if err != nil {
		return outcome{reported: []string{err.Error()}}
	}
	defer c.Close()
	o.reported, o.heads = slices.Clone(c.Problems()), c.Heads()
	for i := range c.Heads() {
		p, err := readWhole(c, i)
		if err != nil {
			o.reported = append(o.reported, err.Error())
			continue
		}
		o.reported = append(o.reported, p.Problems...)
		o.of = append(o.of, p)
	}
	return o
}

// same returns the number of profiles that are as in want.
func (o outcome) same(want outcome) (n int) {
	for _, p := range want.of {
		if slices.ContainsFunc(o.of, func(got *profile.Profile) bool {
			return got.Pid == p.Pid && cmp.Equal(p, got, cmpopts.IgnoreFields(profile.Profile{}, "Source"))
		}) {
			n++
		}
	}
	return n
}

// check writes a damaged container, and requires that at least least profiles are
// read as before, and that the loss of any is reported.
func (want outcome) check(t *testing.T, path, what string, raw []byte, least int) {
	t.Helper()
	testenv.WriteFile(t, path, raw)
	got := outcomeOf(t, path)
	n := got.same(want)
	if n < least {
		t.Errorf("%s: %d profiles of %d are as before, want %d: %q", what, n, len(want.of), least, got.reported)
	}
	if n < len(want.of) && len(got.reported) == 0 {
		t.Errorf("%s: the loss of %d profiles is not reported", what, len(want.of)-n)
	}
}

// A flipped bit of a packed container affects one process at most, and is
// reported if it does. The index is not needed.
func TestContainerPackedDamage(t *testing.T) {
	raw := inMemory(t, small(0), small(1), small(2), small(3))
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	if len(want.of) != 4 || len(want.reported) > 0 {
		t.Fatalf("%+v", want)
	}
	for at := len(containerMagic); at < len(raw); at += testenv.Step(7) {
		flipped := bytes.Clone(raw)
		flipped[at] ^= 1 << (at % 8)
		what := fmt.Sprintf("bit %d of byte %d flipped", at%8, at)
		want.check(t, path, what, flipped, 3)
		if got := outcomeOf(t, path); len(got.reported) == 0 && !cmp.Equal(want.heads, got.heads) {
			t.Errorf("%s: other heads without a report", what)
		}
	}
}

// Where the index is missing too, a recording whose header is damaged is
// reported, and never appears under another name.
func TestContainerWalkedDamage(t *testing.T) {
	raw := inMemory(t, small(0), small(1))
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	for at := len(containerMagic); at < len(raw)-1; at += testenv.Step(7) {
		flipped := bytes.Clone(raw[:len(raw)-1])
		flipped[at] ^= 1 << (at % 8)
		what := fmt.Sprintf("without an index, bit %d of byte %d flipped", at%8, at)
		want.check(t, path, what, flipped, 1)
		for _, h := range outcomeOf(t, path).heads {
			if !slices.ContainsFunc(want.heads, func(w Head) bool { return w.Name == h.Name }) {
				t.Errorf("%s: a recording %q", what, h.Name)
			}
		}
	}
}

// Of a truncated container, the recordings before the end are read.
func TestContainerPackedTruncated(t *testing.T) {
	raw := inMemory(t, small(0), small(1), small(2), small(3))
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	c := opening(t, path)
	for at := 0; at < len(raw); at += testenv.Step(7) {
		whole := 0
		for i := range c.members {
			if f := c.members[i].frame; f.at+f.packed <= int64(at) {
				whole++
			}
		}
		want.check(t, path, fmt.Sprintf("cut at byte %d", at), raw[:at], whole)
	}
}

// liveRaw returns a container of processes that have ended. The first one has
// three extents, the others one each.
func liveRaw(t testing.TB) []byte {
	t.Helper()
	c := recordingtest.NewContainer("node7")
	first := small(0)
	first.Threads = 3
	for thread := range 3 {
		for i := range 300 {
			first.Rows = append(first.Rows, profile.Row{Thread: int32(thread), Call: "Init", Class: profile.Other, Comm: -1, Peer: -1, Callsite: uint64(i), Calls: 1})
		}
	}
	testenv.NoError(t, c.Add(first, small(1), small(2), small(3)))
	return c.Bytes()
}

// A flipped bit in the head of an extent, or in the recording behind it, affects
// one process at most, and is reported if it does.
func TestContainerLiveDamage(t *testing.T) {
	raw := liveRaw(t)
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	extents := opening(t, path).live.known
	if len(want.of) != 4 || len(want.reported) > 0 || len(extents) != 6 {
		t.Fatalf("%d profiles, %q, %d extents", len(want.of), want.reported, len(extents))
	}
	for _, x := range extents {
		for at := int(x.Offset); at < int(x.Offset)+2*layout.ExtentSize; at += testenv.Step(17) {
			for _, bit := range []int{at % 8, (at + 4) % 8} {
				flipped := bytes.Clone(raw)
				flipped[at] ^= 1 << bit
				what := fmt.Sprintf("bit %d of byte %d flipped, in extent %+v", bit, at, x)
				want.check(t, path, what, flipped, 3)
				if at < int(x.Offset)+layout.ExtentSize && len(outcomeOf(t, path).reported) == 0 {
					t.Errorf("%s: not reported", what)
				}
			}
		}
	}
}

// Extents without a checksum are read as before.
func TestContainerVersion1(t *testing.T) {
	c := recordingtest.NewContainer("node7")
	c.SetVersion(1)
	testenv.NoError(t, c.Add(small(0), small(1)))
	if got := outcomeOf(t, writeContainer(t, c.Bytes())); len(got.of) != 2 || len(got.reported) > 0 {
		t.Errorf("%d profiles, %q", len(got.of), got.reported)
	}
}

// Granules that were claimed, but that no extent needs, are no damage if the file
// ends before them: of a process that was killed, or that found no room.
func TestContainerClaimedBeyondEnd(t *testing.T) {
	c := recordingtest.NewContainer("node7")
	testenv.NoError(t, c.Add(small(0), small(1)))
	end := c.Claim(3)
	path := writeContainer(t, c.Bytes()[:end])
	if got := outcomeOf(t, path); len(got.of) != 2 || len(got.reported) > 0 {
		t.Errorf("%d profiles, %q", len(got.of), got.reported)
	}
	if err := opening(t, path).Whole(); err != nil {
		t.Error(err)
	}
}

// Of a truncated container, those processes are read whose extents are there.
func TestContainerLiveTruncated(t *testing.T) {
	raw := liveRaw(t)
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	extents := slices.Clone(opening(t, path).live.known)
	for g := 1; g < len(raw)/layout.Granule; g++ {
		for _, at := range []int{g * layout.Granule, g*layout.Granule + 1, g*layout.Granule + layout.ExtentSize + 100} {
			last := map[uint32]int{}
			for _, x := range extents {
				last[x.Pid] = int(x.Offset) + int(x.Granules)*layout.Granule
			}
			whole := 0
			for _, end := range last {
				if end <= at {
					whole++
				}
			}
			want.check(t, path, fmt.Sprintf("cut at byte %d", at), raw[:at], whole)
		}
	}
	for at := range containerHead {
		testenv.WriteFile(t, path, raw[:at])
		if _, err := OpenContainer(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("cut at byte %d: %v", at, err)
		}
	}
}

// If an extent is lost, the rows in the others are read, and the place is named.
func TestContainerLostExtent(t *testing.T) {
	raw := liveRaw(t)
	path := writeContainer(t, raw)
	whole := outcomeOf(t, path).of[0]
	var of []layout.Extent // rank 0
	for _, x := range opening(t, path).live.known {
		if x.Pid == uint32(whole.Pid) {
			of = append(of, x)
		}
	}
	for lost := 1; lost < len(of); lost++ {
		spoilt := bytes.Clone(raw)
		clear(spoilt[of[lost].Offset:][:layout.ExtentSize]) // as if its process had died before it used the granules
		testenv.WriteFile(t, path, spoilt)
		p, err := readWhole(opening(t, path), 0)
		testenv.NoError(t, err)
		problems := strings.Join(p.Problems, "\n")
		place := fmt.Sprintf("byte %d: ", of[lost].Logical)
		if last := lost == len(of)-1; !strings.Contains(problems, place) || strings.Contains(problems, "bytes are missing") == last {
			t.Errorf("extent %d of %d lost: problems %q", lost, len(of), p.Problems)
		}
		// Each thread has 300 rows in an extent of its own; thread 0 has one more.
		if n := len(p.Rows); n != 601 {
			t.Errorf("extent %d lost: %d rows, of %d", lost, n, len(whole.Rows))
		}
	}
}

// Names that cannot be used, and those that come again, are reported and left out.
func TestContainerNames(t *testing.T) {
	var out bytes.Buffer
	w := NewContainerWriter(&out, nil)
	bad := []string{"", "a", "../a.rec", "a/b.rec", ".rec", "a\x00.rec", strings.Repeat("x", 400) + ".rec"}
	for _, name := range bad {
		if err := w.addBytes(name, nil, nil); err == nil {
			t.Errorf("%q was written", name)
		}
		testenv.NoError(t, w.addBytes("good.rec", imageBytes(t, small(3)), nil))
		w.members[len(w.members)-1].name = name
	}
	for _, rank := range []int{0, 1, 0} {
		testenv.NoError(t, w.addBytes(fmt.Sprintf("n-%d-1.rec", rank), imageBytes(t, small(rank)), nil))
	}
	testenv.NoError(t, w.Close())
	c := opening(t, writeContainer(t, out.Bytes()))
	if heads := c.Heads(); len(heads) != 2 || heads[0].Name != "n-0-1.rec" || heads[1].Name != "n-1-1.rec" {
		t.Errorf("%+v", heads)
	}
	if got := c.Problems(); len(got) != len(bad)+1 || !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, `"n-0-1.rec" is left out`) }) {
		t.Errorf("problems %q", c.Problems())
	}
}

// Sizes that no file can have are refused before memory is allocated for them.
func TestContainerHostile(t *testing.T) {
	packed, live := inMemory(t, small(0)), liveRaw(t)
	footer := func(spoil func(f *containerFooter)) []byte {
		raw := bytes.Clone(packed)
		var f containerFooter
		at := len(raw) - binary.Size(f)
		binary.Decode(raw[at:], little, &f)
		spoil(&f)
		f.Checksum = f.sum()
		return append(raw[:at], appendFixed(nil, f)...)
	}
	// section is a container with only an index, of the given sizes.
	section := func(f frame, payload []byte) []byte {
		f.kind = indexFrame
		raw := append(bytes.Clone(containerMagic), append(seal(f.header(), payload), payload...)...)
		end := containerFooter{Index: uint64(len(containerMagic)), Magic: [8]byte(containerMagic[skippable:])}
		end.Size = uint64(int64(len(raw)) + footerSize)
		end.Checksum = end.sum()
		return appendFixed(append(raw, footerMagic...), end)
	}
	zeros := newPacker().EncodeAll(make([]byte, 64<<20), nil)
	set64 := func(raw []byte, at int, v uint64) []byte {
		raw = bytes.Clone(raw)
		little.PutUint64(raw[at:], v)
		return raw
	}
	for what, raw := range map[string][]byte{
		"an index of 2^60 bytes":     section(frame{packed: 1 << 60, size: 1 << 60}, nil),
		"an index of 2^60 unpacked":  section(frame{packed: 10, size: 1 << 60}, make([]byte, 10)),
		"an index longer than told":  section(frame{packed: int64(len(zeros)), size: 10}, zeros),
		"an index of zeros":          section(frame{packed: int64(len(zeros)), size: 64 << 20}, zeros),
		"an index at byte 2^60":      footer(func(f *containerFooter) { f.Index = 1 << 60 }),
		"an index that wraps":        footer(func(f *containerFooter) { f.Index = 1<<64 - 8 }),
		"names at byte 2^60":         footer(func(f *containerFooter) { f.Names = 1 << 60 }),
		"a dictionary at byte 2^60":  footer(func(f *containerFooter) { f.Dictionary = 1 << 60 }),
		"names that are the index":   footer(func(f *containerFooter) { f.Names = f.Index }),
		"2^60 granules":              set64(live, int(claimedAt), 1<<60),
		"an extent at byte 2^60":     set64(live, layout.Granule+48, 1<<60),
		"an extent of 2^32 granules": set64(live, layout.Granule+8, 1<<64-1),
	} {
		path := writeContainer(t, raw)
		used := testenv.Allocated(func() { outcomeOf(t, path) })
		if used > 8<<20 {
			t.Errorf("%s: %d bytes of memory", what, used)
		}
	}
	for what, raw := range map[string][]byte{
		"2^60 strings":    binary.AppendUvarint(nil, 1<<60),
		"2^60 recordings": binary.AppendUvarint([]byte{0}, 1<<60),
		"a long string":   append([]byte{1}, binary.AppendUvarint(nil, 1<<60)...),
		"no string":       append([]byte{0, 1}, make([]byte, minIndexed)...),
	} {
		if m, err := decodeIndex(raw, 100); err == nil {
			t.Errorf("%s: %+v", what, m)
		}
		if names, err := decodeNames(raw); err == nil && what != "no string" {
			t.Errorf("%s: %+v", what, names)
		}
	}
}

// Only a regular file is a container; a link to one is followed, as one to a
// recording is.
func TestContainerIsFile(t *testing.T) {
	path := packedContainer(t, 2)
	dir := filepath.Join(t.TempDir(), "dir"+ContainerSuffix)
	link := filepath.Join(t.TempDir(), "link"+ContainerSuffix)
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	testenv.NoError(t, os.Symlink(path, link))
	if _, err := OpenContainer(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	name := named(processOf(1))
	if p, err := ReadFile(filepath.Join(link, name)); err != nil || p.Rank != 1 {
		t.Errorf("by a link: %+v, %v", p, err)
	}
	inDir := filepath.Join(dir, name) // a directory with such a name holds files
	testenv.WriteFile(t, inDir, imageBytes(t, small(3)))
	if p, err := ReadFile(inDir); err != nil || p.Rank != 3 {
		t.Errorf("in a directory: %+v, %v", p, err)
	}
}

// linesOf returns the lines of a container that are not zeros, each after its
// number. Small inputs are better to fuzz.
func linesOf(raw []byte) (lines []byte) {
	const line = 64
	for at := 0; at < len(raw); at += line {
		if part := raw[at:min(at+line, len(raw))]; !bytes.Equal(part, make([]byte, len(part))) {
			lines = append(little.AppendUint16(lines, uint16(at/line)), part...)
		}
	}
	return lines
}

// fromLines is the inverse of linesOf, for at most 4 MiB.
func fromLines(lines []byte) []byte {
	const line = 64
	raw := make([]byte, 8*layout.Granule)
	for ; len(lines) >= 2+line; lines = lines[2+line:] {
		at := int(little.Uint16(lines)) * line
		if more := at + line - len(raw); more > 0 {
			raw = append(raw, make([]byte, more)...)
		}
		copy(raw[at:], lines[2:2+line])
	}
	return raw
}

// FuzzContainer checks that there is no panic, that memory is bounded, and that
// names of recordings cannot lead out of the container.
func FuzzContainer(f *testing.F) {
	packed := inMemory(f, small(0), small(1))
	f.Add(packed, false)
	f.Add(packed[:len(packed)/2], false)
	f.Add(learnt(f), false)
	live := recordingtest.NewContainer("n")
	live.Claim(1)
	testenv.NoError(f, live.Add(small(0), small(1)))
	live.Extend(layout.Extent{Kind: layout.ExtentEvents, Owner: 1_000, Pid: 100}, make([]byte, 200))
	f.Add(linesOf(live.Bytes()), true)
	path := filepath.Join(f.TempDir(), "x"+ContainerSuffix)
	const most = 4
	f.Fuzz(func(t *testing.T, raw []byte, lines bool) {
		if lines {
			raw = fromLines(raw)
		}
		testenv.WriteFile(t, path, raw)
		used := testenv.Allocated(func() {
			c, err := OpenContainer(path)
			if err != nil {
				return
			}
			defer c.Close()
			for _, name := range c.Names() {
				if filepath.Base(name) != name {
					t.Errorf("name %q", name)
				}
			}
			c.Whole()
			c.Traced()
			if len(c.Names()) > most {
				return
			}
			for i := range c.Heads() {
				readWhole(c, i)
			}
		})
		if limit := uint64(most*4*maxPacked + 200*len(raw)); used > limit {
			t.Errorf("%d bytes of file took %d of memory", len(raw), used)
		}
	})
}
