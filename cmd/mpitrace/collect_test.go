package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The disk of the run directory fills up while a job starts on two nodes. The
// recordings of one node stay in its spool, those of the other in its $TMPDIR.
// After space has been freed, both are collected.
func TestCollectFromNodes(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		testenv.Need(t, "dd")
		disk := testenv.SmallDisk(t, "512k")
		c := testenv.NewCluster(t) // after SmallDisk, so that the nodes see the mounted disk
		runDir, fill := filepath.Join(disk, "run"), filepath.Join(disk, "fill")
		program := fmt.Sprintf("sh -c 'dd if=/dev/zero of=%s bs=4096 oflag=append conv=notrunc 2>/dev/null; exec %s 100'", fill, m.ring(t))
		got := sh(t, disk, on(c, "nodea", disk, "$mpitrace run -o run -- "+launchOn(c, m, 4)+" "+program))
		if got.code != 0 || strings.Count(got.stdout, "of 4\n") != 4 {
			t.Errorf("the job was harmed: status %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		for _, want := range []string{"2 of 4 ranks", "no space left", "nodea:/dev/shm/mpitrace-", "nodeb:/tmp/mpitrace-0/nodeb-", "mpitrace collect " + runDir} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("no %q in stderr\n%s", want, got.stderr)
			}
		}
		testenv.NoError(t, os.Remove(fill))
		got = sh(t, disk, on(c, "nodea", disk, "$mpitrace collect --ssh false run"))
		if got.code != exitError || !strings.Contains(got.stderr, "run this command there: ") || !strings.Contains(got.stderr, "not all recordings of run are collected") {
			t.Errorf("other node cannot be reached: status %d\n%s", got.code, got.stderr)
		}
		got = sh(t, disk, on(c, "nodea", disk, "$mpitrace collect --ssh "+c.Agent+" run"))
		if got.code != 0 || !strings.Contains(got.stderr, "collected 2 recordings of nodeb") {
			t.Errorf("status %d\n%s", got.code, got.stderr)
		}
		checkRing(t, load(t, runDir)[0], 4, 100)
		if left, _ := filepath.Glob(filepath.Join(runDir, "recordings", "*.at")); len(left) > 0 || len(rundir.Dir(runDir).Uncollected()) > 0 {
			t.Errorf("not collected: %q, %q", left, rundir.Dir(runDir).Uncollected())
		}
		if left, _ := filepath.Glob("/tmp/mpitrace-0/nodeb-*.rec"); len(left) > 0 {
			t.Errorf("left in /tmp: %q", left)
		}
	})
}
