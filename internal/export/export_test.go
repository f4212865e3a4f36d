package export

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func format(t *testing.T, name string) *formats.Format {
	t.Helper()
	f, err := formats.ToWrite(name)
	testenv.NoError(t, err)
	return f
}

// twoJobs returns two jobs of four ranks each. A process of the second never
// learned its rank.
func twoJobs() profile.List {
	ps := append(jobs.Full("one"), jobs.Full("two")...)
	ps[4].Rank = -1
	return ps
}

// below lists all files below a directory.
func below(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(path))
		}
		return err
	})
	testenv.NoError(t, err)
	return out
}

func readAll(t *testing.T, src profile.Source) (ps []*profile.Profile) {
	t.Helper()
	testenv.NoError(t, src.Each(func(p *profile.Profile) error { ps = append(ps, p); return nil }))
	return ps
}

// csv returns the rows of profiles.
func csv(t *testing.T, src profile.Source) []string {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, table.WriteCSV(&out, src))
	return strings.Split(out.String(), "\n")
}

func TestDatasetReadBack(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 4, 100} {
		dir := filepath.Join(t.TempDir(), "d[1]")
		if _, err := Export(twoJobs(), ExportOptions{Format: format(t, "arrow"), Path: dir, Partition: ranks}); err != nil {
			t.Fatal(err)
		}
		src, err := formats.OpenDataset(dir)
		testenv.NoError(t, err)
		for range 2 {
			if diff := cmp.Diff(csv(t, twoJobs()), csv(t, src)); diff != "" {
				t.Errorf("%d ranks a block (-written +read):\n%s", ranks, diff)
			}
		}
	}
}

func TestDatasetFileNames(t *testing.T) {
	for _, name := range []string{"arrow", "parquet"} {
		dir := filepath.Join(t.TempDir(), "d[1]")
		files, err := Export(twoJobs(), ExportOptions{Format: format(t, name), Path: dir, Partition: 3})
		testenv.NoError(t, err)
		want := []string{"rank_block=0/part-0", "rank_block=1/part-0", "rank_block=-1/part-1", "rank_block=0/part-1", "rank_block=1/part-1"}
		for i := range want {
			want[i] = filepath.Join(dir, want[i]+"."+name)
		}
		if !slices.Equal(files, want) {
			t.Errorf("files %q, want %q", files, want)
		}
	}
}

// Blocks are in the order of ranks, not of their names.
func TestDatasetOfManyBlocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	var ps profile.List
	for rank := range 25 {
		ps = append(ps, &profile.Profile{Run: "r", Rank: rank, Rows: []profile.Row{{Call: "Init", Comm: -1, Peer: profile.PeerNone, Calls: 1}}})
	}
	if _, err := Export(ps, ExportOptions{Format: format(t, "arrow"), Path: dir, Partition: 2}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".part-0.arrow.crc", "_SUCCESS"} { // as other tools leave them
		testenv.WriteFile(t, filepath.Join(dir, "rank_block=3", name), "")
	}
	src, err := formats.OpenDataset(dir)
	testenv.NoError(t, err)
	for i, p := range readAll(t, src) {
		if p.Rank != i {
			t.Errorf("process %d is rank %d", i, p.Rank)
		}
	}
	enough := errors.New("enough")
	before := runtime.NumGoroutine()
	if err := src.Each(func(p *profile.Profile) error { return enough }); err != enough {
		t.Errorf("stopped: error %v", err)
	}
	left := func() int { return runtime.NumGoroutine() - before }
	for deadline := time.Now().Add(time.Minute); left() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // those that have said that they end may still be there
	}
	if n := left(); n > 0 {
		t.Errorf("%d goroutines are left", n)
	}
	damaged := filepath.Join(dir, "rank_block=7", "part-0.arrow")
	testenv.NoError(t, os.Truncate(damaged, 100))
	last := 0
	err = src.Each(func(p *profile.Profile) error { last = p.Rank; return nil })
	if err == nil || !strings.Contains(err.Error(), damaged) || last != 13 {
		t.Errorf("damaged: error %v after rank %d, want one that names the file after 13", err, last)
	}
}

func TestRankFilesOfSeveralJobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prof")
	if _, err := Export(twoJobs(), ExportOptions{Format: format(t, "prof"), Path: dir}); err != nil {
		t.Fatal(err)
	}
	want := []string{"solve-job1.0.prof", "solve-job1.1.prof", "solve-job1.2.prof", "solve-job1.3.prof",
		"solve-job2.1.prof", "solve-job2.2.prof", "solve-job2.3.prof"}
	if got := below(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// failing is a source that fails after the second process.
type failing struct{ profile.List }

var errBroken = errors.New("broken")

func (f failing) Each(each func(*profile.Profile) error) error {
	return errors.Join(f.List[:2].Each(each), errBroken)
}

func TestWholeOrNotAtAll(t *testing.T) {
	for name, o := range map[string]ExportOptions{
		"file":    {Format: format(t, "parquet")},
		"ranks":   {Format: format(t, "prof")},
		"dataset": {Format: format(t, "arrow"), Partition: 1},
	} {
		dir := t.TempDir()
		o.Path = filepath.Join(dir, "deep", "out")
		if _, err := Export(failing{twoJobs()}, o); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), o.Path) {
			t.Errorf("%s: error %v", name, err)
		}
		if left := below(t, dir); len(left) > 0 {
			t.Errorf("%s: %q are left", name, left)
		}
		if _, err := Export(twoJobs(), o); err != nil {
			t.Fatal(err)
		}
		was := below(t, dir)
		o.Force = true
		if _, err := Export(failing{twoJobs()}, o); !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v", name, err)
		}
		if is := below(t, dir); !slices.Equal(is, was) {
			t.Errorf("%s: failed over old files: %q, want %q", name, is, was)
		}
	}
}

// A full disk is reported once, with the final name.
func TestFullDisk(t *testing.T) { testenv.FullDisk(t, 100, func() { fullDisk(t) }) }

func fullDisk(t *testing.T) {
	for name, o := range map[string]ExportOptions{
		"csv": {Format: format(t, "csv")}, "json": {Format: format(t, "json")},
		"arrow": {Format: format(t, "arrow")}, "parquet": {Format: format(t, "parquet")},
		"ranks": {Format: format(t, "prof")}, "dataset": {Format: format(t, "parquet"), Partition: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o.Path = filepath.Join(dir, "out")
			_, err := Export(twoJobs(), o)
			if err == nil || !strings.HasPrefix(err.Error(), "write "+o.Path+": ") ||
				strings.Count(err.Error(), "file too large") != 1 || strings.Contains(err.Error(), ".part") {
				t.Errorf("got error %v", err)
			}
			if left := below(t, dir); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}

func TestForceReplacesOnlyExports(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	o := ExportOptions{Format: format(t, "arrow"), Path: dir + "/", Partition: 1}
	if _, err := Export(twoJobs(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(twoJobs(), o); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("error %v", err)
	}
	o.Force, o.Partition = true, 4
	if _, err := Export(twoJobs(), o); err != nil {
		t.Fatal(err)
	}
	want := []string{"rank_block=-1/part-1.arrow", "rank_block=0/part-0.arrow", "rank_block=0/part-1.arrow"}
	if got := below(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	testenv.WriteFile(t, filepath.Join(dir, "thesis.tex"), "")
	if _, err := Export(twoJobs(), o); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("error %v", err)
	}
	file := ExportOptions{Format: format(t, "csv"), Path: dir, Force: true}
	if _, err := Export(twoJobs(), file); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a file over a directory: error %v", err)
	}
	if got := below(t, dir); len(got) != 4 {
		t.Errorf("files %q", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	save := func(name, f string, ps profile.List) string {
		t.Helper()
		var b bytes.Buffer
		testenv.NoError(t, format(t, f).Write(&b, ps))
		path := filepath.Join(dir, name)
		testenv.WriteFile(t, path, b.Bytes())
		return path
	}
	one := save("one.arrow", "arrow", twoJobs()[:1])
	for want, paths := range map[string][]string{
		"is in both":                          {one, save("again.arrow", "arrow", twoJobs()[:2])},
		"parquet files are written for other": {one, save("x.parquet", "parquet", twoJobs()[1:2])},
		"it holds traffic between ranks only": {save("x.prof", "prof", twoJobs()[:1])},
		"no such file":                        {filepath.Join(dir, "none")},
	} {
		if _, err := source.Open(paths, source.Options{Depth: source.Whole, Tables: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", paths, err, want)
		}
	}
}
