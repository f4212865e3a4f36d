package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Left is a recording that is not in the run directory yet, or whose process is
// still running. It may also be a spool with all its recordings.
type Left struct{ Host, Path string }

// String returns the form used in run.json, "host:path".
func (l Left) String() string { return l.Host + ":" + l.Path }

func parseLeft(text string) (Left, bool) {
	host, path, _ := strings.Cut(text, ":")
	l := Left{host, path}
	return l, plainHost(host) && filepath.IsAbs(path) && filepath.Clean(path) == path
}

// plainHost reports whether name can be a host name. It must not be an option
// or a command of the program that connects to the host.
func plainHost(name string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._-", r)
	}
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, odd)
}

// noteSuffix ends the name of a note: a symbolic link to "host:path". The
// library leaves it in the recordings directory if it had to put a recording
// into $TMPDIR. The note is removed when the recording is collected.
const noteSuffix = ".rec.at"

// Notes returns the recordings that notes refer to, sorted by the notes' names.
func (d Dir) Notes() []Left {
	files, _ := filepath.Glob(filepath.Join(Escape(d.Recordings()), "*"+noteSuffix)) // the pattern is well formed
	var left []Left
	for _, file := range files {
		text, err := os.Readlink(file)
		l, ok := parseLeft(text)
		if err == nil && ok && filepath.Base(l.Path)+".at" == filepath.Base(file) {
			left = append(left, l)
		}
	}
	return left
}

// Uncollected returns what has not been collected yet: recordings in the spool,
// according to run.json, and recordings in other directories, according to the
// notes.
func (d Dir) Uncollected() []Left {
	info, _ := d.ReadInfo() // if it cannot be read, there are still the notes
	return append(info.LeftInSpool(), d.Notes()...)
}

// LeftInSpool returns the recordings that are still in the spool, according to
// run.json.
func (i *Info) LeftInSpool() []Left {
	var left []Left
	for _, text := range i.Uncollected {
		if l, ok := parseLeft(text); ok && i.Spool != "" && (l.Path == i.Spool || filepath.Dir(l.Path) == i.Spool) {
			left = append(left, l)
		}
	}
	return left
}

// SetUncollected sets info.Uncollected to the given paths in the spool and the
// recordings that notes refer to.
func (d Dir) SetUncollected(info *Info, spooled []string) {
	info.Uncollected = nil
	for _, path := range spooled {
		info.Uncollected = append(info.Uncollected, Left{info.Host, path}.String())
	}
	for _, l := range d.Notes() {
		info.Uncollected = append(info.Uncollected, l.String())
	}
}

// SetLost sets info.Lost to the recordings that were seen on this node but are
// neither collected nor still to be collected. seen holds file names.
func (d Dir) SetLost(info *Info, seen []string) {
	kept := d.RecordedNames()
	for _, l := range d.Notes() {
		kept[filepath.Base(l.Path)] = true
	}
	info.Lost = nil
	for _, name := range seen {
		if !kept[name] && (info.spool() == "" || !Exists(filepath.Join(info.Spool, name))) {
			info.Lost = append(info.Lost, name)
		}
	}
}

// RecordedNames returns the file names of all recordings of the run.
func (d Dir) RecordedNames() map[string]bool {
	files, _ := d.RecordingFiles() // if the directory cannot be read, it has none
	names := make(map[string]bool, len(files))
	for _, file := range files {
		names[filepath.Base(file)] = true
	}
	return names
}

// Hosts returns the nodes with something left, without the node named host.
func Hosts(left []Left, host string) []string {
	var hosts []string
	for _, l := range left {
		if l.Host != host && !slices.Contains(hosts, l.Host) {
			hosts = append(hosts, l.Host)
		}
	}
	return hosts
}

// CollectCommand returns the command that collects the recordings of the run.
func (d Dir) CollectCommand() string { return "mpitrace collect " + text.ShellQuote(string(d)) }

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
		lines = append(lines, "to collect what is left: "+d.CollectCommand())
	}
	return lines
}

// UncollectedText warns of recordings outside the run directory, which may be
// lost there. Those in the spool of this node are read where they are.
func (d Dir) UncollectedText() []string {
	spool, n := d.spooled()
	if n == 0 {
		return d.LeftText(d.Uncollected())
	}
	return []string{fmt.Sprintf("%s only in %s, where a restart of the node may delete them: the run is not over, or `mpitrace run` was killed; to collect them after the run: %s",
		text.CountOf(n, "recording"), text.Line(spool), d.CollectCommand())}
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

// ElsewhereText explains where the recordings of a run are, if its directory has none. It returns
// "" if no process is known to have made one.
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
			return fmt.Sprintf("its recordings are still at %s; to collect them: %s", l, d.CollectCommand())
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
