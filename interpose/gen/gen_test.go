package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := Files()
	testenv.NoError(t, err)
	for path, want := range files {
		got := testenv.ReadFile(t, filepath.Join("..", "..", filepath.FromSlash(path)))
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what `make generate` writes", path)
		}
	}
}
