package recording

import (
	"bytes"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// WriteState writes what identifies the content of the file at path, a recording or a container,
// because a store to a mapped file does not change the file's modification time. For processes that
// have ended it writes their checksums, and for others the whole content. For a packed file it
// writes nothing.
func WriteState(w io.Writer, path string) error {
	in, size, err := openFile(path)
	if err != nil {
		return err
	}
	defer in.Close()
	head := make([]byte, len(magic))
	switch n, _ := in.ReadAt(head, 0); {
	case bytes.Equal(head[:n], layout.ContainerMagic[:]):
		return WithContainer(path, func(c *Container) error { return c.writeState(w) })
	case bytes.Equal(head[:n], magic):
		return newFile(in, size).writeState(w)
	}
	return nil
}

func (c *Container) writeState(w io.Writer) error {
	for _, problem := range c.problems {
		fmt.Fprintf(w, "problem %q\n", problem)
	}
	for i := range c.members {
		m := &c.members[i]
		fmt.Fprintf(w, "%q ", m.name)
		err := c.withFile(m, layout.HeaderSize, func(f *file) error { return f.writeState(w) })
		if err != nil {
			fmt.Fprintf(w, "%q\n", err.Error())
		}
	}
	return nil
}

// writeState writes the checksum of a recording or, if its process has stored none,
// the content.
func (f *file) writeState(w io.Writer) error {
	if f.complete() {
		_, err := fmt.Fprintf(w, "complete %d %016x\n", f.header.End, f.header.Checksum)
		return err
	}
	size := f.size
	if f.header.End > 0 {
		size = min(size, int64(min(f.header.End, 1<<62)))
	}
	_, err := io.Copy(w, io.NewSectionReader(f.r, 0, size))
	return err
}
