// Package readback writes and reads tables for tests.
package readback

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// Profiles returns all profiles of a file.
func Profiles(path string) (ps []*profile.Profile, err error) {
	err = formats.Files{path}.Each(func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	return ps, err
}

// WriteTables writes the tables of a run into a directory, as a merge does.
func WriteTables(dir string, src profile.Source) error {
	var files []io.Closer
	create := func(name string, _ int) (io.WriteCloser, error) {
		f, err := os.Create(filepath.Join(dir, name+".arrow"))
		files = append(files, f)
		return f, err
	}
	w := table.PartWriter{Create: create}
	err := src.Each(w.Add)
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		var comms io.Writer
		if comms, err = create(table.CommsFile, 0); err == nil {
			err = w.Comms.Write(comms)
		}
	}
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}
