package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/internal/text"
)

// collectCommand returns the command that collects the recordings of the run.
func (d Dir) collectCommand() string { return "mpitrace collect " + text.ShellQuote(string(d)) }

// LeftText lists recordings that are not in the run directory yet, and the
// command that collects them.
func (d Dir) LeftText(left []Left) (lines []string) {
	const most = 10
	writers := sync.OnceValue(RecordingWriters)
	for _, l := range left[:min(len(left), most)] {
		why := ""
		if _, is := writers()[filepath.Base(l.Path)]; is {
			why = ": its process is still running"
		}
		lines = append(lines, "not collected: "+text.Line(l.String())+why)
	}
	if len(left) > most {
		lines = append(lines, fmt.Sprintf("… and %d more, which run.json lists", len(left)-most))
	}
	if len(left) > 0 {
		lines = append(lines, "to collect what is left: "+d.collectCommand())
	}
	return lines
}

// UncollectedText warns of recordings outside the run directory, which may be
// lost there. Those in the spool of this node are read where they are.
func (d Dir) UncollectedText() []string {
	spool, n := d.Spooled()
	if n == 0 {
		return d.LeftText(d.Uncollected())
	}
	return []string{fmt.Sprintf("%s only in %s, where a restart of the node may delete them: the run is not over, or `mpitrace run` was killed; to collect them after the run: %s",
		text.CountOf(n, "recording"), text.Line(spool), d.collectCommand())}
}

// LostText reports recordings that were deleted before they were collected. It
// returns "" if none were.
func (d Dir) LostText(info *Info) string {
	if len(info.Lost) == 0 {
		return ""
	}
	place, hint := d.Recordings(), ""
	if info.Spool != "" {
		place, hint = info.Spool, " (with --spool run, processes record in the run directory)"
	}
	return fmt.Sprintf("the recordings of %s are gone: they were deleted from %s before mpitrace collected them%s",
		text.CountOf(len(info.Lost), "process"), place, hint)
}

// ElsewhereText explains where the recordings of a run are that has none in its
// directory. It returns "" if no process is known to have made one.
func (d Dir) ElsewhereText(info *Info) string {
	if lost := d.LostText(info); lost != "" {
		return lost
	}
	host, _ := os.Hostname()
	for _, l := range d.Uncollected() {
		here := l.Host == host
		if _, err := os.Lstat(l.Path); here && os.IsNotExist(err) {
			return fmt.Sprintf("its recordings were in %s, which is gone", l)
		}
		if here && (l.Path == info.Spool || filepath.Dir(l.Path) == info.Spool) && info.spool() == "" {
			return fmt.Sprintf("its recordings are still in %s, which is not a spool of this user: only the owner of the run can read or collect them", l)
		}
		if !here || l.Path != info.Spool { // the spool of this node was already read
			return fmt.Sprintf("its recordings are still at %s; to collect them: %s", l, d.collectCommand())
		}
	}
	recorded := 0
	for _, job := range info.Jobs {
		recorded += job.Recorded
	}
	if recorded > 0 {
		return fmt.Sprintf("run.json names %s, which somebody has deleted since", text.CountOf(recorded, "recording"))
	}
	return ""
}

// whyEmpty returns an error that explains why a directory has no job.
func (d Dir) whyEmpty() error {
	path := string(d)
	if wrong := d.WrongMPI(); len(wrong) > 0 {
		return inputErrorf("%s holds no recording; %s", path, wrong[0])
	}
	parent := filepath.Dir(filepath.Clean(path))
	if filepath.Base(path) == "." { // the absolute path has the names of both directories
		if abs, err := filepath.Abs(path); err == nil {
			path, parent = abs, filepath.Dir(abs)
		}
	}
	if files, _ := Dir(parent).RecordingFiles(); len(files) > 0 && filepath.Clean(path) == Dir(parent).Recordings() {
		return inputErrorf("that is the recordings of %s: give %s", parent, parent)
	}
	info, _ := Dir(path).ReadInfo() // empty on an error; then nothing is known
	why := Dir(path).ElsewhereText(info)
	if nested := Dir(path).NestedRuns(); why == "" && len(nested) > 0 {
		why = "another `mpitrace run` in the command recorded into " + strings.Join(nested, ", ")
	}
	return inputErrorf("%s holds no recording: %s", path, cmp.Or(why, "no process called MPI_Init, or it is no run directory"))
}
