package settings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// EnvSite names the site file, for software that is not installed by the system:
// a module file sets it.
const (
	EnvSite  = "MPITRACE_SITE_CONFIG"
	sitePath = "/etc/mpitrace.conf"
)

// maxFile is more than any settings take: what is longer is another file.
const maxFile = 1 << 20

// File is a file of settings.
type File struct {
	Source Source
	Path   string // "" if there is no place for it
	Found  bool
	lines  map[string]line // by setting
}

// A line sets a value; for a list it is the first of them.
type line struct {
	number int
	value  string
}

// Read reads the user file and the site file, the stronger first. What is not
// there has no settings.
func Read() ([]*File, error) {
	files := []*File{{Source: UserFile, Path: userPath()}, {Source: SiteFile, Path: siteFile()}}
	for _, f := range files {
		if err := f.read(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func userPath() string {
	dir, err := os.UserConfigDir() // by $XDG_CONFIG_HOME, else $HOME
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mpitrace", "config")
}

func siteFile() string {
	if path, set := os.LookupEnv(EnvSite); set {
		return path
	}
	return sitePath
}

func (f *File) read() error {
	if f.Path == "" {
		return nil
	}
	in, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // as of HOME=/dev/null
		return nil
	}
	if err != nil {
		return fmt.Errorf("read settings: %w (another place: set XDG_CONFIG_HOME, %s)", err, EnvSite)
	}
	defer in.Close()
	f.Found = true
	return f.parse(io.LimitReader(in, maxFile+1))
}

// parse reads lines of the form name = value. A line that begins with # is a
// comment; so is what follows a # with a blank before it.
func (f *File) parse(in io.Reader) error {
	f.lines = map[string]line{}
	size, number := 0, 0
	for lines := bufio.NewScanner(in); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return fmt.Errorf("%s:%d: %w", f.Path, number+1, err)
			}
			return nil
		}
		number++
		if size += len(lines.Bytes()) + 1; size > maxFile {
			return fmt.Errorf("%s: more than %d bytes: that is no file of settings", f.Path, maxFile)
		}
		if err := f.take(number, withoutComment(lines.Text())); err != nil {
			return fmt.Errorf("%s:%d: %w", f.Path, number, err)
		}
	}
}

func withoutComment(text string) string {
	for i := range len(text) {
		if text[i] == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t') {
			text = text[:i]
			break
		}
	}
	return strings.TrimSpace(text)
}

// take takes one line. A list may have several, which add up.
func (f *File) take(number int, text string) error {
	if text == "" {
		return nil
	}
	name, value, found := strings.Cut(text, "=")
	if !found {
		return fmt.Errorf("%q: a line is name = value", text)
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	s := Named(name)
	if s == nil {
		return Unknown(name)
	}
	canonical, err := s.Parse(value)
	if err != nil {
		return fmt.Errorf("%s %q: %w", name, value, err)
	}
	before, again := f.lines[name]
	switch {
	case !again:
		f.lines[name] = line{number, canonical}
	case s.IsList():
		before.value += s.Separator + canonical
		f.lines[name] = before
	default:
		return fmt.Errorf("%s is set in line %d already", name, before.number)
	}
	return nil
}

// Unknown is the error of a name that is no setting's.
func Unknown(name string) error {
	if near := Nearest(name); near != "" {
		return fmt.Errorf("there is no setting %q: did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no setting %q: `mpitrace config` lists them", name)
}

// given is what the file says of a setting.
func (f *File) given(s *Setting) (Value, bool) {
	l, ok := f.lines[s.Name]
	return Value{Setting: s, Text: l.value, Source: f.Source, SetBy: fmt.Sprintf("%s:%d", f.Path, l.number)}, ok
}
