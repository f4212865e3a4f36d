package oldarrow

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// FuzzReader reads damaged files whose checksum is right: no panic, and bounded memory.
func FuzzReader(f *testing.F) {
	for _, name := range []string{"version-2.arrow", "version-3.arrow"} {
		data := testenv.ReadFile(f, filepath.Join("testdata", name))
		f.Add(data, uint16(0), byte(0))
		for at := 8; at < len(data); at += 397 {
			f.Add(data, uint16(at), byte(1+at%255))
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, at uint16, flip byte) {
		data = bytes.Clone(data)
		if len(data) > 0 {
			data[int(at)%len(data)] ^= flip
		}
		reseal(data)
		path := filepath.Join(dir, "profile.arrow")
		testenv.WriteFile(t, path, data)
		used := testenv.Allocated(func() {
			if file, err := Open(path, arrowfile.Facts); err == nil {
				_ = file.Each(func(*profile.Profile) error { return nil }) // any error is right
			}
		})
		if most := uint64(64<<20 + 1000*len(data)); used > most {
			t.Errorf("%d bytes took %d of memory", len(data), used)
		}
	})
}

// reseal sets the checksum of a file that has one.
func reseal(data []byte) {
	s, err := findSeal(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	at := int(s.seal) + len(sealMark)
	sum := crc32.Update(crc32.Checksum(data[:s.seal], castagnoli), castagnoli, data[at+4:])
	binary.LittleEndian.PutUint32(data[at:], sum)
}
