package arrowfile

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestCheckFrame walks through frames of one block, of many and of repeated bytes, with and
// without a checksum. The last frame needs 512 MiB to be decoded.
func TestCheckFrame(t *testing.T) {
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	var all []byte
	var ends []int64
	add := func(frame []byte) { all = append(all, frame...); ends = append(ends, int64(len(all))) }
	for _, checksum := range []bool{false, true} {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(checksum))
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{[]byte("short"), noise, make([]byte, 1<<20), bytes.Repeat([]byte("abc"), 1<<17)} {
			add(w.EncodeAll(raw, nil))
		}
	}
	add([]byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'm', 'e'})          // skippable
	const huge = 19 << 3                                               // window of 2^(10+19) bytes
	big := append(all, 0x28, 0xb5, 0x2f, 0xfd, 0x00, huge, 0x01, 0, 0) // and one empty block
	in := &reader{size: int64(len(big))}
	r := io.NewSectionReader(bytes.NewReader(big), 0, int64(len(big)))
	at := int64(0)
	for i, want := range ends {
		var err error
		if at, err = in.checkFrame(r, at); err != nil || at != want {
			t.Fatalf("frame %d ends at %d, want %d: %v", i, at, want, err)
		}
	}
	in.size = 1 << 10
	if _, err := in.checkFrame(r, at); err == nil || !strings.Contains(err.Error(), "needs 536870912 bytes") {
		t.Errorf("a frame with a large window: %v", err)
	}
	cut := io.NewSectionReader(bytes.NewReader(all), 0, ends[1]-1<<18)
	if next, err := in.checkFrame(cut, ends[0]); err == nil && next <= cut.Size() {
		t.Errorf("a frame that is cut ends at %d", next)
	}
}
