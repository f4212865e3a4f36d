package formats

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/profile"
)

// A dataset is a directory of files of one format. Other tools treat it as one
// table and scan its files in parallel. A merge of many processes writes
//
//	part-<number>.arrow
//
// in the order of jobs and ranks, and an export
//
//	rank_block=<rank / ranks per block>/part-<number of the job>.<extension>
//
// If a Parquet file would be larger than table.PartLimit, the next rows are in
// part-<number of the job>-1.parquet, and so on. Processes that ended before
// their rank was known are in block -1. The directories are named in Hive's
// style, so that tools add a column rank_block. The files themselves do not
// have this column.

// PartName returns the path of a part relative to the dataset's directory. n is
// its number among the files of the block and the job.
func PartName(block, job, n int, f *Format) string {
	return filepath.Join(fmt.Sprintf("rank_block=%d", block), FileName(job, n, f))
}

// FileName returns the last element of PartName.
func FileName(job, n int, f *Format) string {
	if n > 0 {
		return fmt.Sprintf("part-%d-%d%s", job, n, f.Extension)
	}
	return fmt.Sprintf("part-%d%s", job, f.Extension)
}

var partName = regexp.MustCompile(`^(?:rank_block=(-?[0-9]{1,9})/)?part-([0-9]{1,9})(\.[a-z]+)$`)

// part is one file of a dataset.
type part struct {
	path       string
	block, job int
}

// partsOf returns the files of a dataset, sorted by job and then by block, which
// is the order of runs and ranks. It skips files whose names begin with a dot
// or an underscore, as Hive does. Any other file is an error, since then the
// directory is not a dataset.
func partsOf(dir string) ([]part, error) {
	files, err := filepath.Glob(filepath.Join(escape(dir), "part-*"))
	inBlocks, err2 := filepath.Glob(filepath.Join(escape(dir), "*", "*"))
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	var parts []part
	for _, path := range append(files, inBlocks...) {
		if base := filepath.Base(path); base[0] == '.' || base[0] == '_' {
			continue
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		match := partName.FindStringSubmatch(filepath.ToSlash(name))
		if match == nil {
			return nil, fmt.Errorf("read dataset %s: %s is not a part of a dataset", dir, name)
		}
		block, _ := strconv.Atoi(match[1]) // 0 for a part of a merge
		job, _ := strconv.Atoi(match[2])
		parts = append(parts, part{path, block, job})
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.block, b.block))
	})
	return parts, nil
}

// escape quotes the characters of a directory's name that Glob would interpret.
func escape(dir string) string { return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(dir, `\$0`) }

// IsDataset reports whether dir holds a dataset.
func IsDataset(dir string) bool {
	parts, _ := filepath.Glob(filepath.Join(escape(dir), "part-*")) // the patterns are well formed
	blocks, _ := filepath.Glob(filepath.Join(escape(dir), "rank_block=*", "part-*"))
	return len(parts)+len(blocks) > 0
}

// OpenDataset returns a source of the profiles of a dataset. Each opens the
// files as it reaches them, and reads a few ahead.
func OpenDataset(dir string) (profile.Source, error) {
	parts, err := partsOf(dir)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("read dataset %s: it has no part-0, and no rank_block=0/part-0", dir)
	}
	var files Files
	for _, p := range parts {
		files = append(files, p.path)
	}
	return files.Checked()
}

// Files is a Source that reads the profiles of several files, in order.
type Files []string

// Checked returns the files as a source. It checks the format of the first file only. If the source
// of the first file has a method Lacks, so has the result.
func (fs Files) Checked() (profile.Source, error) {
	first, err := fs.Open(0)
	if of, ok := first.(interface{ Lacks() string }); ok {
		return lacking{fs, of.Lacks()}, err
	}
	return fs, err
}

// lacking is a source of profiles, with a text that lists what its profiles lack.
type lacking struct {
	profile.Source
	what string
}

func (l lacking) Lacks() string { return l.what }

// Open opens file i.
func (fs Files) Open(i int) (profile.Source, error) {
	f, err := Detect(fs[i])
	if err != nil {
		return nil, err
	}
	content, err := f.Read(fs[i])
	if err != nil {
		return nil, err
	}
	if content.Profiles == nil {
		return nil, fmt.Errorf("read %s: it holds traffic between ranks, and no profile", fs[i])
	}
	return content.Profiles, nil
}

// ahead is the maximum number of profiles of a file that are read before they
// are needed.
const ahead = 128

// Each implements profile.Source. It reads several files concurrently.
func (fs Files) Each(f func(*profile.Profile) error) error {
	return profile.ReadAhead(len(fs), ahead, func(i int, give func(*profile.Profile) error) error {
		src, err := fs.Open(i)
		if err != nil {
			return err
		}
		return src.Each(give)
	}, func(_ int, p *profile.Profile) error { return f(p) })
}
