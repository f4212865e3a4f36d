package rundir

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
)

// WhyEmpty returns an error that explains why a directory has no job.
func (d Dir) WhyEmpty() error {
	path := string(d)
	if wrong := d.WrongMPI(); len(wrong) > 0 {
		return InputErrorf("%s holds no recording; %s", path, wrong[0])
	}
	switch run, name := d.parent(); {
	case d.AreRecordings():
		return InputErrorf("that is the recordings of %s: give %s", run, run)
	case run.Used() && slices.Contains([]string{"prof", "arrow", "physical", "lib"}, name):
		return InputErrorf("%s is a part of the run %s: give %s", path, run, run)
	}
	if runs, _ := RunsIn(path); len(runs) > 0 {
		return InputErrorf("%s is no run, but a directory of runs, such as %s: give one; mpitrace list and mpitrace history show all", path, runs[0])
	}
	info, _ := d.ReadInfo() // empty on an error; then nothing is known
	why := d.ElsewhereText(info)
	if nested := d.NestedRuns(); why == "" && len(nested) > 0 {
		why = "another `mpitrace run` in the command recorded into " + strings.Join(nested, ", ")
	}
	return InputErrorf("%s holds no recording: %s", path, cmp.Or(why, "no process called MPI_Init, or it is no run directory"))
}

// AreRecordings reports whether the directory is that of a run's recordings.
func (d Dir) AreRecordings() bool {
	run, name := d.parent()
	return name == filepath.Base(run.Recordings()) && run.Used()
}

// parent returns the directory that holds this one, and the name of this one in it.
func (d Dir) parent() (above Dir, name string) {
	path := filepath.Clean(string(d))
	if path == "." { // the absolute path has the names of both
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
	}
	return Dir(filepath.Dir(path)), filepath.Base(path)
}

// WhyUntraced returns an error that explains why a run has no trace.
func (d Dir) WhyUntraced() error {
	switch {
	case !d.Used():
		return d.WhyEmpty()
	case len(d.TracedRecordings()) > 0:
		return fmt.Errorf("%s has no trace: its events could not be written or read; mpitrace report shows the reason", d)
	case slices.ContainsFunc(d.SpooledFiles(), func(file string) bool { return len(recording.EventFiles(file)) > 0 }):
		return InputErrorf("%s has no trace yet: it is written when the run ends; if mpitrace run was killed, run mpitrace collect", d)
	}
	info, _ := d.ReadInfo() // empty if it cannot be read
	if slices.ContainsFunc(info.Settings, func(s ChangedSetting) bool { return s.Name == "trace" }) {
		return InputErrorf("%s has no trace although --trace was set; mpitrace report shows the reason", d)
	}
	return InputErrorf("%s has no trace: no process was traced; use mpitrace run --trace", d)
}
