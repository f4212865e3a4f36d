package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// openPipe opens a file that can be read only once, such as <(...) in a shell.
func (r *Run) openPipe(path string, o *Options) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	r.close = func() { f.Close() }
	return r.openStream(f, path, o)
}

// openStream opens a stream of .prof text, or a copy of a stream of another format.
func (r *Run) openStream(in io.Reader, name string, o *Options) error {
	b := bufio.NewReaderSize(in, 64<<10)
	head, err := b.Peek(512)
	if len(head) == 0 {
		if err == io.EOF {
			err = errors.New("nothing in it")
		}
		return fmt.Errorf("read %s: %w", name, err)
	}
	if prof.Is(head) {
		r.flows.stream, r.flows.name = b, name
		return nil
	}
	if _, err := formats.Sniff(head, name); err != nil {
		return err
	}
	path, remove, err := atomicfile.WriteTemporary("profile2mat-*", func(w io.Writer) error {
		_, err := io.Copy(w, b)
		return err
	})
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	if pipe := r.close; pipe != nil {
		pipe()
	}
	r.close, r.copied, r.flows.name = remove, path, name
	if err := r.openFiles([]string{path}, false, o); err != nil {
		return r.ofCopy(err)
	}
	r.base = "" // the working directory, not that of the copy
	return nil
}

// ofCopy returns an error that names the stream of whose copy the error is.
func (r *Run) ofCopy(err error) error {
	if err == nil || r.copied == "" {
		return err
	}
	return fmt.Errorf("read %s: %w", r.flows.name, err)
}
