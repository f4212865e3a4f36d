package python_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestEngines compares the answers of examples/engines with those of mpitrace:
// about examples/halo on two numbers of ranks, LAMMPS, a synthetic job with
// phases on several nodes, and a synthetic trace.
func TestEngines(t *testing.T) {
	engines := map[string]func(testing.TB) string{"duckdb": testenv.Python, "polars": testenv.Python}
	ranks := 256
	if testenv.Highest() == testenv.Sweep {
		engines["spark"], ranks = testenv.Spark, 10_000
	}
	testenv.Need(t, "mpicc.openmpi", "mpirun.openmpi")
	dir := t.TempDir()
	output(t, "go", "build", "-o", dir, filepath.Join(root, "cmd", "mpitrace"), filepath.Join(root, "cmd", "profile2mat"), filepath.Join(root, "tests", "synth", "gen"))
	all := map[string][]string{
		"halo":      {traced(t, dir, 2), traced(t, dir, 4)},
		"synthetic": {generated(t, dir, "job", "-shape", "stencil", "-per-node", "16", "-phases", "3", "-ranks", strconv.Itoa(ranks))},
		"trace":     {generated(t, dir, "trace", "-format", "trace", "-shape", "halo", "-ranks", "16", "-per-node", "16", "-events", "100000")},
	}
	if testenv.Highest() != testenv.Quick {
		testenv.Need(t, "lmp")
		all["lammps"] = []string{melted(t, dir)}
	}
	for name, runs := range all {
		var datasets []string
		for _, run := range runs {
			datasets = append(datasets, exported(t, dir, run, name))
		}
		for engine, python := range engines {
			if name == "trace" && engine == "polars" { // it answers nothing about events
				continue
			}
			t.Run(name+"/"+engine, func(t *testing.T) { compareAnswers(t, dir, engine, python(t), runs, datasets) })
		}
	}
}

// traced records the example on n ranks, always the same plate.
func traced(t *testing.T, dir string, n int) string {
	t.Helper()
	dir = filepath.Join(dir, strconv.Itoa(n))
	testenv.Mkdir(t, dir)
	testenv.NoError(t, os.Symlink(filepath.Join("..", "mpitrace"), filepath.Join(dir, "mpitrace")))
	return recordOn(t, dir, "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe"}, n, "--trace")
}

// melted records LAMMPS after traced has set the environment.
func melted(t *testing.T, dir string) string {
	t.Helper()
	run := filepath.Join(dir, "lammps")
	output(t, filepath.Join(dir, "mpitrace"), "run", "--trace", "-o", run, "--", "mpirun.openmpi", "--oversubscribe", "-n", "2",
		"lmp", "-in", filepath.Join(root, "tests", "e2e", "testdata", "in.melt"), "-log", "none")
	return run
}

func generated(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	run := filepath.Join(dir, name)
	output(t, filepath.Join(dir, "gen"), append(args, "-o", run)...)
	return run
}

// exported exports all tables of a run, or those of a trace that has no
// profiles.
func exported(t *testing.T, dir, run, name string) string {
	t.Helper()
	tables, ranks, dataset := "all", "1000", run+".tables"
	switch name {
	case "trace":
		tables = "events,waits"
	case "halo", "lammps":
		ranks = "2"
	}
	output(t, filepath.Join(dir, "mpitrace"), "export", run, "--format", "parquet", "--partition", ranks, "--tables", tables, "-o", dataset)
	return dataset
}

func compareAnswers(t *testing.T, dir, engine, python string, runs, datasets []string) {
	t.Helper()
	args := append([]string{filepath.Join(root, "examples", "engines", "engines.py"), "--json", "--engine", engine}, datasets...)
	cmd := exec.Command(python, args...)
	cmd.Stderr = t.Output()
	found, err := cmd.Output()
	if err != nil {
		t.Fatalf("engines.py: %v", err)
	}
	answers := filepath.Join(t.TempDir(), "answers.json")
	testenv.WriteFile(t, answers, found)
	list, err := json.Marshal(runs)
	testenv.NoError(t, err)
	testenv.Pytest(t, []string{"MPITRACE=" + filepath.Join(dir, "mpitrace"), "MPITRACE_RUNS=" + string(list),
		"MPITRACE_ANSWERS=" + answers, "MPITRACE_ENGINE=" + engine}, "test_engines.py")
}
