package export

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// exportAll exports all tables of twoJobs and of tracedJob, in blocks of three
// ranks.
func exportAll(t *testing.T, o ExportOptions) (files []string, err error) {
	t.Helper()
	srcs, _ := tracedJob()
	waits := []profile.Wait{{Rank: 1, Event: 2, Pattern: "late-sender"}, {Rank: 4, Event: 6, Pattern: "late-sender"}, {Rank: 5, Event: 2, Pattern: "late-receiver"}}
	o.Format, o.Partition = format(t, parquet), 3
	return ExportTables(Tables, twoJobs(), []TracedJob{{Run: "run", Sources: srcs, Waits: waits}, {Run: "calm", Sources: srcs[:1]}}, o)
}

func TestExportTables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d[1]")
	files, err := exportAll(t, ExportOptions{Path: dir + "/"})
	testenv.NoError(t, err)
	want := []string{"communicators/part-0.parquet",
		"events/rank_block=0/part-0.parquet", "events/rank_block=0/part-1.parquet", "events/rank_block=1/part-0.parquet",
		"profile/rank_block=-1/part-1.parquet", "profile/rank_block=0/part-0.parquet", "profile/rank_block=0/part-1.parquet",
		"profile/rank_block=1/part-0.parquet", "profile/rank_block=1/part-1.parquet",
		"ranks/rank_block=-1/part-1.parquet", "ranks/rank_block=0/part-0.parquet", "ranks/rank_block=0/part-1.parquet",
		"ranks/rank_block=1/part-0.parquet", "ranks/rank_block=1/part-1.parquet",
		"vectors/rank_block=-1/part-1.parquet", "vectors/rank_block=0/part-0.parquet", "vectors/rank_block=0/part-1.parquet",
		"vectors/rank_block=1/part-0.parquet", "vectors/rank_block=1/part-1.parquet",
		"waits/rank_block=0/part-0.parquet", "waits/rank_block=0/part-1.parquet", "waits/rank_block=1/part-0.parquet"}
	if got := below(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	slices.Sort(files)
	for i, file := range files {
		if file != filepath.Join(dir, want[i]) {
			t.Errorf("returned %s, want %s", file, want[i])
		}
	}
	if ranks := columnOf[int32](t, dir, "waits/rank_block=1/part-0.parquet", "rank"); !slices.Equal(ranks, []int32{4, 5}) {
		t.Errorf("waits of ranks %v", ranks)
	}
	if ranks := columnOf[int32](t, dir, "waits/rank_block=0/part-1.parquet", "rank"); len(ranks) > 0 {
		t.Errorf("waits of ranks %v in a job without waits", ranks)
	}
	again := ExportOptions{Path: dir}
	if _, err := exportAll(t, again); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("error %v", err)
	}
	again.Force = true
	if _, err := exportAll(t, again); err != nil {
		t.Error(err)
	}
}

func columnOf[V any](t *testing.T, dir, name, column string) []V {
	t.Helper()
	data := testenv.ReadFile(t, filepath.Join(dir, name))
	return tabletest.ParquetColumn[V](t, data, column)
}

// TestPartsOfLimitedSize requires that a table continues in the next file when
// one has reached the limit, and that it is the same table.
func TestPartsOfLimitedSize(t *testing.T) {
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	if _, err := exportAll(t, ExportOptions{Path: whole}); err != nil {
		t.Fatal(err)
	}
	files, err := exportAll(t, ExportOptions{Path: parts, PartLimit: 1})
	testenv.NoError(t, err)
	// The three sources of a block give one batch each, so a file each.
	names := []string{"events/rank_block=0/part-0.parquet", "events/rank_block=0/part-0-1.parquet", "events/rank_block=0/part-0-2.parquet"}
	var events, ranks []int32
	for _, name := range names {
		if !slices.Contains(files, filepath.Join(parts, name)) {
			t.Fatalf("no %s in %q", name, files)
		}
		ranks = append(ranks, columnOf[int32](t, parts, name, "rank")...)
		for _, e := range columnOf[int64](t, parts, name, "event") {
			events = append(events, int32(e))
		}
	}
	wholeRanks := columnOf[int32](t, whole, names[0], "rank")
	if diff := cmp.Diff(wholeRanks, ranks); diff != "" || len(ranks) != 3*4*tracedSteps {
		t.Errorf("%d rows, ranks (-whole +parts):\n%s", len(ranks), diff)
	}
	for i, e := range events {
		if int(e) != i%(4*tracedSteps) {
			t.Fatalf("row %d is event %d", i, e)
		}
	}
	if slices.ContainsFunc(files, func(file string) bool { return strings.Contains(file, "part-0-3") }) {
		t.Errorf("empty files among %q", files)
	}
}

// TestRangesOfGroups requires that a filter by rank can skip row groups: each
// has the smallest and the largest rank, and ranks are in order.
func TestRangesOfGroups(t *testing.T) {
	var srcs []profile.EventSource
	for rank := range 4 {
		p := jobs.NewProcess("run", rank, 4)
		for i := range int64(100_000) {
			p.Add(jobs.Call("Barrier", i, i+1))
		}
		srcs = append(srcs, p)
	}
	dir := filepath.Join(t.TempDir(), "d")
	o := ExportOptions{Path: dir, Format: format(t, parquet), Partition: 4}
	if _, err := ExportTables([]string{TableEvents}, nil, []TracedJob{{Run: "run", Sources: srcs}}, o); err != nil {
		t.Fatal(err)
	}
	data := testenv.ReadFile(t, filepath.Join(dir, "events/rank_block=0/part-0.parquet"))
	var got [][2]byte
	for _, r := range tabletest.ParquetRanges(t, data, "rank") {
		got = append(got, [2]byte{r[0][0], r[1][0]})
	}
	// Groups of 131,072 rows end within ranks 1, 2 and 3.
	if want := [][2]byte{{0, 1}, {1, 2}, {2, 3}, {3, 3}}; !slices.Equal(got, want) {
		t.Errorf("ranks of groups %v, want %v", got, want)
	}
}

// TestCallEvents requires the call of each message: the one before it, its own,
// or the Sendrecv to which it links.
func TestCallEvents(t *testing.T) {
	p := jobs.NewProcess("run", 0, 2)
	early := jobs.Recv("Irecv", 0, 0, 1, 8, 1).Moved() // before the first call
	swapped := jobs.Recv("Sendrecv", 30, 30, 1, 8, 3).Moved()
	swapped.Link = 1
	p.Add(early, jobs.Recv("Recv", 1, 2, 1, 8, 2), jobs.Call("Waitall", 3, 20),
		jobs.Recv("Irecv", 20, 20, 1, 8, 4).Moved(), swapped, jobs.Send("Sendrecv", 25, 30, 1, 8, 1),
		jobs.Recv("Irecv", 30, 30, 1, 8, 5).Moved())
	p.Batch = 2
	dir := filepath.Join(t.TempDir(), "d")
	o := ExportOptions{Path: dir, Format: format(t, parquet), Partition: 1}
	if _, err := ExportTables([]string{TableEvents}, nil, []TracedJob{{Run: "run", Sources: []profile.EventSource{p}}}, o); err != nil {
		t.Fatal(err)
	}
	got := columnOf[int64](t, dir, "events/rank_block=0/part-0.parquet", "call_event")
	if want := []int64{0, 1, 2, 2, 5, 5, 5}; !slices.Equal(got, want) { // the first is null
		t.Errorf("calls %v, want %v", got, want)
	}
}

func TestTablesWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	o := ExportOptions{Path: filepath.Join(dir, "out"), Format: format(t, parquet), Partition: 1}
	broken := jobs.NewProcess("run", 0, 1)
	broken.Err = errBroken
	for name, export := range map[string]func() ([]string, error){
		"profiles": func() ([]string, error) { return ExportTables(Tables, failing{twoJobs()}, nil, o) },
		"events": func() ([]string, error) {
			return ExportTables(Tables, twoJobs(), []TracedJob{{Run: "run", Sources: []profile.EventSource{broken}}}, o)
		},
	} {
		if _, err := export(); !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v", name, err)
		}
		if left := below(t, dir); len(left) > 0 {
			t.Errorf("%s: %q are left", name, left)
		}
	}
}

func TestFullDiskOfTables(t *testing.T) {
	testenv.FullDisk(t, 100, func() {
		dir := t.TempDir()
		_, err := exportAll(t, ExportOptions{Path: filepath.Join(dir, "out")})
		if err == nil || strings.Count(err.Error(), "file too large") != 1 || strings.Contains(err.Error(), ".part") {
			t.Errorf("error %v", err)
		}
		if left := below(t, dir); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	})
}
