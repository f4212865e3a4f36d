package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// traced writes the traces of four ranks into a run directory. Each rank sends
// 100 bytes to the next, 1 ms after its start.
func traced(t *testing.T, name string) {
	t.Helper()
	const start = 1_000_000_000
	for rank := range 4 {
		p := jobs.NewProcess("run", rank, 4)
		p.Add(jobs.Call("Init", start, start+1000),
			jobs.Send("Send", start+1_000_000, start+1_000_400, int32(rank+1)%4, 100, 1),
			jobs.Recv("Recv", start+1_000_400, start+1_001_000, int32(rank+3)%4, 100, 1))
		f, err := os.Create(rundir.Dir(name).TraceFile(rank))
		testenv.NoError(t, err)
		testenv.NoError(t, tracefile.Write(f, p))
		testenv.NoError(t, f.Close())
	}
}

func TestExportOfTrace(t *testing.T) {
	exported(t, "run")
	if got := call(strings.Fields("export run --format perfetto")...); got.code != exitUsage || !strings.Contains(got.stderr, "mpitrace run --trace") {
		t.Errorf("without a trace: %+v", got)
	}
	traced(t, "run")
	rows := map[string]int{"": 1 + 4*3, " --ranks 1-2,7": 1 + 2*3}
	for ranks, want := range rows {
		got := call(strings.Fields("export run --format csv --events -o -" + ranks)...)
		if got.code != 0 || got.stderr != "" || strings.Count(got.stdout, "\n") != want {
			t.Errorf("%q: %+v, want %d lines", ranks, got, want)
		}
		if strings.Contains(got.stdout, "\n0,") != (ranks == "") || !strings.Contains(got.stdout, "\n2,1001000400,600,100,7,0,1,Recv,p2p,call,recv,MPI_COMM_WORLD,1,rank,main app.c:1,run,0,\n") {
			t.Errorf("%q: got\n%s", ranks, got.stdout)
		}
	}
	for args, want := range map[string]string{
		"--format perfetto":           "run/trace.json.gz\n",
		"--format csv --events":       "run/trace.csv\n",
		"--format csv":                "run/profile.csv\n",
		"--format parquet --events":   "run/trace.parquet\n",
		"--format perfetto -o deep/x": "deep/x\n",
	} {
		if got := call(strings.Fields("export run " + args)...); got.code != 0 || got.stdout != want || got.stderr != "" {
			t.Errorf("%s: %+v", args, got)
		}
		if got := call(strings.Fields("export run " + args)...); got.code != exitUsage || !strings.Contains(got.stderr, "--force") {
			t.Errorf("%s again: %+v", args, got)
		}
		if got := call(strings.Fields("export run --force " + args)...); got.code != 0 {
			t.Errorf("%s by force: %+v", args, got)
		}
	}
	if got := call(strings.Fields("export run --format perfetto -o -")...); got.code != 0 || !strings.HasPrefix(got.stdout, "\x1f\x8b") {
		t.Errorf("%+v", got)
	}
}

func TestExportOfDamagedTrace(t *testing.T) {
	exported(t, "run")
	traced(t, "run")
	file := rundir.Dir("run").TraceFile(2)
	data := testenv.ReadFile(t, file)
	testenv.WriteFile(t, file, data[:len(data)/2])
	for _, args := range []string{"--format perfetto -o out", "--format csv --events -o out", "--format csv --events -o -", "--format perfetto -o -"} {
		got := call(strings.Fields("export run " + args)...)
		if got.code != exitError || got.stdout != "" || !strings.Contains(got.stderr, file) || exists("out") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestExportOfTraceUsage(t *testing.T) {
	exported(t, "run")
	traced(t, "run")
	for args, want := range map[string]string{
		"run --events --format json":               "--events needs --format",
		"run --events":                             "--events needs --format",
		"run --format csv --ranks 1":               "--ranks needs --events",
		"run --format csv --max-events 9":          "--max-events needs --events",
		"run --format parquet --events --from 1s":  "--from needs --format perfetto",
		"run --format perfetto --partition 3":      "--partition does not apply to events",
		"run --format csv --events --skip-damaged": "--skip-damaged does not apply to events",
		"run --format perfetto --ranks 3-1":        `--ranks: "3-1" is neither a number nor a range`,
		"run --format perfetto --ranks 9":          "--ranks 9: none of these",
		"run --format perfetto --max-events 0":     "nothing would be shown",
		"run --format perfetto --from -1s":         "times count from the first event",
		"run --format perfetto --from 2s --to 1s":  "--to 1s is not after --from 2s",
		"run --format perfetto --from 2":           "missing unit",
		"run run --format perfetto":                "give one run directory",
		"run/profile.arrow --format perfetto":      "give one run directory",
		"none --format perfetto":                   "no such file",
	} {
		got := call(append([]string{"export"}, strings.Fields(args)...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%s: %+v, want status 2 and %q", args, got, want)
		}
	}
}

// An export of a real run must have one slice and one row per call, and one
// arrow per message: rank r sends r+1.
func TestExportOfTracedRun(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		if got := sh(t, dir, "$mpitrace run --trace -o run --mpi "+m.name+" -- "+m.launcher+" -n 3 "+m.ring(t)+" 100"); got.code != 0 {
			t.Fatalf("status %d\n%s", got.code, got.stderr)
		}
		var calls uint64
		for _, j := range load(t, filepath.Join(dir, "run")) {
			for _, p := range j.Profiles {
				for _, row := range p.Rows {
					calls += row.Calls
				}
			}
		}
		rows := sh(t, dir, "$mpitrace export run --format csv --events -o -")
		if n := strings.Count(rows.stdout, ",call,") - 1; uint64(n) != calls || rows.code != 0 { // one match is the name of a column
			t.Errorf("%d rows of calls, want %d; %s", n, calls, rows.stderr)
		}
		timeline := sh(t, dir, "$mpitrace export run --format perfetto -o t.gz && gunzip -c t.gz")
		if n := strings.Count(timeline.stdout, `{"ph":"X",`); uint64(n) != calls || timeline.code != 0 {
			t.Errorf("%d slices, want %d; %s", n, calls, timeline.stderr)
		}
		if n := strings.Count(timeline.stdout, `{"ph":"s",`); n != 1+2+3 {
			t.Errorf("%d arrows, want 6", n)
		}
	})
}
