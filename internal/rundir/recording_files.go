package rundir

import (
	"os"
	"path/filepath"
	"slices"
)

// RecordingFiles returns the paths of the recordings, sorted, those in
// containers included, followed by those that are still in the spool. Of
// several recordings of one process it returns that in the spool, otherwise that
// in a container. A container that cannot be read is in the list itself, so that
// whoever reads the list reports it.
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

// Spooled returns the spool that run.json names, and the number of recordings
// in it. The spool has recordings while the job runs, or if `mpitrace run` was
// killed or could not collect them. It must be a spool of this user on this
// node, otherwise Spooled returns "" and 0.
func (d Dir) Spooled() (spool string, n int) {
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

// spool returns the spool that run.json names if it is one of this user; "" if
// it is not. run.json may belong to somebody who wants other files to be read.
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

// recorded reports whether the directory is that of a recorded run, not only one of tables.
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
