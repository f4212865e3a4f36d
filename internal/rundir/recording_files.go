package rundir

import (
	"os"
	"path/filepath"
	"slices"
)

// RecordingFiles returns the paths of the recordings, sorted and including those in containers,
// followed by those that are still in the spool. If a process has several recordings, it returns
// the one in the spool or else the one in a container. A container that cannot be read is in the
// list itself, so that whoever reads the list reports it.
func (d Dir) RecordingFiles() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(Escape(d.Recordings()), "*"+RecordingSuffix))
	if err != nil {
		return nil, err
	}
	spooled, contained := d.SpooledFiles(), Contained(d.Recordings())
	if len(spooled)+len(contained) == 0 {
		return files, nil
	}
	files = append(without(files, contained), contained...)
	slices.Sort(files)
	return append(without(files, spooled), spooled...), nil
}

// without returns the files whose names differ from the names of all newer files.
func without(files, newer []string) []string {
	names := make(map[string]bool, len(newer))
	for _, file := range newer {
		names[filepath.Base(file)] = true
	}
	return slices.DeleteFunc(files, func(file string) bool { return names[filepath.Base(file)] })
}

// spooled returns the spool that run.json names, and the number of recordings
// in it. The spool has recordings while the job runs, or if `mpitrace run` was
// killed or could not collect them. It must be a spool of this user on this
// node, otherwise spooled returns "" and 0.
func (d Dir) spooled() (spool string, n int) {
	files := d.SpooledFiles()
	if len(files) == 0 {
		return "", 0
	}
	return filepath.Dir(files[0]), len(files)
}

func (d Dir) SpooledFiles() []string {
	info, err := d.ReadInfo()
	if err != nil || info.spool() == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(Escape(info.spool()), "*"+RecordingSuffix)) // the pattern is well formed
	return files
}

// spool returns the spool that run.json names, or "" if it does not belong to this user: whoever
// wrote run.json may want other files to be read.
func (i *Info) spool() string {
	if i.Spool == "" {
		return ""
	}
	if _, err := OpenSpool(i.Spool); err != nil {
		return ""
	}
	return i.Spool
}

// Used reports whether the directory contains a run.
func (d Dir) Used() bool { return d.recorded() || Exists(d.Profile()) }

// recorded reports whether the directory contains a recorded run, and not only tables.
func (d Dir) recorded() bool {
	recordings, err := d.RecordingFiles()
	return err != nil || len(recordings) > 0 || Exists(d.Info())
}

// RunsIn returns the recorded runs in a directory.
func RunsIn(dir string) (runs []Dir, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() && Dir(path).recorded() {
			runs = append(runs, Dir(path))
		}
	}
	return runs, err
}
