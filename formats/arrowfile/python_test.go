package arrowfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestRewritten reads tables that pandas, polars and pyarrow have rewritten. The matrices
// and the sums are those of the profiles.
func TestRewritten(t *testing.T) {
	ps := append(jobs.Readings("one"), jobs.Physical("two")...)
	run, out := filepath.Dir(writeRun(t, ps)), t.TempDir()
	root, err := testenv.Root()
	testenv.NoError(t, err)
	cmd := exec.Command(testenv.Python(t), filepath.Join(root, "tests", "python", "rewrite.py"), run, out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rewrite.py: %v\n%s", err, text)
	}
	variants, err := os.ReadDir(out)
	if err != nil || len(variants) < 20 {
		t.Fatalf("%d variants, %v", len(variants), err)
	}
	var some []*profile.Profile
	for _, p := range ps {
		if p.Rank < 2 {
			some = append(some, p)
		}
	}
	for _, v := range variants {
		t.Run(v.Name(), func(t *testing.T) {
			want, got := ps, read(t, filepath.Join(out, v.Name(), "profile.arrow"))
			if strings.HasPrefix(v.Name(), "some-") {
				want = some
			}
			if diff := cmp.Diff(cells(want), cells(got)); diff != "" {
				t.Errorf("cells (-recorded +read):\n%s", diff)
			}
			if diff := cmp.Diff(facts(want), facts(got)); diff != "" {
				t.Errorf("facts (-recorded +read):\n%s", diff)
			}
		})
	}
}
