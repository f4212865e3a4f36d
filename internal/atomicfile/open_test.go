package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(in("file"), []byte("12345678"), 0o644), os.Symlink("file", in("link")),
		syscall.Mkfifo(in("pipe"), 0o644), os.Mkdir(in("dir"), 0o755), os.Symlink("/dev/zero", in("device")),
		os.WriteFile(in("sparse"), nil, 0o644), os.Truncate(in("sparse"), 50<<30)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		limit int64
		want  string // text of the error
	}{
		{"file", 8, ""},
		{"file", AnySize, ""},
		{"link", 8, ""},
		{"file", 7, "has 8 bytes, more than the 7"},
		{"pipe", 8, "is a named pipe, not a regular file"},
		{"device", 8, "is a device, not"},
		{"dir", 8, "is a directory, not"},
		{"sparse", 1 << 20, "has 53687091200 bytes, more than the 1048576"},
		{"none", 8, "no such file"},
	} {
		text, err := Read(in(test.name), test.limit)
		if test.want == "" && (err != nil || string(text) != "12345678") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, at most %d bytes: got %q, %v, want %q", test.name, test.limit, text, err, test.want)
		}
	}
	if _, err := OpenNoFollow(in("link"), 8); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a link was followed: %v", err)
	}
	if _, err := Read(in("none"), 8); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}
