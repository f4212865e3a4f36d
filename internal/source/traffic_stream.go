package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// loadPipe reads a file that can be read only once, such as <(...) in a shell.
func (in *TrafficReader) loadPipe(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return in.loadStream(f, path)
}

// loadStream reads .prof text from the stream, and other formats from a copy of
// it. The matrices of .prof text are named stdin.
func (in *TrafficReader) loadStream(r io.Reader, name string) error {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(512)
	if len(head) == 0 {
		if err == io.EOF {
			err = errors.New("nothing in it")
		}
		return fmt.Errorf("read %s: %w", name, err)
	}
	if !prof.Is(head) {
		if _, err := formats.Sniff(head, name); err != nil {
			return err
		}
		return in.loadCopy(b, name)
	}
	if err := in.checkProf(name); err != nil {
		return err
	}
	j, file := &Traffic{Builder: matrix.NewBuilder(in.Selection)}, profFile{path: name}
	if err := j.scan(&file, b); err != nil {
		return err
	}
	return in.ofProf(j, "stdin", []profFile{file})
}

// loadCopy reads a format that needs random access.
func (in *TrafficReader) loadCopy(r io.Reader, name string) error {
	path, remove, err := atomicfile.WriteTemporary("profile2mat-*", func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	defer remove()
	before := len(in.Damage.Errors)
	copied := *in
	copied.Use = func(j *Traffic) error {
		j.Prefix = filepath.Base(j.Prefix) // write to the working directory, not next to the copy
		return in.Use(j)
	}
	err = copied.loadFiles([]string{path})
	for i, damage := range in.Damage.Errors[before:] { // errors name the copy, which the user does not know
		in.Damage.Errors[before+i] = errors.New(strings.ReplaceAll(damage.Error(), path, name))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
