package arrowfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// An Arrow file has no checksum, and the Arrow library believes every length
// in it: one flipped bit can make it ask for a terabyte, which ends a Go
// program without a chance to recover. So our files carry a seal between the
// end of the stream and the footer, where readers, who go by the footer, do not
// look: sealMark and the CRC-32C of all bytes of the file but these eight. Read
// checks it before it gives the file to the library.
const sealMark = "MPTR"

const sealLen = len(sealMark) + 4

// endOfStream ends the stream of messages in an Arrow file. The Go library
// leaves it out.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errNotSealed = errors.New("an Arrow file, but not as mpitrace writes it: it has no seal; only a file that no other program has written can be read back")

// sealer is what the Arrow writer writes into: it puts the seal before the
// footer.
type sealer struct {
	w      io.Writer
	pos    int64
	sum    uint32
	footer *bytes.Buffer // holds what comes from the footer on
}

func (s *sealer) Write(p []byte) (int, error) {
	s.pos += int64(len(p))
	if s.footer != nil {
		return s.footer.Write(p)
	}
	s.sum = crc32.Update(s.sum, castagnoli, p)
	return s.w.Write(p)
}

// Seek does the one kind of seeking that the Arrow writer needs: it tells where
// it is.
func (s *sealer) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return s.pos, nil
}

// close ends the file, the footer being what finish writes.
func (s *sealer) close(finish func() error) error {
	if _, err := s.Write(endOfStream); err != nil {
		return err
	}
	s.footer = new(bytes.Buffer)
	if err := finish(); err != nil {
		return err
	}
	sum := crc32.Update(s.sum, castagnoli, s.footer.Bytes())
	if _, err := s.w.Write(binary.LittleEndian.AppendUint32([]byte(sealMark), sum)); err != nil {
		return err
	}
	_, err := s.w.Write(s.footer.Bytes())
	return err
}

// checkSeal tells a file that is no Arrow file from one that was cut off, from
// another program's and from one that was damaged.
func checkSeal(r io.ReaderAt, size int64) error {
	head, tail := make([]byte, len(magic)), make([]byte, 4+len(magic))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !Is(head) {
		return fmt.Errorf("not an Arrow file: it does not begin with %s", magic)
	}
	if size < int64(len(head)+len(tail)) {
		return fmt.Errorf("truncated after %d bytes", size)
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(tail[4:], magic) {
		return fmt.Errorf("truncated after %d bytes: it does not end with %s", size, magic)
	}
	footer := int64(binary.LittleEndian.Uint32(tail)) + int64(len(tail))
	return checkSum(r, size-footer-int64(sealLen), size)
}

// checkSum compares the seal at the given offset with the bytes around it.
func checkSum(r io.ReaderAt, at, size int64) error {
	if at < int64(len(magic)) {
		return errNotSealed
	}
	seal := make([]byte, sealLen)
	if _, err := r.ReadAt(seal, at); err != nil {
		return err
	}
	if string(seal[:len(sealMark)]) != sealMark {
		return errNotSealed
	}
	sum := crc32.New(castagnoli)
	after := at + int64(sealLen)
	for _, part := range []*io.SectionReader{io.NewSectionReader(r, 0, at), io.NewSectionReader(r, after, size-after)} {
		if _, err := io.Copy(sum, part); err != nil {
			return err
		}
	}
	if want := binary.LittleEndian.Uint32(seal[len(sealMark):]); sum.Sum32() != want {
		return fmt.Errorf("damaged: its checksum is %08x, %08x when it was written", sum.Sum32(), want)
	}
	return nil
}
