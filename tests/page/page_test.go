package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

const (
	halo      = "examples/halo/halo.c"
	standsOut = "tests/programs/stands_out.c"
)

// TestHalo opens the page of a small job that was not traced.
func TestHalo(t *testing.T) {
	run := record(t, nil, 4, compile(t, halo))
	p, size := open(t, run)
	if size > 250_000 {
		t.Errorf("%d bytes, more than 250 KB", size)
	}
	p.pictures("halo")
	p.checkViews(run)
	p.checkReport(run)
	p.checkPair(run, cell{0, 1})
	p.checkKeys()
	p.checkMatrices(run, 4, 1)
	p.checkPrint()
}

func TestTraced(t *testing.T) {
	run := record(t, []string{"--trace"}, 4, compile(t, halo), "-n", "200", "-m", "200", "-s", "60")
	p, _ := open(t, run)
	p.pictures("traced")
	p.checkViews(run)
	p.checkReport(run)
	p.checkMatrices(run, 4, 1)
	p.checkWaits(run)
	p.checkTimeline(run, 4)
}

func TestLAMMPS(t *testing.T) {
	testenv.Need(t, "lmp")
	run := record(t, nil, 2, "lmp", "-in", filepath.Join(root, "tests", "e2e", "testdata", "in.melt"), "-log", "none")
	p, _ := open(t, run)
	p.pictures("lammps")
	p.checkViews(run)
	p.checkReport(run)
	p.checkMatrices(run, 2, 1)
}

func TestAllToAll(t *testing.T) {
	run := synthetic(t, "alltoall", 48, 8)
	p, _ := open(t, run)
	p.pictures("alltoall")
	p.checkViews(run)
	p.checkReport(run)
	p.checkMatrices(run, 48, 6)
}

// TestHostileNames opens the page of a job whose names are markup. They are shown as
// text: a script that ran would open a dialog or change the title.
func TestHostileNames(t *testing.T) {
	run := record(t, []string{"--trace"}, 2, compile(t, "tests/programs/hostile_markup.c"), "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>")
	p, _ := open(t, run)
	p.pictures("hostile")
	p.checkViews(run)
	p.mentions("main", "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>")
	if got := strings.Join(p.table("communicators").column(p, "communicator"), " "); !strings.Contains(got, "<script>alert(3)</script>") {
		t.Errorf("communicators %q", got)
	}
	if got := p.table("phases").column(p, "slice"); !slices.Contains(got, "</script><b onclick=alert(4)>") {
		t.Errorf("phases %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll("img, b, main script").length`); n > 0 {
		t.Errorf("%d elements of the job's names", n)
	}
}

// TestDeadRank opens the page of a job of which a rank was killed.
func TestDeadRank(t *testing.T) {
	run := record(t, nil, 2, compile(t, standsOut), "killed")
	p, _ := open(t, run)
	p.pictures("dead")
	p.checkViews(run)
	p.checkReport(run)
	p.mentions("#page", "killed by SIGKILL")
	p.checkMatrices(run, 2, 1)
}

// TestManyRanks checks jobs with a pyramid of cells. The larger one is that for which the
// page promises a size and a time.
func TestManyRanks(t *testing.T) {
	for ranks, level := range map[int]testenv.Level{1000: testenv.Quick, 10_000: testenv.All} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			testenv.At(t, level)
			run := synthetic(t, "stencil", ranks, 64)
			p, size := open(t, run)
			t.Logf("page of %d ranks: %d bytes, ready after %.0f ms", ranks, size, p.ready)
			if size > 2_000_000 {
				t.Errorf("%d bytes, more than 2 MB", size)
			}
			if p.ready > 5000 { // 1 s on an idle machine
				t.Errorf("ready after %.0f ms", p.ready)
			}
			p.pictures(fmt.Sprint("stencil-", ranks))
			p.checkViews(run)
			p.checkReport(run)
			p.checkMatrices(run, ranks, (ranks+63)/64)
			levels := p.checkZoom(run, "point-to-point", ranks)
			if len(levels) < 3 || levels[len(levels)-1] != 1 {
				t.Errorf("the wheel zooms through cells of %v ranks", levels)
			}
			rate := p.framesPerSecond()
			t.Logf("cells of %v ranks; zooms at %.0f frames/s", levels, rate)
			if rate < 5 { // 30 on an idle machine
				t.Errorf("%.1f frames/s", rate)
			}
		})
	}
}

// framesPerSecond returns how often the page draws while the wheel turns.
func (p *tab) framesPerSecond() float64 {
	p.Helper()
	p.showMatrix()
	return eval[float64](p, fmt.Sprintf(`new Promise((done) => {
		const picture = %s.querySelector("canvas.matrix"), box = picture.getBoundingClientRect();
		const [frames, start] = [60, performance.now()];
		let frame = 0;
		const turn = () => {
			const up = frame %% 40 < 20; // in, and out again
			picture.dispatchEvent(new WheelEvent("wheel", { deltaY: up ? -100 : 100, clientX: box.left + box.width / 2,
				clientY: box.top + box.height / 2, bubbles: true, cancelable: true }));
			if (++frame > frames) done(1000 * frames / (performance.now() - start));
			else requestAnimationFrame(turn);
		};
		requestAnimationFrame(turn);
	})`, view))
}
