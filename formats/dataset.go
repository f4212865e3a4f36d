package formats

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/profile"
)

// A dataset is a directory of files of one format that other tools take for one
// table, and scan in parallel:
//
//	rank_block=<rank / ranks of a block>/part-<number of the job>.<extension>
//
// Processes that ended before they had a rank are in block -1. The directories
// are named as Hive's are: tools make a column rank_block of them, which no file
// has.

// PartName is the name of a part, from the dataset's directory.
func PartName(block, job int, f *Format) string {
	return filepath.Join(fmt.Sprintf("rank_block=%d", block), fmt.Sprintf("part-%d%s", job, f.Extension))
}

var partName = regexp.MustCompile(`^rank_block=(-?[0-9]{1,9})/part-([0-9]{1,9})(\.[a-z]+)$`)

// Part is a file of a dataset.
type Part struct {
	Path       string
	Block, Job int
}

// Parts lists the files of the dataset in a directory by job and block, which is
// the order of runs and ranks. Other files are an error, since the directory is
// then something else; but those that Hive hides, .x and _x, are left out.
func Parts(dir string) ([]Part, error) {
	files, err := filepath.Glob(filepath.Join(escape(dir), "*", "*"))
	if err != nil {
		return nil, err
	}
	var parts []Part
	for _, path := range files {
		if base := filepath.Base(path); base[0] == '.' || base[0] == '_' {
			continue
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		match := partName.FindStringSubmatch(filepath.ToSlash(name))
		if match == nil {
			return nil, fmt.Errorf("read dataset %s: %s is no part of one", dir, name)
		}
		block, _ := strconv.Atoi(match[1])
		job, _ := strconv.Atoi(match[2])
		parts = append(parts, Part{path, block, job})
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Block, b.Block))
	})
	return parts, nil
}

// escape keeps a directory's name from being taken for a pattern.
func escape(dir string) string { return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(dir, `\$0`) }

// IsDataset tells directories that hold a dataset from others.
func IsDataset(dir string) bool {
	blocks, _ := filepath.Glob(filepath.Join(escape(dir), "rank_block=*", "part-*"))
	return len(blocks) > 0
}

// OpenDataset gives the profiles of a dataset. The files are opened as they are
// come to; a few are read ahead.
func OpenDataset(dir string) (profile.Source, error) {
	parts, err := Parts(dir)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("read dataset %s: it has no part rank_block=0/part-0", dir)
	}
	var files Files
	for _, p := range parts {
		files = append(files, p.Path)
	}
	_, err = files.Open(0) // the head of one stands for all
	return files, err
}

// Files is a Source of the profiles in files, one file after the other.
type Files []string

// Open opens one of the files.
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

// ahead is how many profiles of each file are read before they are asked for.
const ahead = 128

// Each implements profile.Source. It reads several files at a time.
func (fs Files) Each(f func(*profile.Profile) error) error {
	return profile.ReadAhead(len(fs), ahead, func(i int, give func(*profile.Profile) error) error {
		src, err := fs.Open(i)
		if err != nil {
			return err
		}
		return src.Each(give)
	}, func(_ int, p *profile.Profile) error { return f(p) })
}
