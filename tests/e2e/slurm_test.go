package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// slurmJob is an MPI program on a simulated Slurm cluster: a plate on 4 ranks, whose messages are
// known by arithmetic.
type slurmJob struct {
	*testenv.Slurm
	m       implementation
	plate   plate
	program []string
	kind    string // of srun's --mpi
}

func newSlurmJob(t *testing.T, s *testenv.Slurm, m implementation) *slurmJob {
	t.Helper()
	p := plate{rows: 16, cols: 24, steps: 3, down: 2, across: 2}
	j := &slurmJob{Slurm: s, m: m, plate: p, kind: "--mpi=pmi2"}
	if openMPI(m) {
		j.kind = "--mpi=pmix"
	}
	j.program = []string{m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c")), "-n", fmt.Sprint(p.rows), "-m", fmt.Sprint(p.cols), "-s", fmt.Sprint(p.steps)}
	return j
}

// srun returns the command line that starts 4 ranks on 2 nodes.
func (j *slurmJob) srun(program ...string) []string {
	return slices.Concat([]string{"srun", j.kind, "-N2", "-n4"}, program)
}

// run runs a command on the login node, and requires an exit status.
func (j *slurmJob) run(t *testing.T, status int, command ...string) output {
	t.Helper()
	out := execute(t, nil, j.OnLogin(command...)...)
	if out.code != status {
		t.Errorf("%s: exit status %d, want %d\n%s%s", strings.Join(command, " "), out.code, status, out.stdout, out.stderr)
	}
	return out
}

// queue queues a batch script, and returns the id of its job. ID.out has what the job prints.
func (j *slurmJob) queue(t *testing.T, lines ...string) (id string) {
	t.Helper()
	return j.queueAs(t, "script", lines...)
}

func (j *slurmJob) queueAs(t *testing.T, name string, lines ...string) (id string) {
	t.Helper()
	file := filepath.Join(j.Shared, "script.sh") // sbatch keeps a copy
	if err := os.WriteFile(file, []byte("#!/bin/bash\n"+strings.Join(lines, "\n")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := j.run(t, 0, "sbatch", "--parsable", "-J", name, "-N2", "-n4", "-o", filepath.Join(j.Shared, "%j.out"), file)
	return strings.TrimSpace(out.stdout)
}

// until waits until a job is in a state, "" for its end.
func (j *slurmJob) until(t *testing.T, id, state string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out := execute(t, nil, j.OnLogin("squeue", "-h", "-o", "%T", "-j", id)...)
		if strings.TrimSpace(out.stdout) == state && !strings.Contains(out.stderr, "timed out") {
			return
		}
	}
	t.Fatalf("job %s is not in state %q: %s", id, state, readAll(t, filepath.Join(j.Shared, id+".out")))
}

// script runs a batch script to its end, and returns what the job printed.
func (j *slurmJob) script(t *testing.T, name string, lines ...string) string {
	t.Helper()
	id := j.queueAs(t, name, lines...)
	j.until(t, id, "")
	return string(readAll(t, filepath.Join(j.Shared, id+".out")))
}

// check requires that a run has 4 complete ranks, with the messages of the plate, on two nodes.
func (j *slurmJob) check(t *testing.T, dir string) {
	t.Helper()
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(j.Shared, dir)
	}
	ranks := readRecordings(t, dir)
	checkWhole(t, 4, job{ranks: ranks})
	sums := pointToPoint(ranks)
	for from := range 4 {
		for to := range 4 {
			bytes, messages := j.plate.external(from, to)
			if got := sums[pair{from, to}]; got.Bytes != uint64(bytes) || got.Count != uint64(messages) {
				t.Errorf("%d to %d: %+v, want %d messages of %d bytes in all", from, to, got, messages, bytes)
			}
		}
	}
}

// slurmUses are what people do under Slurm, each with its outcome.
var slurmUses = []struct {
	name string
	run  func(*testing.T, *slurmJob)
}{
	{"one mpitrace run for all ranks", func(t *testing.T, j *slurmJob) {
		j.run(t, 0, slices.Concat([]string{mpitrace, "run", "--strict", "-o", "job", "--"}, j.srun(j.program...))...)
		j.check(t, "job")
	}},
	{"mpitrace run for each rank", func(t *testing.T, j *slurmJob) {
		j.run(t, 0, j.srun(append([]string{mpitrace, "run", "-o", "ranks", "--"}, j.program...)...)...)
		j.run(t, 0, mpitrace, "merge", "ranks")
		j.check(t, "ranks")
	}},
	{"a wrapper", func(t *testing.T, j *slurmJob) {
		wrapper := filepath.Join(j.Shared, "bind.sh")
		if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nexport DEVICE=$SLURM_LOCALID\nexec \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		j.run(t, 0, slices.Concat([]string{mpitrace, "run", "--strict", "-o", "wrapper", "--"}, j.srun(append([]string{wrapper}, j.program...)...))...)
		j.check(t, "wrapper")
	}},
	{"several programs in a file", func(t *testing.T, j *slurmJob) {
		file := filepath.Join(j.Shared, "programs.conf")
		line := strings.Join(j.program, " ")
		if err := os.WriteFile(file, []byte("0-1 "+line+"\n2-3 "+line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		j.run(t, 0, slices.Concat([]string{mpitrace, "run", "--strict", "-o", "programs", "--"}, j.srun("--multi-prog", file))...)
		j.check(t, "programs")
	}},
	{"a batch script with two commands and two steps", func(t *testing.T, j *slurmJob) {
		program := strings.Join(j.program, " ")
		one := "cd " + j.Shared + "; " + mpitrace + " run -- " + strings.Join(j.srun(program), " ")
		each := strings.Join(j.srun(mpitrace+" run -- "+program), " ")
		out := j.script(t, "script", one, each, one, each)
		runs, _ := filepath.Glob(filepath.Join(j.Shared, "mpitrace-halo-*"))
		if len(runs) != 4 {
			t.Fatalf("runs %q, want 4\n%s", runs, out)
		}
		for _, run := range runs {
			j.check(t, run)
			os.RemoveAll(run)
		}
	}},
	{"a name with the job's id and name", func(t *testing.T, j *slurmJob) {
		template := filepath.Join(root, "examples", "slurm", "job.sh")
		out := j.script(t, "plate", "export KIND="+strings.TrimPrefix(j.kind, "--mpi=")+" PATH="+filepath.Dir(mpitrace)+":$PATH",
			"cd "+j.Shared, "exec "+template+" "+strings.Join(j.program, " "))
		runs, _ := filepath.Glob(filepath.Join(j.Shared, "plate-[0-9]*"))
		if len(runs) != 1 || !strings.Contains(out, "halo on 4 ranks, ") {
			t.Fatalf("runs %q, want plate-ID, and the verdict:\n%s", runs, out)
		}
		j.check(t, runs[0])
		if out := j.run(t, 2, mpitrace, "run", "-o", "%q", "--", "true"); !strings.Contains(out.stderr, "%q: after %") {
			t.Errorf("it says %q", out.stderr)
		}
	}},
	{"a job that is started again", func(t *testing.T, j *slurmJob) {
		again := "[ -n \"$SLURM_RESTART_COUNT\" ] || { scontrol requeue $SLURM_JOB_ID; sleep 60; }"
		id := j.queue(t, mpitrace+" run -o "+j.Shared+"/again -- "+strings.Join(j.srun(j.program...), " "), again)
		j.until(t, id, "")
		j.check(t, "again")
		j.check(t, "again-restart1")
	}},
	{"a shell in a step", func(t *testing.T, j *slurmJob) {
		inner := mpitrace + " run --strict -o shell -- " + strings.Join(j.program, " ")
		out := j.run(t, 0, "srun", j.kind, "-n1", "bash", "-c", inner)
		if !strings.Contains(out.stderr, "halo on 1 rank, ") {
			t.Errorf("no summary:\n%s", out.stderr)
		}
	}},
	{"a kind of MPI that does not fit", func(t *testing.T, j *slurmJob) {
		if openMPI(j.m) {
			return // it ends in MPI_Init, and says why
		}
		out := j.run(t, 3, slices.Concat([]string{mpitrace, "run", "--strict", "-o", "alone", "--", "srun", "--mpi=none", "-N2", "-n4"}, j.program)...)
		if !strings.Contains(out.stderr, "4 jobs of one rank: for one job, try srun --mpi=pmix (Open MPI) or pmi2 (MPICH)") {
			t.Errorf("it says\n%s", out.stderr)
		}
	}},
	{"a job that is cancelled, seen from the login node", func(t *testing.T, j *slurmJob) {
		long := append(slices.Clone(j.program[:5]), "-s", "100000000")
		id := j.queue(t, "exec "+mpitrace+" run -o "+j.Shared+"/cancelled -- "+strings.Join(j.srun(long...), " "))
		var status output
		for range 100 {
			if status = execute(t, nil, j.OnLogin(mpitrace, "status", "cancelled")...); strings.Contains(status.stdout, "--overlap") {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		want := "srun --jobid=" + id + " --overlap -w "
		if !strings.Contains(status.stdout, want) {
			t.Errorf("status says\n%s%s\nwant %s", status.stdout, status.stderr, want)
		}
		j.run(t, 0, "scancel", id)
		j.until(t, id, "")
		out := j.run(t, 0, mpitrace, "report", "--full", "cancelled")
		if !strings.Contains(out.stdout, "the job was cancelled, or its time was over") {
			t.Errorf("the report is\n%s%s\nthe job printed\n%s", out.stdout, out.stderr, readAll(t, filepath.Join(j.Shared, id+".out")))
		}
	}},
}

// TestSlurm does what people do under a real Slurm, with nodes that are simulated.
func TestSlurm(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		s := testenv.NewSlurm(t, 2, 4, root, scratch)
		for i, use := range slurmUses {
			if even := i%2 == 0; !testenv.Runs(testenv.All) && even == openMPI(m) {
				continue // the other MPI does this use
			}
			t.Run(use.name, func(t *testing.T) { use.run(t, newSlurmJob(t, s, m)) })
		}
	})
}
