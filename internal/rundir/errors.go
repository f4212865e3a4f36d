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
	parent := filepath.Dir(filepath.Clean(path))
	if filepath.Base(path) == "." { // the absolute path has the names of both directories
		if abs, err := filepath.Abs(path); err == nil {
			path, parent = abs, filepath.Dir(abs)
		}
	}
	if files, _ := Dir(parent).RecordingFiles(); len(files) > 0 && filepath.Clean(path) == Dir(parent).Recordings() {
		return InputErrorf("that is the recordings of %s: give %s", parent, parent)
	}
	info, _ := Dir(path).ReadInfo() // empty on an error; then nothing is known
	why := Dir(path).ElsewhereText(info)
	if nested := Dir(path).NestedRuns(); why == "" && len(nested) > 0 {
		why = "another `mpitrace run` in the command recorded into " + strings.Join(nested, ", ")
	}
	return InputErrorf("%s holds no recording: %s", path, cmp.Or(why, "no process called MPI_Init, or it is no run directory"))
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
	if slices.ContainsFunc(info.Settings, func(s Setting) bool { return s.Name == "trace" }) {
		return InputErrorf("%s has no trace although --trace was set; mpitrace report shows the reason", d)
	}
	return InputErrorf("%s has no trace: no process was traced; use mpitrace run --trace", d)
}

// InputError means that the given paths cannot be used, or not together.
type InputError struct{ error }

func (e *InputError) Unwrap() error { return e.error }

func InputErrorf(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }
