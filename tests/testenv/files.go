package testenv

import (
	"os"
	"testing"
)

// WriteFile writes a file. If it cannot be written, the test ends.
func WriteFile[Text string | []byte](t testing.TB, path string, text Text) {
	t.Helper()
	writeFile(t, path, []byte(text), 0o666)
}

// WriteProgram writes a file that may be executed.
func WriteProgram[Text string | []byte](t testing.TB, path string, text Text) {
	t.Helper()
	writeFile(t, path, []byte(text), 0o777)
}

func writeFile(t testing.TB, path string, text []byte, mode os.FileMode) {
	t.Helper()
	NoError(t, os.WriteFile(path, text, mode))
}

// ReadFile returns what is in a file. If it cannot be read, the test ends.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	NoError(t, err)
	return text
}

// Mkdir makes a directory and those above it that are missing. If it cannot be
// made, the test ends.
func Mkdir(t testing.TB, path string) {
	t.Helper()
	NoError(t, os.MkdirAll(path, 0o777))
}

// NoError ends the test if there is an error. It costs a benchmark nothing.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
