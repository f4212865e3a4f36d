package page

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCorpus compares the views of the runs that tests/corpus/record.sh made:
//
//	MPITRACE_CORPUS=CORPUS go test ./tests/page -run TestCorpus -timeout 30m
func TestCorpus(t *testing.T) {
	if os.Getenv("MPITRACE_CORPUS") == "" {
		t.Skip("MPITRACE_CORPUS names no corpus") // which takes hours to record
	}
	runs, err := filepath.Glob(filepath.Join(os.Getenv("MPITRACE_CORPUS"), "runs", "*", "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range runs {
		run := filepath.Dir(file)
		t.Run(filepath.Base(run), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(dir, os.DirFS(run)); err != nil {
				t.Fatal(err)
			}
			p, _ := open(t, dir)
			p.checkViews(dir)
		})
	}
}
