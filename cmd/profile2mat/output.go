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
	"github.com/mpitrace/mpitrace/internal/progress"
	"github.com/mpitrace/mpitrace/internal/scratch"
)

// file is a matrix to be written.
type file struct {
	path   string
	sheet  *matrix.Sheet
	format *matrix.Format
	q      matrix.Quantity
}

func (o *options) run(paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var found damage
	loaded, err := input{stderr, stdin, &o.selection, o.hosts, &found}.load(paths)
	if err != nil || !o.skipDamaged {
		err = found.refuse(err)
	}
	if err != nil {
		return err
	}
	for _, err := range found.errs {
		fmt.Fprintf(stderr, "profile2mat: skipped: %v\n", err)
	}
	files, err := o.files(loaded, stderr)
	if err != nil {
		return err
	}
	if err := o.check(files); err != nil {
		return err
	}
	if err := o.writeAll(files, stderr); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintln(stdout, f.path); err != nil {
			return err
		}
	}
	return nil
}

// files are those of all jobs. What is wrong with one job, or too large, is
// said, and an error only if that leaves no file at all.
func (o *options) files(jobs []*job, stderr io.Writer) ([]file, error) {
	var files []file
	var errs []error
	for _, j := range jobs {
		if missing := j.Missing(); missing.Len() > 0 {
			fmt.Fprintf(stderr, "profile2mat: %s: nothing from %s of %d\n", j.prefix, missing, j.Size())
		}
		var fs []file
		sheets, err := o.sheets(j, stderr)
		if err != nil && len(jobs) > 1 {
			err = fmt.Errorf("%s: %w", j.prefix, err)
		}
		if err == nil {
			fs, err = o.filesOf(j, sheets, stderr)
		}
		if err != nil {
			errs = append(errs, err)
		} else if len(fs) == 0 {
			fmt.Fprintf(stderr, "profile2mat: %s: nothing was sent, so there is no matrix\n", j.prefix)
		}
		files = append(files, fs...)
	}
	if len(files) == 0 {
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		fmt.Fprintf(stderr, "profile2mat: %v\n", err)
	}
	return files, nil
}

// filesOf are a job's. Those that are too large are said, and an error only if
// that leaves none.
func (o *options) filesOf(j *job, sheets []*sheet, stderr io.Writer) ([]file, error) {
	var out []file
	var large []error
	for _, s := range sheets {
		for _, f := range o.formats {
			if f.Name == "mat" && !s.classic || f.Name != "mat" && !s.wanted {
				continue
			}
			if err := o.tooLarge(f, s); err != nil {
				large = append(large, fmt.Errorf("%s: no %s of %s: %w", o.prefix(j), f.Name, s.Class, err))
				continue
			}
			out = append(out, o.filesAs(f, j, s)...)
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(large...)
	}
	for _, err := range large {
		fmt.Fprintf(stderr, "profile2mat: %v\n", err)
	}
	return out, nil
}

// tooLarge is an error for a file of more pairs than are wanted.
func (o *options) tooLarge(f *matrix.Format, s *sheet) error {
	pairs, least := uint64(s.Pairs), ""
	if !s.exact {
		least = "at least "
	}
	switch {
	case f.Kind == matrix.Dense:
		pairs, least = uint64(s.N)*uint64(s.N), ""
		if f.Name == "mat" {
			pairs = uint64(s.extent) * uint64(s.extent)
		}
	case f.Kind == matrix.Picture:
		return nil
	}
	if o.maxPairs == 0 || pairs <= o.maxPairs {
		return nil
	}
	instead := "--class p2p, --ranks, --by host, --by 64 or --format png"
	if f.Kind == matrix.Dense {
		instead = "a sparse format (--format parquet), --by host, --by 64 or --format png"
	}
	return fmt.Errorf("%s%d pairs of %ss, where --max-pairs allows %d: take %s", least, pairs, s.Line, o.maxPairs, instead)
}

// prefix is how the files of a job begin.
func (o *options) prefix(j *job) string {
	if o.dir == "" {
		return j.prefix
	}
	return filepath.Join(o.dir, filepath.Base(j.prefix))
}

// filesAs are those of one sheet in one format.
func (o *options) filesAs(f *matrix.Format, j *job, s *sheet) []file {
	prefix := o.prefix(j) + o.slug(f)
	page := &s.Sheet
	if f.Name == "mat" && s.extent != s.N {
		page = &matrix.Sheet{}
		*page = s.Sheet
		page.N = s.extent
	}
	if len(f.Quantities) == 0 {
		return []file{{fmt.Sprintf("%s_%s.%s", prefix, s.Class, f.Name), page, f, 0}}
	}
	var out []file
	for _, q := range f.Quantities {
		out = append(out, file{fmt.Sprintf("%s_%s_%s.%s", prefix, q, s.Class, f.Name), page, f, q})
	}
	return out
}

// check refuses before anything is written: files that exist, and more than
// the disk has room for.
func (o *options) check(files []file) error {
	var need uint64
	for _, f := range files {
		if _, err := os.Lstat(f.path); err == nil && !o.force {
			return fmt.Errorf("%s exists: name another directory with -o, or overwrite with --force", f.path)
		}
		if need += f.format.Room(f.sheet); need >= 1<<62 {
			break
		}
	}
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Dir(files[0].path)
	there := dir
	if missing := absent(dir); len(missing) > 0 {
		there = filepath.Dir(missing[len(missing)-1])
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(there, &disk); err != nil {
		return nil // then a write will tell
	}
	if free := disk.Bavail * uint64(disk.Bsize); need > free {
		return fmt.Errorf("matrices of %d %ss need some %d bytes or more, %s has %d", files[0].sheet.N, files[0].sheet.Line, need, dir, free)
	}
	return nil
}

// absent are the directories of a path that are not there, the innermost first.
func absent(dir string) (out []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			return out
		}
		out = append(out, dir)
	}
}

// writeAll makes the directory for all files, and removes it again if they
// cannot be written.
func (o *options) writeAll(files []file, log io.Writer) error {
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Dir(files[0].path)
	made := absent(dir)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = o.writeFiles(files, log)
	}
	if err != nil {
		for _, dir := range made {
			os.Remove(dir) // unless somebody has put something there
		}
	}
	return err
}

// writeFiles writes all files under other names first and then renames them, so
// that a failure leaves none half-written and, but for the renaming, none at
// all.
func (o *options) writeFiles(files []file, log io.Writer) error {
	var parts []string
	defer func() {
		for _, part := range parts {
			scratch.Done(part)
		}
	}()
	var m mirror
	for _, f := range files {
		f.sheet = m.page(f.sheet)
		part := filepath.Join(filepath.Dir(f.path), fmt.Sprintf(".%s.%d.part", filepath.Base(f.path), os.Getpid()))
		parts = append(parts, part)
		scratch.Track(part)
		if err := f.write(part, log); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	return scratch.Whole(func() error {
		for i, f := range files {
			if err := os.Rename(parts[i], f.path); err != nil {
				return err
			}
		}
		return nil
	})
}

// mirror makes matrices sums of both directions just before they are written,
// and keeps the last: those of all phases and classes together would take as
// much memory as all that was read. Files of one matrix follow each other.
type mirror struct {
	sheet, both *matrix.Sheet
	one, sum    *aggregate.Matrix
}

// page is the sheet as it is to be written.
func (m *mirror) page(s *matrix.Sheet) *matrix.Sheet {
	if !s.Symmetric {
		return s
	}
	if m.one != s.Matrix {
		m.sum = nil // before the next takes room
		m.one, m.sum = s.Matrix, s.Matrix.Symmetric()
	}
	if m.sheet != s {
		both := *s
		both.Matrix = m.sum
		m.sheet, m.both = s, &both
	}
	return m.both
}

// write shows its progress on log if that is a terminal.
func (f *file) write(path string, log io.Writer) error {
	bar := progress.Start(log, "writing "+filepath.Base(f.path), f.sheet.Pairs)
	defer bar.Done()
	if bar != nil {
		f.sheet.Progress = bar.Add
	}
	return scratch.Write(path, func(w io.Writer) error { return f.format.Write(w, f.sheet, f.q) })
}
