package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// Format is a format in which each rank can be written.
type Format string

const (
	Prof  Format = "prof"
	Arrow Format = "arrow"
)

// ParseFormats parses a list of format names.
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

// Stale reports whether the merged files are missing or older than a recording.
func (d Dir) Stale() bool {
	files, err := d.RecordingFiles()
	if err != nil || len(files) == 0 {
		return false
	}
	if d.Untraced() {
		return true
	}
	for i, file := range files {
		files[i] = recording.FileOf(file)
	}
	files = append(slices.Compact(files), d.physicalFiles()...)
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

// Merge writes the merged files of a run, the files of each rank in the given
// formats, and run.json with the jobs. If traced processes of a job ran on
// several hosts, estimate is called to correct their clocks.
func (d Dir) Merge(run *Run, formats []Format, info *Info, estimate ClockEstimator) error {
	info.Jobs = nil
	for _, j := range run.Jobs {
		info.Jobs = append(info.Jobs, j.info())
	}
	info.WrongMPI = d.WrongMPI()
	for _, f := range formats {
		if err := d.writeRanks(run, f); err != nil {
			return err
		}
	}
	err := errors.Join(d.writeTables(run), d.writeTraces(run, estimate))
	info.UnfinishedTraces = run.Traced.Left
	if run.Traced.Processes > 0 {
		info.TracedEvents = d.countTraced()
	}
	return errors.Join(err, d.WriteInfo(info))
}

// writeTables writes the tables of the run. It writes the readings of variables
// only if there are any. If the recordings were removed, a damaged pvars.arrow
// is therefore left as it is.
func (d Dir) writeTables(run *Run) error {
	paths := []string{d.Profile(), d.Comms(), d.Ranks()}
	if run.readings {
		paths = append(paths, d.Pvars())
	}
	return atomicfile.WriteAll(paths, func(w []io.Writer) error {
		var pvars io.Writer
		if run.readings {
			pvars = w[3]
		}
		return table.WriteTables(w[0], w[1], w[2], pvars, run)
	})
}

// writeRanks writes a file for each rank.
func (d Dir) writeRanks(run *Run, f Format) error {
	dir := filepath.Join(string(d), string(f))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, j := range run.Jobs {
		err := j.Each(func(p *profile.Profile) error {
			if p.Rank < 0 {
				return nil // ended before it had a rank, and so before it sent anything
			}
			path := filepath.Join(dir, fmt.Sprintf("%s.%d.%s", j.Stem, p.Rank, f))
			return atomicfile.Write(path, func(w io.Writer) error { return writeRank(w, p, f) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeRank(w io.Writer, p *profile.Profile, f Format) error {
	if f == Prof {
		return prof.Write(w, p.Traffic())
	}
	return table.WriteProfile(w, profile.List{p})
}
