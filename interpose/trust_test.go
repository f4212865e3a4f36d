package interpose

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestCheckLibrary checks that a library which other users could replace is
// rejected.
func TestCheckLibrary(t *testing.T) {
	const stranger = 65533
	chmod := func(mode os.FileMode) func(string) error {
		return func(path string) error { return os.Chmod(path, mode) }
	}
	chown := func(uid, gid int) func(string) error {
		return func(path string) error { return os.Chown(path, uid, gid) }
	}
	for _, test := range []struct {
		name string
		of   string // path below a private directory; a/b/lib.so is the library
		do   func(path string) error
		want string // empty if the library can be loaded
	}{
		{"private", "a", chmod(0o700), ""},
		{"others read", "a", chmod(0o755), ""},
		{"others write to the file", "a/b/lib.so", chmod(0o666), "others can write to"},
		{"others write to the directory", "a/b", chmod(0o777), "others can write to"},
		{"others write to the directory, which is sticky", "a/b", chmod(0o777 | os.ModeSticky), ""},
		{"others write above", "a", chmod(0o757), "others can write to"},
		{"others write above, which is sticky", "a", chmod(0o777 | os.ModeSticky), ""},
		{"a stranger's file", "a/b/lib.so", chown(stranger, 0), "belongs to another user (65533)"},
		{"a stranger's directory", "a/b", chown(stranger, 0), "belongs to another user (65533)"},
		{"a stranger's directory above", "a", chown(stranger, 0), "belongs to another user (65533)"},
		{"a group writes", "a", func(path string) error {
			return errors.Join(os.Chown(path, os.Geteuid(), stranger), os.Chmod(path, 0o775))
		}, "others can write to"},
		{"the user's own group writes", "a", func(path string) error {
			return errors.Join(os.Chown(path, os.Geteuid(), os.Geteuid()), os.Chmod(path, 0o775))
		}, ""},
		{"a directory", "a/b/lib.so", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "not a file that can be loaded"},
		{"nothing", "a/b/lib.so", os.Remove, "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "private")
			lib := filepath.Join(dir, "a", "b", "lib.so")
			testenv.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(lib), 0o700), os.WriteFile(lib, nil, 0o700)))
			if err := test.do(filepath.Join(dir, test.of)); errors.Is(err, os.ErrPermission) {
				t.Skip("needs root: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			checkSays(t, lib, test.want)
			link := filepath.Join(t.TempDir(), "link.so")
			testenv.NoError(t, os.Symlink(lib, link))
			checkSays(t, link, test.want)
		})
	}
}

func checkSays(t *testing.T, lib, want string) {
	t.Helper()
	if err := CheckLibrary(lib); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %q", lib, err, want)
	}
}

// TestCheckLibraryLink checks that a link into a private directory is rejected
// if others can replace the link.
func TestCheckLibraryLink(t *testing.T) {
	lib := filepath.Join(t.TempDir(), "lib.so")
	open := t.TempDir()
	link := filepath.Join(open, "link.so")
	testenv.NoError(t, errors.Join(os.WriteFile(lib, nil, 0o700), os.Symlink(lib, link), os.Chmod(open, 0o777)))
	checkSays(t, link, "others can write to "+open)
}

func TestCheckLibrarySeparators(t *testing.T) {
	for _, name := range []string{"a b", "a:b", "a\tb", "a\nb"} {
		dir := filepath.Join(t.TempDir(), name)
		lib := filepath.Join(dir, "lib.so")
		testenv.NoError(t, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(lib, nil, 0o700)))
		checkSays(t, lib, "which LD_PRELOAD takes for a separator")
	}
}
