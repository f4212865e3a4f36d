package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestWriteWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Errorf("%d files are left", len(entries))
	}
}

// Another user may guess a temporary name and make it a link to a file of ours.
func TestCreateNewFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "link")
	testenv.NoError(t, os.WriteFile(victim, []byte("ours"), 0o600))
	testenv.NoError(t, os.Symlink(victim, link))
	if f, err := createNew(link, 0o600); err == nil {
		f.Close()
		t.Error("a link was opened")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "ours" {
		t.Errorf("the file behind the link has %q (%v)", text, err)
	}
}

// writeAll writes several files at the same time. If it fails while writing, none of them
// gets its name.
func writeAll(paths []string, write func([]io.Writer) error) error {
	var s Set
	defer s.Discard()
	writers := make([]io.Writer, len(paths))
	var err error
	for i := 0; i < len(paths) && err == nil; i++ {
		writers[i], err = s.create(paths[i], 0o666)
	}
	if err == nil {
		err = write(writers)
	}
	if err = cmp.Or(err, s.close()); err != nil {
		return fmt.Errorf("write %s: %w", strings.Join(paths, ", "), err)
	}
	return s.Commit()
}

// The error of a full disk must be reported once, with the final names.
func TestFullDisk(t *testing.T) { testenv.FullDisk(t, 100_000, func() { fullDisk(t) }) }

func fullDisk(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	err := writeAll(paths, func(w []io.Writer) error {
		_, err := w[1].Write(make([]byte, 200_000))
		return err
	})
	if want := "write " + paths[0] + ", " + paths[1] + ": file too large"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestWriteAllWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	left := func() string {
		t.Helper()
		entries, err := os.ReadDir(dir)
		testenv.NoError(t, err)
		out := ""
		for _, e := range entries {
			text := testenv.ReadFile(t, filepath.Join(dir, e.Name()))
			out += e.Name() + "=" + string(text) + ";"
		}
		return out
	}
	broken := errors.New("no more")
	err := writeAll(paths, func(w []io.Writer) error {
		fmt.Fprint(w[0], "whole")
		fmt.Fprint(w[1], "half")
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), paths[1]) || left() != "" {
		t.Errorf("a failure leaves %q: %v", left(), err)
	}
	err = writeAll(paths, func(w []io.Writer) error {
		fmt.Fprint(w[0], "one")
		fmt.Fprint(w[1], "two")
		return nil
	})
	if err != nil || left() != "a=one;b=two;" {
		t.Errorf("left %q: %v", left(), err)
	}
}

// The permissions are as requested from the start, whatever the umask is.
// TestUnnamed checks that a file without a name can be written and read, that nothing of it is
// left, and where it is.
func TestUnnamed(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	for _, in := range []string{"", temporary} {
		t.Setenv("TMPDIR", in)
		f, err := Unnamed(dir)
		testenv.NoError(t, err)
		defer f.Close()
		content := make([]byte, 3)
		_, failed := f.WriteAt([]byte("abc"), 5)
		if _, err := f.ReadAt(content, 5); err != nil || failed != nil || string(content) != "abc" {
			t.Errorf("%q, %v, %v", content, err, failed)
		}
		want := dir
		if in != "" {
			want = in
		}
		if filepath.Dir(f.Name()) != want {
			t.Errorf("made in %s, want %s", f.Name(), want)
		}
		if left, err := os.ReadDir(want); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	for _, mode := range []os.FileMode{0o600, 0o644, 0o755} {
		path := filepath.Join(t.TempDir(), "f")
		var s Set
		if _, err := s.create(path, mode); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(s.files[0].temporary); err != nil || info.Mode() != mode&^0o027 {
			t.Errorf("created with %v, %v; want %v", info.Mode(), err, mode&^0o027)
		}
		s.Discard()
		testenv.NoError(t, WriteContent(path, []byte("x"), mode))
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("written with %v, %v; want %v", info.Mode(), err, mode)
		}
	}
}

func TestWriteTemporary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	broken := errors.New("broken")
	if _, _, err := WriteTemporary("x-*", func(io.Writer) error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}
	path, remove, err := WriteTemporary("x-*", func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	testenv.NoError(t, err)
	if text, err := os.ReadFile(path); err != nil || string(text) != "text" {
		t.Errorf("read %q, %v", text, err)
	}
	remove()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
