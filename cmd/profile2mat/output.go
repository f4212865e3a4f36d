package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/matrix"
)

// options are the flags.
type options struct {
	dir       string
	symmetric bool
	noSelf    bool
	force     bool
}

var mat = &matrix.Table[0]

// file is a matrix to be written.
type file struct {
	path string
	m    *aggregate.Matrix
	n    int // lines
	q    matrix.Quantity
}

func (o *options) run(paths []string, stdout, stderr io.Writer) error {
	loaded, err := input{stderr}.load(paths)
	if err != nil {
		return err
	}
	var files []file
	for _, s := range loaded {
		if missing := s.Missing(); missing.Len() > 0 {
			fmt.Fprintf(stderr, "profile2mat: %s: nothing from %s of %d\n", s.prefix, missing, s.Size())
		}
		fs := o.files(s)
		if len(fs) == 0 {
			fmt.Fprintf(stderr, "profile2mat: %s: nothing was sent, so there is no matrix\n", s.prefix)
		}
		files = append(files, fs...)
	}
	if err := o.check(files); err != nil {
		return err
	}
	if err := o.writeAll(files); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(stdout, f.path); err != nil {
			return err
		}
	}
	return nil
}

// files are the matrices of a job. Directed ones are all of the job's size;
// symmetric ones are those that Open MPI's script would write.
func (o *options) files(s source) []file {
	ms := s.tally.Matrices()
	if o.noSelf {
		ms.DropSelf()
	}
	prefix := s.prefix
	if o.dir != "" {
		prefix = filepath.Join(o.dir, filepath.Base(prefix))
	}
	var out []file
	for c := range aggregate.NumMatrixClasses {
		m, n := &ms[c], s.Size()
		if o.symmetric {
			n = m.Size()
		}
		if !o.wanted(ms, c) {
			continue
		}
		for _, q := range mat.Quantities {
			out = append(out, file{fmt.Sprintf("%s_%s_%s.mat", prefix, q, c), m, n, q})
		}
	}
	return out
}

// wanted tells which classes have files: those with entries; all of them
// together even without; as the script has it, some only with external ones.
func (o *options) wanted(ms *aggregate.Matrices, c aggregate.MatrixClass) bool {
	switch {
	case !o.symmetric && c == aggregate.All:
		return true
	case o.symmetric && c > aggregate.External && ms[aggregate.External].Len() == 0:
		return false
	}
	return ms[c].Len() > 0
}

// check refuses before anything is written: files that exist, and more than
// the disk has room for, as one absurd rank in a damaged file asks for.
func (o *options) check(files []file) error {
	var need uint64
	for _, f := range files {
		if _, err := os.Lstat(f.path); err == nil && !o.force {
			return fmt.Errorf("%s exists: name another directory with -o, or overwrite with --force", f.path)
		}
		if need += mat.Room(&matrix.Sheet{N: f.n}); need >= 1<<62 {
			break
		}
	}
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Dir(files[0].path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return nil // then a write will tell
	}
	if free := disk.Bavail * uint64(disk.Bsize); need > free {
		return fmt.Errorf("matrices of %d ranks need %d bytes or more, %s has %d", files[0].n, need, dir, free)
	}
	return nil
}

// writeAll writes all files under other names first and then renames them, so
// that a failure leaves none half-written and, but for the renaming, none at
// all.
func (o *options) writeAll(files []file) (err error) {
	var parts []string
	defer func() {
		if err != nil {
			for _, part := range parts {
				os.Remove(part)
			}
		}
	}()
	for _, f := range files {
		part := filepath.Join(filepath.Dir(f.path), fmt.Sprintf(".%s.%d.part", filepath.Base(f.path), os.Getpid()))
		parts = append(parts, part)
		if err := o.writeFile(part, f); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	for i, f := range files {
		if err := os.Rename(parts[i], f.path); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) writeFile(path string, f file) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	s := &matrix.Sheet{Matrix: f.m, N: f.n, Symmetric: o.symmetric}
	if o.symmetric {
		s.Matrix = f.m.Symmetric()
	}
	return errors.Join(mat.Write(w, s, f.q), w.Close())
}
