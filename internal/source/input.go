package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// open finds out what the paths are, and opens it.
func (r *Run) open(paths []string, o *Options) error {
	for _, path := range paths {
		if path == "-" && o.Stdin != nil {
			if len(paths) > 1 {
				return rundir.InputErrorf("- is standard input: give it alone, since runs are not mixed")
			}
			return r.openStream(o.Stdin, "standard input", o)
		}
		info, err := os.Stat(recording.FileOf(path))
		switch {
		case errors.Is(err, os.ErrNotExist) && len(paths) == 1 && o.Traffic:
			return r.openPrefix(path)
		case err != nil:
			return rundir.InputErrorf("%w", err)
		case o.RunOnly && !info.IsDir():
			return rundir.InputErrorf("%s is a file, not a run directory: mpitrace report and mpitrace export read files", path)
		case info.Mode().IsRegular():
		case len(paths) > 1 && info.IsDir():
			return rundir.InputErrorf("%s is a directory: give it alone, since runs are not mixed", path)
		case len(paths) > 1:
			return rundir.InputErrorf("%s is not a regular file: give it alone", path)
		case info.IsDir() && (o.RunOnly || !formats.IsDataset(path)):
			return r.openDirectory(o)
		case info.IsDir():
			parts, err := formats.OpenDataset(path)
			if err != nil {
				return err
			}
			r.base = filepath.Dir(filepath.Clean(path)) // inside the directory, matrices would look like parts
			return r.openTables(parts, o)
		case o.Traffic:
			return r.openPipe(path, o)
		}
	}
	r.several = len(paths) > 1
	return r.openFiles(paths, false, o)
}

// openFiles opens files of one format: all those of a folder, or those that were named.
func (r *Run) openFiles(paths []string, folder bool, o *Options) error {
	format, err := commonFormat(paths)
	if err != nil {
		return err
	}
	r.base = filepath.Dir(paths[0])
	files := formats.Files(paths)
	switch {
	case format.Name == "prof" && !o.Traffic:
		return rundir.InputErrorf("read %s: it holds traffic between ranks only: mpitrace matrix makes matrices of it", paths[0])
	case format.Name == "prof" && folder:
		r.flows.phases = phasesOf(paths)
		return nil
	case format.Name == "prof":
		prefix, err := profPrefix(paths)
		r.flows.phases = []*phase{{prefix, paths}}
		return err
	case format.Name == "recording":
		var recordings []string
		for _, path := range paths {
			expanded, err := recording.Expand(path)
			if err != nil {
				return err
			}
			recordings = append(recordings, expanded...)
		}
		if r.openRecordings(recordings, o); len(r.Jobs) == 0 {
			return errors.Join(r.Damage()...)
		}
		return nil
	case len(paths) > 1 && !o.Traffic:
		src, err := inOrder(files)
		if err != nil {
			return err
		}
		return r.openTables(src, o)
	}
	src, err := files.Checked()
	if err != nil {
		return err
	}
	return r.openTables(src, o)
}

// openTables opens tables. The rows of tables contain the names of call sites.
func (r *Run) openTables(src profile.Source, o *Options) error {
	if o.Tables {
		r.tables = withProgress(o.Log, "exporting", src)
		return nil
	}
	if o.Traffic {
		o.Depth = Heads
	}
	return r.split(src, o.Room)
}

// commonFormat returns the format of all files. There must be at least one.
func commonFormat(paths []string) (*formats.Format, error) {
	var first *formats.Format
	for _, path := range paths {
		format, err := formats.Detect(path)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = format
		}
		if format != first {
			return nil, rundir.InputErrorf("%s is of format %s and %s of format %s: give files of one, since both may hold the same ranks",
				paths[0], first.Name, path, format.Name)
		}
	}
	return first, nil
}

// inOrder sorts files by the rank of the first process in each. A shell expands
// `*.arrow` to ranks 0, 1, 10, 2.
func inOrder(files formats.Files) (profile.Source, error) {
	type start struct {
		path string
		run  string
		job  int
		rank int
	}
	jobs := map[string]int{}
	var starts []start
	for _, path := range files {
		s := start{path: path}
		found := errors.New("found")
		err := formats.Files{path}.Each(func(p *profile.Profile) error {
			s.run, s.rank = p.Run, p.Rank
			return found
		})
		if err != nil && err != found {
			return nil, err
		}
		if _, ok := jobs[s.run]; !ok && err == found {
			jobs[s.run] = len(jobs)
		}
		s.job = jobs[s.run]
		starts = append(starts, s)
	}
	slices.SortStableFunc(starts, func(a, b start) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.rank, b.rank))
	})
	out := make(formats.Files, len(starts))
	for i, s := range starts {
		if i > 0 && s.run == starts[i-1].run && s.rank == starts[i-1].rank && s.rank >= 0 {
			return nil, fmt.Errorf("rank %d is in both %s and %s", s.rank, starts[i-1].path, s.path)
		}
		out[i] = s.path
	}
	return out, nil
}

// openDirectory opens a run directory.
func (r *Run) openDirectory(o *Options) error {
	d := rundir.Dir(r.Path)
	r.Dir, r.base = d, filepath.Join(r.Path, "matrix")
	files, err := d.RecordingFiles()
	if err != nil {
		return err
	}
	if o.Known == nil && o.Depth != Heads {
		o.Known = namesOf(d)
	}
	if len(files) > 0 {
		if o.Depth == Whole {
			r.State = d.State(files)
		}
		describe(d, r)
		r.openRecordings(files, o)
		return nil
	}
	if !rundir.Exists(d.Profile()) {
		return r.openFolder(o)
	}
	src, err := openTables(d.Profile())
	if err != nil {
		return err
	}
	if o.Tables {
		o.Depth = Heads // the rows have the names of call sites
	}
	return r.split(src, o.Room)
}

// openFolder opens the files in a directory that is not a run directory, such as RUN/prof or
// RUN/arrow. If the directory has several tables of a run, it opens the table of profiles.
func (r *Run) openFolder(o *Options) error {
	entries, err := os.ReadDir(r.Path)
	if err != nil || o.RunOnly || rundir.Exists(r.Dir.Info()) || r.Dir.AreRecordings() {
		return err
	}
	var files []string
	for _, e := range entries {
		if path := filepath.Join(r.Path, e.Name()); !e.IsDir() && holdsProfiles(path) {
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	r.Dir = ""
	return r.openFiles(files, true, o)
}

// holdsProfiles reports whether a file has the name of a file with profiles, or with the traffic of
// processes.
func holdsProfiles(path string) bool {
	name, extension := filepath.Base(path), filepath.Ext(path)
	if of, isArrow := strings.CutSuffix(name, ".arrow"); isArrow {
		return !strings.HasPrefix(name, "trace.") && of != "waits" && (of == table.ProfileFile || !slices.Contains(table.MergedFiles, of))
	}
	return extension == recording.ContainerSuffix ||
		slices.ContainsFunc(formats.Table, func(f formats.Format) bool { return f.Read != nil && f.Extension == extension })
}

// openTables opens the merged table of profiles: a file, or the directory of its parts.
func openTables(path string) (profile.Source, error) {
	if formats.IsDataset(path) {
		return formats.OpenDataset(path)
	}
	return formats.Files{path}.Open(0)
}

// split divides the profiles of a source into jobs, and keeps as many profiles as there is room
// for.
func (r *Run) split(src profile.Source, room *Room) error {
	if of, ok := src.(interface{ Lacks() string }); ok {
		r.lacks = of.Lacks()
	}
	all := &fileSource{src: src}
	var members []member
	err := src.Each(func(p *profile.Profile) error {
		r.note(p)
		r.warnUntold(p)
		r.damaged.Add(damagesOf(p)...)
		from := origin(all)
		if room.take(p) {
			from = keptProfile{p}
		}
		members = append(members, r.memberOf(p, from, "", len(members)))
		return nil
	})
	r.splitJobs(members)
	return err
}

// symbolize finds the names of the run's call sites. Names in known are used unchanged,
// because programs may have been changed or removed since.
func (r *Run) symbolize(known profile.Symbols) {
	if r.once != nil {
		r.symbolizeSome(known)
		return
	}
	r.Symbols, r.unnamed = r.sites.Symbols(known)
	r.Wraps.Find(r.Symbols)
}

// describe adds to a run what its directory tells about processes besides their
// recordings.
func describe(d rundir.Dir, r *Run) {
	r.Home = &home{dir: d}
	info, _ := d.ReadInfo() // if it cannot be read, it is not known how processes ended
	r.Exits = info.Exits()
	r.ended = info.ExitStatus != nil || r.State != "" && d.ReadMerged().Recordings == r.State
	if rundir.Exists(d.Physical()) {
		r.PhysicalDir = d.Physical()
	}
}

// namesOf returns the names of call sites in the containers and, if one has none, those in the
// merged file.
func namesOf(d rundir.Dir) profile.Symbols {
	known, all := profile.Symbols{}, true
	for _, path := range d.Containers() {
		_ = recording.WithContainer(path, func(c *recording.Container) error { // damage is reported where recordings are read
			all = all && len(c.Symbols()) > 0
			maps.Copy(known, c.Symbols())
			return nil
		})
	}
	if len(known) == 0 || !all {
		for place, name := range formats.Names(d.Profile()) {
			if _, named := known[place]; !named {
				known[place] = name
			}
		}
	}
	return known
}
