package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPlanted checks that files of other users in a directory that all can
// write to are not used.
func TestPlanted(t *testing.T) {
	const stranger = 65533
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give directories away")
	}
	shared := filepath.Join(t.TempDir(), "shared")
	private := filepath.Join(t.TempDir(), "private")
	mine := t.TempDir()
	testenv.NoError(t, errors.Join(os.Mkdir(shared, 0o777), os.Chmod(shared, 0o777|os.ModeSticky), os.Mkdir(private, 0o755)))
	for _, test := range []struct {
		name string
		make func() (string, error)
		want string
	}{
		{"nothing is there", func() (string, error) { return filepath.Join(shared, "new"), nil }, ""},
		{"a directory of one's own", func() (string, error) {
			dir := filepath.Join(shared, "own")
			return dir, os.Mkdir(dir, 0o755)
		}, ""},
		{"a stranger's directory", func() (string, error) {
			dir := filepath.Join(shared, "a")
			return dir, errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, stranger, stranger))
		}, "belongs to another user"},
		{"a stranger's link", func() (string, error) {
			link := filepath.Join(shared, "b")
			return link, errors.Join(os.Symlink(mine, link), os.Lchown(link, stranger, stranger))
		}, "belongs to another user"},
		{"a link of one's own", func() (string, error) {
			link := filepath.Join(shared, "c")
			return link, os.Symlink(t.TempDir(), link)
		}, ""},
		{"a stranger's link inside", func() (string, error) {
			dir := filepath.Join(shared, "d")
			link := filepath.Join(dir, "recordings")
			return dir, errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777), os.Symlink(mine, link), os.Lchown(link, stranger, stranger))
		}, "belongs to another user"},
		{"a stranger's link on the way", func() (string, error) {
			link := filepath.Join(shared, "f")
			return filepath.Join(link, "sub", "run"), errors.Join(os.Symlink(mine, link), os.Lchown(link, stranger, stranger))
		}, "belongs to another user"},
		{"a link of one's own on the way", func() (string, error) {
			link := filepath.Join(shared, "g")
			return filepath.Join(link, "sub", "run"), os.Symlink(t.TempDir(), link)
		}, ""},
		{"below a stranger's directory", func() (string, error) {
			dir := filepath.Join(shared, "h")
			return filepath.Join(dir, "run"), errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, stranger, stranger))
		}, ""},
		{"a stranger's directory where only its owner writes", func() (string, error) {
			dir := filepath.Join(private, "e")
			return dir, errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, stranger, stranger))
		}, ""},
	} {
		dir, err := test.make()
		testenv.NoError(t, err)
		_, err = CreateAt(dir)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if left, _ := os.ReadDir(mine); len(left) > 0 {
		t.Errorf("%v was made behind the link", left)
	}
}

// A link in the place of a new file is replaced, not followed.
func TestWriteFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	d := Dir(dir)
	testenv.NoError(t, errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim, d.Info())))
	testenv.NoError(t, d.WriteInfo(&Info{Version: "x"}))
	text, err := os.ReadFile(victim)
	info, infoErr := os.Lstat(d.Info())
	if err != nil || string(text) != "precious" || infoErr != nil || !info.Mode().IsRegular() {
		t.Errorf("the link's target holds %q, %v; %v, %v", text, err, info, infoErr)
	}
}
