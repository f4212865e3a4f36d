package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestHundredThousandRanks measures the largest page. The job takes 2 GB in $TMPDIR.
func TestHundredThousandRanks(t *testing.T) {
	testenv.At(t, testenv.Sweep)
	const ranks = 100_000
	run := synthetic(t, "stencil", ranks, 64)
	file := filepath.Join(t.TempDir(), "page.html")
	cmd := exec.CommandContext(t.Context(), filepath.Join(scratch, "mpitrace"), "report", run, "--html", file)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took, used := time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	memory := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 // Linux counts KiB
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("page of %d ranks: %d bytes, made in %.1f s (%.1f s of a processor) with %d MiB", ranks, info.Size(), took.Seconds(),
		used.Seconds(), memory>>20)
	if info.Size() > 5_000_000 {
		t.Errorf("%d bytes, more than 5 MB", info.Size())
	}
	if used > time.Minute {
		t.Errorf("made in %s of a processor, more than a minute", used)
	}
	if memory > 1<<30 {
		t.Errorf("%d MiB, more than 1 GiB", memory>>20)
	}
	p := openTab(t, file)
	t.Logf("ready after %.0f ms; zooms at %.0f frames/s", p.ready, p.framesPerSecond())
	p.pictures("hundred-thousand")
}
