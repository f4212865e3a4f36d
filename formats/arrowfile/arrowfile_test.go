package arrowfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

// writeRun writes the tables of some processes into a directory, and returns the path of
// profile.arrow.
func writeRun(t testing.TB, ps []*profile.Profile) string {
	t.Helper()
	dir := t.TempDir()
	var files []*os.File
	w := table.PartWriter{Create: func(name string, _ int) (io.WriteCloser, error) {
		f, err := os.Create(filepath.Join(dir, name+".arrow"))
		files = append(files, f)
		return f, err
	}}
	var comms bytes.Buffer
	for _, p := range ps {
		if err := w.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Comms.Write(&comms); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		f.Close()
	}
	if err := os.WriteFile(filepath.Join(dir, "comms.arrow"), comms.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "profile.arrow")
}

func read(t testing.TB, path string) (ps []*profile.Profile) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Each(func(p *profile.Profile) error { ps = append(ps, p); return nil }); err != nil {
		t.Fatal(err)
	}
	return ps
}

// cells returns all entries of the matrices of some profiles, by run, class and pair, and
// what is in none.
func cells(ps []*profile.Profile) map[string]matrix.Volume {
	out := map[string]matrix.Volume{}
	byRun := map[string][]*profile.Profile{}
	for _, p := range ps {
		byRun[p.Run] = append(byRun[p.Run], p)
	}
	for run, ps := range byRun {
		b := matrix.NewBuilder(nil)
		for _, p := range ps {
			b.Add(p)
		}
		ms := b.Matrices()
		for c := range ms {
			for pair, v := range ms[c].Entries() {
				out[fmt.Sprintf("%s/%d/%d-%d", run, c, pair.From, pair.To)] = v
			}
		}
		rows, placed := b.Placed(ms)
		out[run+"/rows"], out[run+"/placed"] = rows, placed
	}
	return out
}

func TestCells(t *testing.T) {
	jobs := map[string][]*profile.Profile{
		"one job":         tabletest.Job("a"),
		"several jobs":    append(tabletest.Job("b"), tabletest.Job("a")...),
		"killed":          tabletest.Killed("a"),
		"other settings":  tabletest.Settings("a"),
		"library's own":   tabletest.Physical("a"),
		"rank not known":  append([]*profile.Profile{{Run: "a", Rank: -1, Size: -1, State: profile.Running}, {Run: "a", Rank: -1, Size: -1, State: profile.Running, Host: "b"}}, tabletest.Job("a")...),
		"only some ranks": tabletest.Job("a")[2:],
	}
	for name, ps := range jobs {
		t.Run(name, func(t *testing.T) {
			got := read(t, writeRun(t, ps))
			if diff := cmp.Diff(cells(ps), cells(got)); diff != "" {
				t.Errorf("cells (-written +read):\n%s", diff)
			}
			if len(got) != len(ps) {
				t.Errorf("%d processes, %d were written", len(got), len(ps))
			}
			if untold := got[len(got)-1].Untold; untold != nil {
				t.Errorf("untold: %q", untold)
			}
		})
	}
}
