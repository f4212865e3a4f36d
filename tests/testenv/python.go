package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Python returns the interpreter in build/venv, which has the packages of
// tests/requirements.txt. It skips the test if there is none, and at level check.
func Python(t testing.TB) string {
	t.Helper()
	notInCheck(t)
	python := filepath.Join(rootOf(t), "build", "venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		Skip(t, "needs build/venv, which make setup makes")
	}
	return python
}

// Spark returns the interpreter in build/spark, which has pyspark. It skips the
// test if there is none.
func Spark(t testing.TB) string {
	t.Helper()
	Need(t, "java")
	python := filepath.Join(rootOf(t), "build", "spark", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		Skip(t, "needs build/spark, which scripts/setup.sh sweep makes")
	}
	return python
}

// Pytest runs pytest in tests/python with variables added to the environment.
// args are its files and options. Output and failures go to t.
func Pytest(t testing.TB, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(Python(t), append([]string{"-m", "pytest", "-q", "-p", "no:cacheprovider"}, args...)...)
	cmd.Dir = filepath.Join(rootOf(t), "tests", "python")
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("pytest: %v\n%s", err, out)
	}
}

func rootOf(t testing.TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
