package testenv

import "errors"

// ErrFull is the error of a FullWriter.
var ErrFull = errors.New("disk full")

// FullWriter is a writer that fails with ErrFull after Room bytes, like a file
// on a full disk.
type FullWriter struct{ Room int }

func (w *FullWriter) Write(p []byte) (int, error) {
	if w.Room -= len(p); w.Room < 0 {
		return 0, ErrFull
	}
	return len(p), nil
}
