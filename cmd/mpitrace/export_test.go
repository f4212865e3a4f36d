package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// exported makes a run directory with a merged job of four ranks, in an empty
// working directory.
func exported(t *testing.T, name string) {
	t.Helper()
	ps := jobs.Full("run")
	for _, p := range ps {
		p.Problems = nil
	}
	mergedRun(t, name, ps)
}

// mergedRun makes a run directory without recordings, in an empty working
// directory.
func mergedRun(t *testing.T, name string, ps profile.List) {
	t.Helper()
	t.Chdir(t.TempDir())
	testenv.Mkdir(t, name)
	writeMerged(t, rundir.Dir(name), ps)
}

// oldFile is a profile.arrow that a version before wrote, with a hidden part.
const oldFile = "../../formats/oldarrow/testdata/version-3.arrow"

// The examples in the help must work, one after the other.
func TestExportExamples(t *testing.T) {
	old := testenv.ReadFile(t, oldFile)
	exported(t, "mpitrace-app-20260102-150405")
	traced(t, "mpitrace-app-20260102-150405")
	testenv.NoError(t, errors.Join(os.Mkdir("old", 0o777), os.WriteFile("old/profile.arrow", old, 0o666)))
	var wrote []string
	for line := range strings.Lines(newExport().Example) {
		got := call(strings.Fields(line)[1:]...)
		if got.code != 0 || got.stderr != "" {
			t.Errorf("%s: %+v", line, got)
		}
		if strings.Contains(line, "-o -") {
			if rows := strings.Count(got.stdout, "\n"); rows != 1+4*15 {
				t.Errorf("%s: %d lines, want 61", line, rows)
			}
			continue
		}
		wrote = append(wrote, strings.Fields(got.stdout)...)
	}
	want := []string{"mpitrace-app-20260102-150405/profile.parquet", "app.parquet/rank_block=0/part-0.parquet",
		"app/profile/rank_block=0/part-0.parquet", "app/ranks/rank_block=0/part-0.parquet", "app/vectors/rank_block=0/part-0.parquet", "app/communicators/part-0.parquet",
		"app/events/rank_block=0/part-0.parquet", "app/waits/rank_block=0/part-0.parquet",
		"prof/solve.0.prof", "prof/solve.1.prof", "prof/solve.2.prof", "prof/solve.3.prof",
		"new/profile.arrow", "new/ranks.arrow", "new/vectors.arrow", "new/flows.arrow", "new/comms.arrow",
		"mpitrace-app-20260102-150405/trace.json.gz", "app.json.gz", "mpitrace-app-20260102-150405/trace.parquet"}
	if !slices.Equal(wrote, want) {
		t.Errorf("wrote %q, want %q", wrote, want)
	}
	for _, file := range want {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestExportUsage(t *testing.T) {
	exported(t, "run")
	before, _ := filepath.Glob("run/*")
	testenv.Mkdir(t, "empty")
	const formats = "prof, arrow, parquet, csv, json, perfetto"
	for args, want := range map[string]string{
		"run":                                 "no --format given: the formats are " + formats,
		"run --format hdf5":                   `unknown format "hdf5": the formats are ` + formats,
		"run --format recording":              formats,
		"run --format parquet --partition 0":  "--partition 0",
		"run --format parquet --partition -2": "--partition -2",
		"run --format prof --partition 4":     "has a file for each rank already",
		"run --format prof -o -":              "stdout takes one file",
		"--format csv":                        "requires at least 1 arg",

		"run --format parquet --tables all":                         "--tables needs",
		"run --format csv --partition 2 --tables all":               "--tables needs",
		"run --format parquet --partition 2 --tables ranks,some":    `no table "some"`,
		"run --format parquet --partition 2 --tables ranks -o -":    "stdout takes one file",
		"run --format parquet --partition 2 --tables profile,waits": "run has no trace",
		"run --format parquet --events --tables events":             "--tables does not apply",

		"none --format csv":    "no such file",
		"empty --format csv":   "empty holds no recording",
		"run run --format csv": "give it alone",
	} {
		got := call(append([]string{"export"}, strings.Fields(args)...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%s: %+v, want status 2 and %q", args, got, want)
		}
	}
	if after, _ := filepath.Glob("run/*"); !slices.Equal(before, after) {
		t.Errorf("files of the run are %q, were %q", after, before)
	}
}

// TestAllTablesOfUntracedRun requires that `all` leaves out tables of a trace,
// and says so.
func TestAllTablesOfUntracedRun(t *testing.T) {
	exported(t, "run")
	got := call("export", "run", "--format", "parquet", "--partition", "4", "--tables", "all")
	want := "run/tables/profile/rank_block=0/part-0.parquet\nrun/tables/ranks/rank_block=0/part-0.parquet\n" +
		"run/tables/vectors/rank_block=0/part-0.parquet\nrun/tables/communicators/part-0.parquet\n"
	if got.code != 0 || got.stdout != want || !strings.Contains(got.stderr, "no tables events and waits") {
		t.Errorf("%+v, want %q", got, want)
	}
}

func TestExportOverwritesWithForceOnly(t *testing.T) {
	exported(t, "run")
	if got := call("export", "run", "--format", "csv"); got.code != 0 || got.stdout != "run/profile.csv\n" {
		t.Fatalf("%+v", got)
	}
	testenv.WriteFile(t, "run/profile.csv", "mine")
	if got := call("export", "run", "--format", "csv"); got.code != exitUsage || !strings.Contains(got.stderr, "run/profile.csv exists") {
		t.Errorf("%+v", got)
	}
	if text, _ := os.ReadFile("run/profile.csv"); string(text) != "mine" {
		t.Errorf("existing file was overwritten with %q", text)
	}
	if got := call("export", "run", "--format", "csv", "--force"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if text, _ := os.ReadFile("run/profile.csv"); !strings.HasPrefix(string(text), "run,rank,") {
		t.Errorf("--force left the file as %q", text)
	}
}

// refuses exports damaged input to a file, to several files and to stdout, and
// requires that nothing is written. With --skip-damaged, the given number of
// rows must be written, with a warning about the damage.
func refuses(t *testing.T, input string, rows int, want ...string) {
	t.Helper()
	before, _ := filepath.Glob("*/*")
	for _, how := range []string{"--format csv -o out", "--format prof -o out", "--format parquet --partition 1 -o out", "--format csv -o -"} {
		got := call(append([]string{"export"}, strings.Fields(input+" "+how)...)...)
		const end = "\nthe input is damaged, nothing is written: --skip-damaged exports the rest\n"
		if got.code != exitError || got.stdout != "" || !strings.HasPrefix(got.stderr, "mpitrace: "+want[0]) || !strings.HasSuffix(got.stderr, end) {
			t.Errorf("%s %s: %+v", input, how, got)
		}
		for _, text := range want {
			if strings.Count(got.stderr, text) != 1 {
				t.Errorf("%s %s: got stderr %q, want %q once", input, how, got.stderr, text)
			}
		}
		if after, _ := filepath.Glob("*/*"); !slices.Equal(before, after) || exists("out") {
			t.Fatalf("%s %s: files are %q, were %q", input, how, after, before)
		}
	}
	got := call(append([]string{"export"}, strings.Fields(input+" --format csv -o - --skip-damaged")...)...)
	if got.code != 0 || strings.Count(got.stdout, "\n") != 1+rows {
		t.Errorf("%s: status %d, %q, want %d rows, not\n%s", input, got.code, got.stderr, rows, got.stdout)
	}
	for _, text := range want {
		if strings.Count(got.stderr, "mpitrace: skipped: "+text) != 1 {
			t.Errorf("%s: got stderr %q, want %q once", input, got.stderr, text)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Damage that was found during a merge must be reported by all later exports.
func TestExportOfDamagedTables(t *testing.T) {
	const place = " is damaged: recording r.rec: byte 4096: no such kind of record"
	ps := jobs.Full("run")
	ps[0].Problems, ps[2].Problems = nil, nil
	mergedRun(t, "run", ps)
	one, three := "run/recordings/1.rec"+place, "run/recordings/3.rec"+place
	refuses(t, "run", 4*15, one, three)
	refuses(t, "run/profile.arrow", 4*15, one, three)
	if got := call(strings.Fields("export run --format arrow --partition 1 -o d --skip-damaged")...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	refuses(t, "d", 4*15, one, three)
	refuses(t, "d/rank_block=3/part-0.arrow", 15, three)
}

// damagedRun writes a run of three ranks. The rows of one recording are
// truncated, and another cannot be read at all.
func damagedRun(t *testing.T, name string) (cut, unreadable string) {
	t.Helper()
	t.Chdir(t.TempDir())
	dir := filepath.Join(name, "recordings")
	testenv.Mkdir(t, dir)
	for r := range 3 {
		p := &profile.Profile{Run: "0", Rank: r, Size: 3, Threads: 1, Program: "/bin/app", State: profile.Finalized, Start: 1, End: 9,
			Comms: []profile.Comm{{ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: 3}}},
			Rows:  []profile.Row{{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Calls: 1, Messages: 1, Bytes: 7}}}
		recordingtest.Record(t, filepath.Join(dir, strconv.Itoa(r)+".rec"), p)
	}
	cut, unreadable = filepath.Join(dir, "1.rec"), filepath.Join(dir, "2.rec")
	for path, size := range map[string]int64{cut: 20000, unreadable: 10} {
		testenv.NoError(t, os.Truncate(path, size))
	}
	return cut + " is damaged: byte 20000: truncated", "read recording " + unreadable + ": truncated at byte 10"
}

func TestExportOfDamagedRecordings(t *testing.T) {
	cut, unreadable := damagedRun(t, "run")
	refuses(t, "run", 1, cut, unreadable)
	refuses(t, "run/recordings/0.rec run/recordings/1.rec run/recordings/2.rec", 1, cut, unreadable)
	if got := call("report", "run"); got.code != 0 || !strings.Contains(got.stderr, "mpitrace: "+cut) { // report merges the run
		t.Fatalf("%+v", got)
	}
	if !exists("run/profile.arrow") {
		t.Fatal("the run is not merged")
	}
	refuses(t, "run", 1, cut, unreadable)
	testenv.NoError(t, os.RemoveAll("run/recordings"))
	refuses(t, "run", 1, unreadable, cut) // the merged file has the damage
	refuses(t, "run/profile.arrow", 1, unreadable, cut)
	if got := call(strings.Fields("export run --format arrow -o rest.arrow --skip-damaged")...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	refuses(t, "rest.arrow", 1, unreadable, cut) // and so has what is made of it
}

func TestExportBesideItsInput(t *testing.T) {
	exported(t, "run")
	for args, want := range map[string]string{
		"run/profile.arrow --format parquet":                  "run/profile.parquet",
		"run/profile.arrow --format arrow --partition 2 -o d": "d/rank_block=0/part-0.arrow\nd/rank_block=1/part-0.arrow",
	} {
		if got := call(append([]string{"export"}, strings.Fields(args)...)...); got.code != 0 || got.stdout != want+"\n" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	for _, c := range [][2]string{ // in this order, as the last adds a foreign file to the dataset
		{"d --format json", "d.jsonl"},
		{"run/profile.arrow --format json", "run/profile.jsonl"},
		{"d/rank_block=1/part-0.arrow d/rank_block=0/part-0.arrow --format csv", "d/rank_block=1/profile.csv"},
	} {
		if got := call(append([]string{"export"}, strings.Fields(c[0])...)...); got.code != 0 || got.stdout != c[1]+"\n" {
			t.Errorf("%s: %+v", c[0], got)
		}
	}
	text := testenv.ReadFile(t, "d/rank_block=1/profile.csv")
	if lines := strings.Split(string(text), "\n"); len(lines) != 62 || !strings.HasPrefix(lines[1], "run,0,") || !strings.HasPrefix(lines[60], "run,3,") {
		t.Errorf("%d lines, out of order:\n%s", len(lines), text)
	}
}

// The merged file of a run, its directory without that file, its recordings and
// its exports must all give the same rows.
func TestExportOfRun(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		if got := sh(t, dir, "$mpitrace run -o run --mpi "+m.name+" -- "+m.launcher+" -n 3 "+m.ring(t)+" 100"); got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		var want string
		for i, command := range []string{
			"$mpitrace export run --format csv -o -",
			"$mpitrace export run --format arrow --partition 2 -o d >&2; $mpitrace export d --format csv -o -",
			"rm run/profile.arrow; $mpitrace export run --format csv -o -",
			"$mpitrace export run/recordings/* --format csv -o -",
		} {
			got := sh(t, dir, command)
			if i == 0 {
				want = got.stdout
			}
			if got.code != 0 || got.stdout != want || strings.Count(want, ",Isend,p2p,send,MPI_COMM_WORLD,") != 3 || !strings.Contains(want, ",main+0x") {
				t.Errorf("%s: status %d\n%s\n%s\nwant\n%s", command, got.code, got.stderr, got.stdout, want)
			}
		}
	})
}
