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

// EnvSite names the site file if the software is not installed in the system's
// directories. A module file sets it.
const (
	EnvSite  = "MPITRACE_SITE_CONFIG"
	sitePath = "/etc/mpitrace.conf"
)

// maxFile is the largest size of a settings file.
const maxFile = 1 << 20

// SettingsFile is a file of settings.
type SettingsFile struct {
	Source Origin                  `json:"source"`
	Path   string                  `json:"path"` // "" if there is no directory for it
	Found  bool                    `json:"found"`
	lines  map[string]linePosition // by name of the setting
}

// linePosition is the place of a value in the file; for a list, that of its first
// element.
type linePosition struct {
	number int
	value  string
}

// Read reads the user file and the site file, in this order, which is that of
// precedence. A file that does not exist has no settings.
func Read() ([]*SettingsFile, error) {
	files := []*SettingsFile{{Source: UserFile, Path: userPath()}, {Source: SiteFile, Path: siteFile()}}
	for _, f := range files {
		if err := f.read(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func userPath() string {
	dir, err := os.UserConfigDir() // from $XDG_CONFIG_HOME, otherwise from $HOME
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

func (f *SettingsFile) read() error {
	if f.Path == "" {
		return nil
	}
	in, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // for example with HOME=/dev/null
		return nil
	}
	if err != nil {
		return fmt.Errorf("read settings: %w (another place: set XDG_CONFIG_HOME, %s)", err, EnvSite)
	}
	defer in.Close()
	f.Found = true
	return f.parse(io.LimitReader(in, maxFile+1))
}

// parse reads lines of the form name = value. A comment starts with # at the
// start of a line or after a blank.
func (f *SettingsFile) parse(in io.Reader) error {
	f.lines = map[string]linePosition{}
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
			return fmt.Errorf("%s: more than %d bytes: that is not a file of settings", f.Path, maxFile)
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

// take parses one line. The lines of a list add up.
func (f *SettingsFile) take(number int, text string) error {
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
		f.lines[name] = linePosition{number, canonical}
	case s.IsList():
		before.value += s.Separator + canonical
		f.lines[name] = before
	default:
		return fmt.Errorf("%s is set in line %d already", name, before.number)
	}
	return nil
}

// given returns the value that the file sets.
func (f *SettingsFile) given(s *Setting) (Value, bool) {
	l, ok := f.lines[s.Name]
	return Value{Setting: s, Text: l.value, Source: f.Source, SetBy: fmt.Sprintf("%s:%d", f.Path, l.number)}, ok
}
