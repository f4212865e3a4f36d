package formats

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// FuzzReader checks that a file of any content and name either is read without
// a panic and in memory proportional to its size, or causes an error that names
// it.
func FuzzReader(f *testing.F) {
	for _, head := range []string{"", "MPITRACE", "ARROW1\x00\x00", "PAR1", "# POINT TO POINT\n", "E\t0\t1\t9 bytes\t1 msgs sent\t1\n"} {
		for i := range Table {
			f.Add([]byte(head+strings.Repeat("\x00\x01", 300)), uint8(i))
		}
		f.Add([]byte(head), uint8(0))
	}
	for _, name := range []string{"0", "3"} {
		text := testenv.ReadFile(f, filepath.Join("prof", "testdata", "openmpi-4.1.4."+name+".prof"))
		f.Add(text, uint8(0))
		f.Add(text[:len(text)/2], uint8(2))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, named uint8) {
		path := filepath.Join(dir, "file"+Table[int(named)%len(Table)].Extension)
		testenv.WriteFile(t, path, data)
		format, err := Detect(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("an error without the file: %v", err)
			}
			return // the name has an extension of a format that cannot be read
		}
		var content *Content
		used := testenv.Allocated(func() {
			if content, err = format.Read(path); content != nil && content.Profiles != nil {
				err = content.Profiles.Each(func(*profile.Profile) error { return nil })
			}
		})
		if most := uint64(4<<20 + 300*len(data)); used > most {
			t.Errorf("%d bytes of %s took %d of memory", len(data), format.Name, used)
		}
		if content == nil && err == nil || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("content %v, error %v", content, err)
		}
	})
}
