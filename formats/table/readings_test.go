package table

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

// bare returns the job of tabletest.Readings as in profile.arrow: without
// readings.
func bare(run string) []*profile.Profile {
	ps := tabletest.Readings(run)
	for _, p := range ps {
		p.Pvars, p.PvarHandles, p.Readings = nil, nil, nil
	}
	return ps
}

func savePvars(t *testing.T, ps []*profile.Profile) string {
	t.Helper()
	var data bytes.Buffer
	if err := WritePvars(&data, profile.List(ps)); err != nil {
		t.Fatal(err)
	}
	return save(t, data.Bytes())
}

func collect(src profile.Source) (profile.List, error) {
	var out profile.List
	err := src.Each(func(p *profile.Profile) error {
		out = append(out, p)
		return nil
	})
	return out, err
}

// TestReadingsReadBack checks that the readings read from a file give the same
// file and the same summary.
func TestReadingsReadBack(t *testing.T) {
	written := append(tabletest.Readings("one"), tabletest.Readings("two")...)
	written[2].Readings = nil // a process without readings
	written[5].Slices = nil   // slices without names
	for i := range written[6].Readings {
		written[6].Readings[i].Values = slices.Repeat(written[6].Readings[i].Values, 1+i%2)
	}
	path := savePvars(t, written)
	others := append(bare("one"), bare("two")...)
	others[5].Slices = nil
	src, err := WithReadings(profile.List(others), path)
	if err != nil {
		t.Fatal(err)
	}
	back, err := collect(src)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := os.ReadFile(path); !bytes.Equal(mustRead(t, savePvars(t, back)), want) {
		t.Error("written again, the file differs")
	}
	was, is := aggregate.New(written[:4]).Summary().Pvars, aggregate.New(back[:4]).Summary().Pvars
	if len(was) == 0 {
		t.Fatal("no variables")
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("summary (-written +read):\n%s", diff)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadingsOfOtherProcesses(t *testing.T) {
	path := savePvars(t, tabletest.Readings("one"))
	others := bare("one")
	slices.Reverse(others)
	for name, ps := range map[string][]*profile.Profile{"another job": bare("two"), "fewer": bare("one")[:3], "another order": others} {
		src, err := WithReadings(profile.List(ps), path)
		if err == nil {
			_, err = collect(src)
		}
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}

// TestDamagedReadings checks that damage to a file is reported before its
// contents are used.
func TestDamagedReadings(t *testing.T) {
	good := mustRead(t, savePvars(t, tabletest.Readings("one")))
	dir := t.TempDir()
	try := func(what string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, "pvars.arrow")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		src, err := WithReadings(profile.List(bare("one")), path)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("%s: error %v, want one that names the file", what, err)
		}
		if ps, err := collect(src); err != nil || len(ps) != 4 || ps[0].Readings != nil {
			t.Fatalf("%s: %d processes, %v", what, len(ps), err)
		}
	}
	for i := 0; i < len(good); i += 61 {
		try("cut", good[:i])
		flipped := bytes.Clone(good)
		flipped[i] ^= 1 << (i % 8)
		try("flipped", flipped)
	}
	try("profile.arrow", encode(t, tabletest.Job("one")))
}
