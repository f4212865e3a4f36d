package oldarrow

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func read(path string) (ps []*profile.Profile, err error) {
	f, err := Open(path, arrowfile.Facts)
	if err != nil {
		return nil, err
	}
	err = f.Each(func(p *profile.Profile) error { ps = append(ps, p); return nil })
	return ps, err
}

// TestVersion3 reads a file of jobs.Physical that commit ac75958 wrote. No problem may be reported.
func TestVersion3(t *testing.T) {
	got, err := read(filepath.Join("testdata", "version-3.arrow"))
	testenv.NoError(t, err)
	want := jobs.Physical("a run")
	for _, p := range want {
		p.Problems, p.ThreadUse = nil, nil // this version has no columns for them
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("profiles (-written +read):\n%s", diff)
	}
}

// TestVersion2 reads a file of format version 2, which has no column
// time_error_ns and no nulls in time_ns.
func TestVersion2(t *testing.T) {
	ps, err := read(filepath.Join("testdata", "version-2.arrow"))
	if err != nil || len(ps) != 1 || len(ps[0].Rows) != 15 {
		t.Fatalf("%d profiles, %v", len(ps), err)
	}
	if p := ps[0]; p.Timing != profile.TimingExact || p.Unfollowed || p.Rows[1].TimeNs != 3000 || p.Rows[1].TimeErrorNs != 0 {
		t.Errorf("timing %v, unfollowed %v, %+v", p.Timing, p.Unfollowed, p.Rows[1])
	}
}

// TestDamage checks that each flipped byte is found, and that the error names the file.
func TestDamage(t *testing.T) {
	data := testenv.ReadFile(t, filepath.Join("testdata", "version-3.arrow"))
	path := filepath.Join(t.TempDir(), "profile.arrow")
	for at := 8; at < len(data); at += 101 {
		damaged := bytes.Clone(data)
		damaged[at] ^= 0x40
		testenv.WriteFile(t, path, damaged)
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("byte %d: error %v", at, err)
		}
	}
}

func TestNoSeal(t *testing.T) {
	var out bytes.Buffer
	testenv.NoError(t, table.WriteProfile(&out, profile.List(jobs.Full("run"))))
	path := filepath.Join(t.TempDir(), "profile.arrow")
	testenv.WriteFile(t, path, out.Bytes())
	if _, err := Open(path, arrowfile.Facts); !errors.Is(err, ErrNoSeal) {
		t.Errorf("error %v", err)
	}
}
