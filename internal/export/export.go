// Package export writes what was recorded in other formats, and merges runs.
package export

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
)

// ExportOptions defines what Export writes and where.
type ExportOptions struct {
	Format    *formats.Format
	Path      string // path of the file or directory (see Directory)
	Partition int    // number of ranks in a block of a dataset; 0 for no dataset
	Force     bool   // replace an existing file or directory of the same kind
	Several   bool   // several tables are written into a directory
	PartLimit int64  // see table.Parts.Limit; 0 for table.PartLimit
}

// PerRank reports whether the format has one file for each rank.
func PerRank(f *formats.Format) bool { return f.Name == "prof" }

// Directory reports whether a directory of files is written instead of one
// file.
func (o *ExportOptions) Directory() bool {
	return o.Several || o.Partition > 0 || o.Format != nil && PerRank(o.Format)
}

// DefaultExport returns the path of the output if the user names none: in the run
// directory, or beside the input.
func DefaultExport(paths []string, format *formats.Format) string {
	dir, stem := filepath.Split(filepath.Clean(paths[0]))
	stem = strings.TrimSuffix(stem, filepath.Ext(stem))
	info, err := os.Stat(paths[0])
	switch isDir := err == nil && info.IsDir(); {
	case isDir && !formats.IsDataset(paths[0]):
		dir, stem = paths[0], "profile"
	case len(paths) > 1:
		stem = "profile"
	}
	if PerRank(format) {
		return filepath.Join(dir, format.Name)
	}
	return filepath.Join(dir, stem+format.Extension)
}

// Export writes the profiles of a source, which are ordered by run and rank,
// and returns the written files in that order. A dataset needs the memory of a
// few blocks. Any other format needs the memory of one profile and of the data
// that the format collects.
func Export(src profile.Source, o ExportOptions) (files []string, err error) {
	o.Path = filepath.Clean(o.Path) // with a slash at the end, the temporary file would be inside the directory
	if !o.Directory() {
		if err := o.writeFile(func(w io.Writer) error { return o.Format.Write(w, src) }); err != nil {
			return nil, err
		}
		return []string{o.Path}, nil
	}
	files, err = o.writeDirectory(src)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i] = filepath.Join(o.Path, files[i])
	}
	return files, nil
}

// WriteOutput writes one file of any kind. It replaces an existing file only if
// force is set.
func WriteOutput(path string, force bool, write func(io.Writer) error) error {
	o := ExportOptions{Path: filepath.Clean(path), Force: force}
	return o.writeFile(write)
}

func (o *ExportOptions) writeFile(write func(io.Writer) error) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o777); err != nil {
		return fmt.Errorf("write %s: %w", o.Path, err)
	}
	return atomicfile.Write(o.Path, write)
}

// CheckOutput returns an error if WriteOutput could not write the file. It is called
// before anything is read.
func CheckOutput(path string, force bool) error {
	o := ExportOptions{Path: filepath.Clean(path), Force: force}
	return o.check()
}

// check returns an error for an unusable output path before anything is read.
func (o *ExportOptions) check() error {
	info, err := os.Stat(o.Path)
	switch {
	case err != nil:
		return nil // there is no such file; if there is another reason, writing reports it
	case !info.IsDir() && !info.Mode().IsRegular():
		return rundir.InputErrorf("%s is not a regular file and is not replaced", o.Path) // devices must not be replaced by a file
	case !o.Force:
		return rundir.InputErrorf("%s exists: name another, or overwrite it with --force", o.Path)
	case info.IsDir() != o.Directory():
		return rundir.InputErrorf("%s is a %s: name another file with -o", o.Path, map[bool]string{true: "directory", false: "file"}[info.IsDir()])
	case info.IsDir():
		return onlyExported(o.Path)
	}
	return nil
}

var exported = regexp.MustCompile(`^(([a-z]+/)?(rank_block=-?[0-9]+/)?part-[0-9]+(-[0-9]+)?\.[a-z]+|(profile|ranks|comms|vectors|flows|pvars)\.arrow|[^/]+\.prof)$`)

// onlyExported returns an error if a directory has files that Export does not
// write, so that --force removes nothing else.
func onlyExported(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil && !exported.MatchString(filepath.ToSlash(name)) {
			return fmt.Errorf("%s contains %s, which mpitrace export did not write: move it, or choose another directory with -o", dir, name)
		}
		return err
	})
}

// writeDirectory writes a directory of files and returns their names.
func (o *ExportOptions) writeDirectory(src profile.Source) ([]string, error) {
	return o.inDirectory(func(d *directory) error {
		switch {
		case PerRank(o.Format):
			return d.writeRanks(src)
		case o.Format.Name == parquet:
			return eachBlock(src, o.Partition, func(block, job int, ps profile.List) error {
				d.addParts(blockParts{block: block, job: job}, func(parts table.Parts) error { return table.WriteParts(parts, TableProfile, ps, false) })
				return nil
			})
		}
		return eachBlock(src, o.Partition, d.addBlock)
	})
}

// inDirectory makes the output directory, in which write starts to write files,
// and returns the names of the files.
func (o *ExportOptions) inDirectory(write func(*directory) error) ([]string, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o777); err != nil {
		return nil, fmt.Errorf("write %s: %w", o.Path, err)
	}
	d := &directory{format: o.Format, limit: cmp.Or(o.PartLimit, table.PartLimit)}
	d.writers.SetLimit(runtime.GOMAXPROCS(0))
	err := atomicfile.WriteDirectory(o.Path, func(dir string) error {
		d.dir = dir
		if err := os.Mkdir(dir, 0o777); err != nil {
			return atomicfile.Nameless(err)
		}
		err := write(d)
		return cmp.Or(err, d.writers.Wait())
	})
	var files []string
	for _, names := range d.files {
		files = append(files, *names...)
	}
	return files, err
}

// directory writes files into a directory, several at a time.
type directory struct {
	dir     string
	format  *formats.Format
	limit   int64       // of Parquet files
	files   []*[]string // of each writer
	writers errgroup.Group
}

func (d *directory) add(name string, ps profile.List) {
	d.files = append(d.files, &[]string{name})
	d.writers.Go(func() error {
		// If a source is not ordered, the same name may occur twice: the second
		// is an error.
		err := atomicfile.WriteNew(filepath.Join(d.dir, name), func(w io.Writer) error { return d.format.Write(w, ps) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// writeRanks writes <program>.<rank>.<extension>, those in a run directory.
func (d *directory) writeRanks(src profile.Source) error {
	jobs, err := jobsOf(src)
	if err != nil {
		return err
	}
	return src.Each(func(p *profile.Profile) error {
		if p.Rank >= 0 { // ended before it had a rank, and so before it sent anything
			stem := ""
			if j := jobs[p.Run]; j != nil {
				stem = j.Stem
			}
			d.add(fmt.Sprintf("%s.%d%s", stem, p.Rank, d.format.Extension), profile.List{p})
		}
		return nil
	})
}

// jobsOf returns the jobs of a source by their names. It walks over tables, of which they are
// not known.
func jobsOf(src profile.Source) (map[string]*source.Job, error) {
	run, divided := src.(*source.IntactSource)
	if !divided || len(run.Jobs) == 0 {
		split, err := source.Split(src, source.Options{})
		if err != nil {
			return nil, err
		}
		run = &source.IntactSource{Run: split}
	}
	jobs := map[string]*source.Job{}
	for _, j := range run.Jobs {
		jobs[j.Run] = j
	}
	return jobs, nil
}

// addBlock writes a file of a dataset.
func (d *directory) addBlock(block, job int, ps profile.List) error {
	name := formats.PartName(block, job, 0, d.format)
	if err := d.makeParent(name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d.add(name, ps)
	return nil
}

// makeParent makes the directory of a file.
func (d *directory) makeParent(name string) error {
	if err := os.MkdirAll(filepath.Join(d.dir, filepath.Dir(name)), 0o777); err != nil {
		return atomicfile.Nameless(err)
	}
	return nil
}

// eachBlock calls f with the processes of each block of ranks. The jobs are
// numbered in the order of the source.
func eachBlock(src profile.Source, ranks int, f func(block, job int, ps profile.List) error) error {
	var (
		ps         profile.List
		job, block int
	)
	err := src.Each(func(p *profile.Profile) error {
		if n := len(ps); n > 0 && (p.Run != ps[n-1].Run || blockOf(p.Rank, ranks) != block) {
			run := ps[n-1].Run
			if err := f(block, job, ps); err != nil {
				return err
			}
			ps = nil
			if p.Run != run {
				job++
			}
		}
		block = blockOf(p.Rank, ranks)
		ps = append(ps, p)
		return nil
	})
	if err != nil || len(ps) == 0 {
		return err
	}
	return f(block, job, ps)
}

// blockOf returns the index of a process's block, or -1 for processes without a
// rank.
func blockOf(rank, ranks int) int {
	if rank < 0 {
		return -1
	}
	return rank / ranks
}
