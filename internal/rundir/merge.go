package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/profile"
)

// Format names a kind of file that each rank can be written as.
type Format string

const (
	Prof  Format = "prof"
	Arrow Format = "arrow"
)

// ParseFormats checks a list of format names.
func ParseFormats(names []string) ([]Format, error) {
	var out []Format
	for _, name := range names {
		f := Format(name)
		if f != Prof && f != Arrow {
			return nil, fmt.Errorf("unknown format %q: the formats are %s and %s", name, Prof, Arrow)
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out, nil
}

// Load reads all that was recorded, as jobs: from the recordings or, where
// these were removed, from the merged file. A recording that cannot be read, or
// that no longer says which job it is of, is left out and reported in damaged;
// so is one of which parts are missing, but it is used.
func (d Dir) Load() (jobs []*aggregate.Job, damaged []error, err error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, nil, err
	} else if !info.IsDir() {
		return nil, nil, fmt.Errorf("%s is not a run directory", d)
	}
	files, err := d.RecordingFiles()
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		if !exists(d.Profile()) {
			return nil, nil, nil
		}
		ps, err := arrowfile.Read(d.Profile())
		return Jobs(ps), nil, err
	}
	ps, damaged := readAll(files)
	return Jobs(ps), damaged, nil
}

// Symbolize names the call sites of the jobs. What a merged file names is taken
// from there, as programs may have changed or gone since. Each error is of one
// file whose call sites keep their addresses.
func (d Dir) Symbolize(jobs []*aggregate.Job) []error {
	var all []*profile.Profile
	for _, j := range jobs {
		all = append(all, j.Profiles...)
	}
	known, _ := arrowfile.ReadSymbols(d.Profile()) // there may be none yet
	return symbolize.Profiles(all, known)
}

// readAll reads recordings, several at a time.
func readAll(files []string) ([]*profile.Profile, []error) {
	ps, errs := make([]*profile.Profile, len(files)), make([]error, len(files))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		g.Go(func() error {
			ps[i], errs[i] = recording.ReadFile(file)
			return nil
		})
	}
	g.Wait()
	var good []*profile.Profile
	for i, p := range ps {
		if errs[i] != nil {
			continue
		}
		if len(p.Problems) > 0 {
			errs[i] = fmt.Errorf("%s is damaged: %s", files[i], strings.Join(p.Problems, "; "))
		}
		if p.Run != "" || len(p.Problems) == 0 {
			good = append(good, p)
		}
	}
	return good, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// Stale tells whether the merged files are missing, or older than a recording.
func (d Dir) Stale() bool {
	files, err := d.RecordingFiles()
	if err != nil || len(files) == 0 {
		return false
	}
	for _, merged := range []string{d.Profile(), d.Comms(), d.Ranks(), d.Info()} {
		info, err := os.Stat(merged)
		if err != nil {
			return true
		}
		for _, file := range files {
			if rec, err := os.Stat(file); err == nil && rec.ModTime().After(info.ModTime()) {
				return true
			}
		}
	}
	return false
}

// Merge writes the merged files of the jobs, each rank's own files in the
// formats asked for, and the jobs into run.json.
func (d Dir) Merge(jobs []*aggregate.Job, formats []Format, info *Info) error {
	var all profile.List
	info.Jobs = nil
	stems := aggregate.Stems(jobs)
	for i, j := range jobs {
		all = append(all, j.Profiles...)
		info.Jobs = append(info.Jobs, JobInfo{j.Run, stems[i], j.Size(), len(j.Profiles), j.Start()})
	}
	for _, f := range formats {
		if err := d.writeRanks(jobs, f); err != nil {
			return err
		}
	}
	return errors.Join(
		writeFile(d.Profile(), func(w io.Writer) error { return arrowfile.WriteProfile(w, all) }),
		writeFile(d.Comms(), func(w io.Writer) error { return arrowfile.WriteComms(w, all) }),
		writeFile(d.Ranks(), func(w io.Writer) error { return arrowfile.WriteRanks(w, all) }),
		d.WriteInfo(info),
	)
}

// writeRanks writes a file for each rank, several at a time.
func (d Dir) writeRanks(jobs []*aggregate.Job, f Format) error {
	dir := filepath.Join(string(d), string(f))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	stems := aggregate.Stems(jobs)
	for i, j := range jobs {
		for _, p := range j.Profiles {
			if p.Rank < 0 {
				continue // ended before it had a rank, and so before it sent anything
			}
			path := filepath.Join(dir, fmt.Sprintf("%s.%d.%s", stems[i], p.Rank, f))
			g.Go(func() error {
				return writeFile(path, func(w io.Writer) error { return writeRank(w, p, f) })
			})
		}
	}
	return g.Wait()
}

func writeRank(w io.Writer, p *profile.Profile, f Format) error {
	if f == Prof {
		return prof.Write(w, p.Traffic())
	}
	return arrowfile.WriteProfile(w, profile.List{p})
}
