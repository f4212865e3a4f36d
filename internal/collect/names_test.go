package collect

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// program compiles a program with a function on line 2, and returns its path and the
// function's address.
func program(t *testing.T) (path string, address uint64) {
	t.Helper()
	testenv.Need(t, "gcc")
	dir := t.TempDir()
	source := filepath.Join(dir, "app.c")
	testenv.WriteFile(t, source, "#include <stdlib.h>\nint solve(int n) { return abs(n); }\nint main(void) { return solve(0); }\n")
	path = filepath.Join(dir, "app")
	if out, err := exec.Command("gcc", "-g", "-Wl,--build-id=0x1234", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(path)
	testenv.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	testenv.NoError(t, err)
	for _, s := range symbols {
		if s.Name == "solve" {
			return path, s.Value
		}
	}
	t.Fatal("no function solve")
	return "", 0
}

// calling returns a process that called from an address of a program.
func calling(r int, path string, address uint64) *profile.Profile {
	p := jobs.Rank("a", r, 2)
	p.State, p.Threads = profile.Finalized, 1
	p.Modules = []profile.Module{{Path: path, BuildID: "1234", Start: 0, End: 1 << 30}}
	p.Rows = []profile.Row{{Call: "Init", Class: profile.Other, Comm: -1, Peer: -1, Callsite: address + 4, Calls: 1}}
	return p
}

// unnamed writes a packed container of processes that called from an address of a program,
// without names of call sites.
func unnamed(t *testing.T, path, program string, address uint64, ranks int) {
	t.Helper()
	var raws [][]byte
	for r := range ranks {
		raw, err := recordingtest.Append(nil, calling(r, program, address))
		testenv.NoError(t, err)
		raws = append(raws, raw)
	}
	err := atomicfile.Write(path, func(out io.Writer) error {
		w := recording.NewContainerWriter(out, nil)
		if err := w.Learn(ranks, func(i int) []byte { return raws[i] }); err != nil {
			return err
		}
		for r, raw := range raws {
			if err := w.Add(fmt.Sprintf("n-%d-1.rec", r+1), bytes.NewReader(raw), int64(len(raw))); err != nil {
				return err
			}
		}
		return w.Close()
	})
	testenv.NoError(t, err)
}

// Names that are known are added without reading the recordings, which stay as they are.
func TestKnownNamesAreAdded(t *testing.T) {
	const ranks = 50
	d := runs.New(t)
	path := filepath.Join(d.Recordings(), "a.node")
	unnamed(t, path, "/gone", 0x100, ranks)
	before := testenv.ReadFile(t, path)
	place, decodes := calling(0, "/gone", 0x100).Place(0x104), recording.Decodes()
	AddNames(d, profile.Symbols{place: {}})
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a container without names was written again (%v)", err)
	}
	AddNames(d, profile.Symbols{place: {Function: "solve", Line: 2}})
	if n := recording.Decodes() - decodes; n != 0 {
		t.Errorf("%d recordings were decoded", n)
	}
	after := testenv.ReadFile(t, path)
	for name, raw := range map[string][]byte{"with the index": after, "without the index": after[:len(after)-1]} {
		path := filepath.Join(t.TempDir(), "b.node")
		testenv.WriteFile(t, path, raw)
		for r := range ranks {
			p, err := recording.ReadFile(filepath.Join(path, fmt.Sprintf("n-%d-1.rec", r+1)))
			if err != nil || p.Rank != r || p.Frames(p.Rows[0].Callsite)[0].Function != "solve" {
				t.Fatalf("%s: rank %d: %+v, %v", name, r, p, err)
			}
		}
	}
	if c, err := recording.OpenContainer(path); err != nil || c.Whole() != nil || len(c.Heads()) != ranks || len(after) > len(before)+200 {
		t.Errorf("%v, %d bytes, %d before", err, len(after), len(before))
	}
}

// Names of call sites are added to a container that was packed without, and stay when the
// program is gone. A container of whose program nothing is known is not written again.
func TestNamesAreAdded(t *testing.T) {
	path, address := program(t)
	dir := t.TempDir()
	for name, in := range map[string]string{"known.node": path, "unknown.node": filepath.Join(dir, "no program")} {
		unnamed(t, filepath.Join(dir, name), in, address, 2)
	}
	before := testenv.ReadFile(t, filepath.Join(dir, "unknown.node"))
	PackAll(dir)
	testenv.NoError(t, os.Remove(path))
	PackAll(dir)
	for r := range 2 {
		p, err := recording.ReadFile(filepath.Join(dir, "known.node", fmt.Sprintf("n-%d-1.rec", r+1)))
		if err != nil || len(p.Problems) > 0 {
			t.Fatalf("%+v, %v", p, err)
		}
		if f := p.Frames(p.Rows[0].Callsite)[0]; f.Function != "solve" || f.Line != 2 || filepath.Base(f.Source) != "app.c" {
			t.Errorf("rank %d: %+v", r, f)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "unknown.node")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a container without names was written again (%v)", err)
	}
}
