package matrices

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
)

// matrixFile is a matrix file to write.
type matrixFile struct {
	path   string
	sheet  *matrixfile.Sheet
	format *matrixfile.SheetFormat
	q      matrixfile.Quantity
}

// scratchBudget is the memory in bytes that each matrix may use for its entries while it is made.
// Further entries are in a temporary file.
const scratchBudget = 64 << 20

func (o *options) run(paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if dir := rundir.Dir(paths[0]); o.dir == "" && dir.Used() {
		if err := dir.Foreign(); err != nil {
			return usageError{fmt.Errorf("%w: name a directory for the matrices with -o", err)}
		}
	}
	var found source.DamageList
	out := &matrixOutput{options: o, log: stderr, idle: func() bool { return len(found.Errors) > 0 && !o.skipDamaged }}
	defer out.drop()
	scratch := matrix.NewScratch(scratchBudget, func() (matrix.ScratchFile, error) { return atomicfile.Unnamed("") })
	in := source.TrafficReader{Use: out.add, Scratch: scratch, Log: stderr, Stdin: stdin, Selection: &o.selection.Selection, Hosts: o.hosts, Damage: &found,
		Warn: func(err error) { fmt.Fprintf(stderr, "%s: %v\n", o.program, err) }}
	err := in.Read(paths)
	if len(found.Errors) > 0 && (err != nil || !o.skipDamaged) {
		err = refuse(errors.Join(found.Errors...), err)
	}
	if err != nil {
		return err
	}
	for _, err := range found.Errors {
		fmt.Fprintf(stderr, "%s: skipped: %v\n", o.program, err)
	}
	if err := scratch.Err(); err != nil {
		return err
	}
	if err := out.finish(); err != nil {
		return err
	}
	for _, path := range out.files.Paths() {
		if _, err := fmt.Fprintln(stdout, path); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns the error for damaged input, for which nothing is written. err is a further error,
// or nil.
func refuse(damage, err error) error {
	if err != nil {
		return errors.Join(damage, err)
	}
	return fmt.Errorf("%w\nthe input is damaged, nothing is written: --skip-damaged makes matrices of the rest", damage)
}

// matrixOutput writes the matrices of all jobs. It writes them job by job under
// temporary names, so that a job's memory is free before the next is read, and
// renames them all at the end. An error therefore leaves no incomplete file.
// Unless a rename fails, it leaves no file at all.
type matrixOutput struct {
	*options
	log   io.Writer
	idle  func() bool // reports whether nothing more is to be written, because of damage
	jobs  int
	errs  []jobError // errors of jobs that get no files
	files atomicfile.Set
	made  []string // directories that were made, the innermost first
}

type jobError struct {
	prefix string
	err    error
}

// add writes the matrices of a job. It stores an error that concerns only this
// job, and returns others.
func (out *matrixOutput) add(j *source.Traffic) error {
	if out.jobs++; out.idle() {
		return nil
	}
	if missing := j.Missing(); missing.Len() > 0 {
		fmt.Fprintf(out.log, "%s: %s: nothing from %s of %d\n", out.program, j.Prefix, missing, j.Size())
	}
	var files []matrixFile
	sheets, err := out.sheets(j, out.log)
	if err == nil {
		files, err = out.filesOf(j, sheets, out.log)
	}
	switch {
	case err != nil:
		out.errs = append(out.errs, jobError{j.Prefix, err})
		return nil
	case len(files) == 0:
		fmt.Fprintf(out.log, "%s: %s: nothing was sent, so there is no matrix\n", out.program, j.Prefix)
		return nil
	}
	if err := out.check(files); err != nil {
		return err
	}
	return out.write(files)
}

// write makes the directory and writes the files under temporary names.
func (out *matrixOutput) write(files []matrixFile) error {
	dir := filepath.Dir(files[0].path)
	out.made = append(absent(dir), out.made...)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var m mirror
	for _, f := range files {
		f.sheet = m.page(f.sheet)
		if err := f.write(&out.files, out.log); err != nil {
			return err
		}
	}
	return nil
}

// finish renames the files to their final names. If there are none, it returns
// the jobs' errors, else it prints these as warnings.
func (out *matrixOutput) finish() error {
	for i, e := range out.errs {
		if out.jobs > 1 {
			out.errs[i].err = fmt.Errorf("%s: %w", e.prefix, e.err)
		}
	}
	if len(out.files.Paths()) == 0 {
		var all []error
		for _, e := range out.errs {
			all = append(all, e.err)
		}
		return errors.Join(all...)
	}
	for _, e := range out.errs {
		fmt.Fprintf(out.log, "%s: %v\n", out.program, e.err)
	}
	err := out.files.Commit()
	if err == nil {
		out.made = nil
	}
	return err
}

// drop removes temporary files, and the directories made for them.
func (out *matrixOutput) drop() {
	out.files.Discard()
	for _, dir := range out.made {
		os.Remove(dir) // fails if the directory is not empty, as intended
	}
}

// filesOf returns the files of a job. It warns of files that would be too
// large, and returns an error only if no others remain.
func (o *options) filesOf(j *source.Traffic, sheets []*sheet, stderr io.Writer) ([]matrixFile, error) {
	var out []matrixFile
	var large []error
	sheets = slices.Concat(sheets[matrix.Direct:], sheets[:matrix.Direct]) // the most useful matrix first
	for _, s := range sheets {
		for _, f := range o.formats {
			if !s.has(f) {
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
		fmt.Fprintf(stderr, "%s: %v\n", o.program, err)
	}
	return out, nil
}

// has reports whether the sheet is written in a format.
func (s *sheet) has(f *matrixfile.SheetFormat) bool {
	switch {
	case f.Kind == matrixfile.Picture:
		return s.picture
	case f.Name == "mat":
		return s.classic
	}
	return s.wanted
}

// tooLarge returns an error if a file would have more pairs than --max-pairs.
func (o *options) tooLarge(f *matrixfile.SheetFormat, s *sheet) error {
	pairs, least := uint64(s.Pairs), ""
	if !s.exact {
		least = "at least "
	}
	switch {
	case f.Kind == matrixfile.Dense:
		pairs, least = uint64(s.N)*uint64(s.N), ""
		if f.Name == "mat" {
			pairs = uint64(s.extent) * uint64(s.extent)
		}
	case f.Kind == matrixfile.Picture:
		return nil
	}
	if o.maxPairs == 0 || pairs <= o.maxPairs {
		return nil
	}
	instead := "--class p2p, --ranks, --by host, --by 64 or --format png"
	if f.Kind == matrixfile.Dense {
		instead = "a sparse format (--format parquet), --by host, --by 64 or --format png"
	}
	return fmt.Errorf("%s%d pairs of %ss, where --max-pairs allows %d: take %s", least, pairs, s.Line, o.maxPairs, instead)
}

// prefix returns the beginning of the paths of a job's files.
func (o *options) prefix(j *source.Traffic) string {
	if o.dir == "" {
		return j.Prefix
	}
	return filepath.Join(o.dir, filepath.Base(j.Prefix))
}

// filesAs returns the files of one sheet in one format, one per quantity.
func (o *options) filesAs(f *matrixfile.SheetFormat, j *source.Traffic, s *sheet) []matrixFile {
	prefix := o.prefix(j) + o.slug(f)
	page := &s.Sheet
	if f.Name == "mat" && s.extent != s.N {
		page = &matrixfile.Sheet{}
		*page = s.Sheet
		page.N = s.extent
	}
	if len(f.Quantities) == 0 {
		return []matrixFile{{fmt.Sprintf("%s_%s.%s", prefix, s.Class, f.Name), page, f, 0}}
	}
	var out []matrixFile
	for _, q := range f.Quantities {
		out = append(out, matrixFile{fmt.Sprintf("%s_%s_%s.%s", prefix, q, s.Class, f.Name), page, f, q})
	}
	return out
}

// check returns an error if a file exists and --force is not given, or if the
// disk has too little room. It is called before anything is written.
func (o *options) check(files []matrixFile) error {
	var need uint64
	for _, f := range files {
		if _, err := os.Lstat(f.path); err == nil && !o.force {
			return usagef("%s exists: name another directory with -o, or overwrite with --force", f.path)
		}
		if need += f.format.MinSize(f.sheet); need >= 1<<62 {
			break
		}
	}
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Dir(files[0].path)
	existing := dir
	if missing := absent(dir); len(missing) > 0 {
		existing = filepath.Dir(missing[len(missing)-1])
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(existing, &disk); err != nil {
		return nil // a write will fail if there is no room
	}
	if free := disk.Bavail * uint64(disk.Bsize); need > free {
		return fmt.Errorf("matrices of %d %ss need some %d bytes or more, %s has %d free", files[0].sheet.N, files[0].sheet.Line, need, dir, free)
	}
	return nil
}

// absent returns the missing directories of a path, the innermost first.
func absent(dir string) (out []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			return out
		}
		out = append(out, dir)
	}
}

// mirror adds up both directions of a symmetric matrix just before the matrix is written. It keeps
// only the last sum: the sums of all classes would need as much memory as all the input. This
// suffices because the files of one matrix are written one after the other.
type mirror struct{ one, sum *matrix.Matrix }

// page returns the sheet to write: s itself, or its sum if it is symmetric.
func (m *mirror) page(s *matrixfile.Sheet) *matrixfile.Sheet {
	if !s.Symmetric {
		return s
	}
	if m.one != s.Matrix {
		m.sum = nil // free the sum before the next one is allocated
		m.one, m.sum = s.Matrix, s.Matrix.Symmetric()
	}
	both := *s
	both.Matrix = m.sum
	return &both
}

// write writes the file and shows the progress if log is a terminal.
func (f *matrixFile) write(files *atomicfile.Set, log io.Writer) error {
	bar := text.StartProgress(log, "writing "+filepath.Base(f.path), f.sheet.Pairs)
	defer bar.Done()
	if bar != nil {
		f.sheet.Progress = bar.Add
	}
	return files.Write(f.path, func(w io.Writer) error { return f.format.Write(w, f.sheet, f.q) })
}
