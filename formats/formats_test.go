package formats

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func rank(r int) *profile.Profile {
	return &profile.Profile{Run: "run", Rank: r, Size: 2, Host: "n", Program: "app", State: profile.Finalized, Start: 1,
		Comms: []profile.Comm{{ID: strings.Repeat("0", 32), Name: "MPI_COMM_WORLD", Parent: -1, Rank: r,
			Members: profile.Group{Stride: 1, N: 2}}},
		Slices: []profile.Slice{{Name: "run"}},
		Rows: []profile.Row{{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer,
			Peer: int32(1 - r), SizeClass: 3, Calls: 2, Messages: 2, Bytes: 9}}}
}

// TestWrittenFilesAreDetectedAndRead checks that each format that we write is
// detected by its content, whatever the name of the file, and that reading a
// file back gives the same traffic.
func TestWrittenFilesAreDetectedAndRead(t *testing.T) {
	ps := []*profile.Profile{rank(0), rank(1)}
	want := append(ps[0].Traffic().Flows, ps[1].Traffic().Flows...)
	for _, f := range Table {
		if f.Write == nil || f.Read == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			var b bytes.Buffer
			testenv.NoError(t, f.Write(&b, profile.List(ps)))
			path := filepath.Join(t.TempDir(), "file.rec")
			testenv.WriteFile(t, path, b.Bytes())
			got, err := Detect(path)
			if err != nil || got.Name != f.Name {
				t.Fatalf("detected %v, %v", got, err)
			}
			content, err := got.Read(path)
			testenv.NoError(t, err)
			var flows []profile.Flow
			if content.Traffic != nil {
				flows = content.Traffic.Flows
			}
			if content.Profiles != nil {
				err := content.Profiles.Each(func(p *profile.Profile) error {
					flows = append(flows, p.Traffic().Flows...)
					return nil
				})
				testenv.NoError(t, err)
			}
			testenv.Equal(t, want, flows)
		})
	}
}

func TestDetect(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"a.rec":   {"MPITRACE and more", "recording"},
		"b":       {"E\t0\t1\t", "prof"},
		"c.prof":  {"", "prof"},
		"d.arrow": {"cut", "arrow"},
		"e.rec":   {"ARROW1 and more", "arrow"},
	} {
		path := filepath.Join(dir, name)
		testenv.WriteFile(t, path, c.text)
		if f, err := Detect(path); err != nil || f.Name != c.want {
			t.Errorf("%s: got %v, %v", name, f, err)
		}
	}
	table := filepath.Join(dir, "f.csv")
	testenv.WriteFile(t, table, "run,rank\n")
	parquet := filepath.Join(dir, "g.arrow")
	testenv.WriteFile(t, parquet, "PAR1 and more")
	for path, want := range map[string]string{filepath.Join(dir, "none"): "no such file", dir: "directory",
		table:   "csv files are written for other tools and not read: give recordings (.rec, .node), prof or arrow files",
		parquet: "parquet files are written for other tools and not read: give recordings (.rec, .node), prof or arrow files",
	} {
		if _, err := Detect(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", path, err, want)
		}
	}
}

func TestParts(t *testing.T) {
	dir := t.TempDir()
	if IsDataset(dir) {
		t.Error("an empty directory is taken for a dataset")
	}
	if _, err := OpenDataset(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"rank_block=0/part-1.arrow", "rank_block=10/part-0.arrow", "rank_block=9/part-0.arrow", "rank_block=-1/part-1.arrow"} {
		path := filepath.Join(dir, name)
		testenv.Mkdir(t, filepath.Dir(path))
		testenv.WriteFile(t, path, "ARROW1")
	}
	parts, err := partsOf(dir)
	if err != nil || !IsDataset(dir) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		got = append(got, PartName(p.block, p.job, 0, &Format{Extension: ".arrow"}))
	}
	want := []string{"rank_block=9/part-0.arrow", "rank_block=10/part-0.arrow", "rank_block=-1/part-1.arrow", "rank_block=0/part-1.arrow"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	merged := t.TempDir()
	for _, name := range []string{"part-10.arrow", "part-9.arrow"} {
		testenv.WriteFile(t, filepath.Join(merged, name), "ARROW1")
	}
	ofMerge, err := partsOf(merged)
	if err != nil || !IsDataset(merged) || len(ofMerge) != 2 || filepath.Base(ofMerge[0].path) != "part-9.arrow" {
		t.Errorf("parts of a merge: %v, %v", ofMerge, err)
	}
	if _, err := OpenDataset(dir); err == nil || !strings.Contains(err.Error(), "rank_block=9/part-0.arrow: truncated after 6 bytes") {
		t.Errorf("error %v, want one with the file and place", err)
	}
	testenv.WriteFile(t, filepath.Join(dir, "rank_block=9", "notes.txt"), "")
	if _, err := partsOf(dir); err == nil || !strings.Contains(err.Error(), "notes.txt is not a part") {
		t.Errorf("error %v", err)
	}
}
