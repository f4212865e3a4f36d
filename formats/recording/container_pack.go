package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Node returns the host name and the boot id of the node whose processes map the
// container; of a packed one, nothing.
func (c *Container) Node() (host, bootID string) {
	if c.live == nil {
		return "", ""
	}
	h := &c.live.header
	name, _, _ := bytes.Cut(h.Host[:], []byte{0})
	id, _, _ := bytes.Cut(h.BootID[:], []byte{0})
	return string(name), string(id)
}

// Names returns the names of the recordings, sorted.
func (c *Container) Names() []string {
	names := make([]string, len(c.members))
	for i := range c.members {
		names[i] = c.members[i].name
	}
	slices.Sort(names)
	return names
}

// Traced returns the names of the recordings whose processes have events in the
// container.
func (c *Container) Traced() (names []string) {
	for i := range c.members {
		if c.traced(&c.members[i]) {
			names = append(names, c.members[i].name)
		}
	}
	return names
}

// MappedBy returns the names of the recordings of which a part is in the given
// bytes of the container.
func (c *Container) MappedBy(from, size uint64) (names []string) {
	if c.live == nil {
		return nil
	}
	c.live.refresh()
	c.live.mutex.Lock()
	defer c.live.mutex.Unlock()
	for i := range c.live.known {
		x := &c.live.known[i]
		if x.Offset < from || x.Offset-from >= size {
			continue
		}
		if name := c.live.name(process{x.Pid, x.Owner}); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Complete reports whether all processes ended with a complete recording.
func (c *Container) Complete() bool {
	for i := range c.members {
		complete := false
		_ = c.withFile(&c.members[i], layout.HeaderSize, func(f *file) error {
			complete = f.complete()
			return nil
		})
		if !complete {
			return false
		}
	}
	return true
}

// complete reports whether the process stored a checksum, and so does not write
// any more.
func (f *file) complete() bool {
	return f.readHeader() == nil && f.header.State == layout.StateFinalized && f.header.Checksum != 0
}

// IsComplete reports whether the process of the recording at path has ended, and
// its recording is complete. The recording may be in a container.
func IsComplete(path string) bool {
	complete := false
	_ = withUnread(path, "read", layout.HeaderSize, func(f *file) error {
		complete = f.complete()
		return nil
	})
	return complete
}

// Whole returns an error if the container is damaged. Packing would then destroy
// what is left of the place of the damage.
func (c *Container) Whole() error {
	problems := c.problems
	if c.live != nil {
		c.live.refresh()
		problems = c.live.problems
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", problems[0])
	}
	for i := range c.members {
		m := &c.members[i]
		err := c.withFile(m, layout.HeaderSize, func(f *file) error {
			if c.live == nil && f.damaged > 0 {
				return errors.New(f.problems[0])
			}
			if c.live == nil {
				return nil
			}
			if err := f.readHeader(); err != nil {
				return err
			}
			if end := min(f.header.End, uint64(f.size)); f.header.End > end || f.extents.gap(end) {
				return fmt.Errorf("an extent is missing")
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// gap reports whether some bytes before end are in no piece.
func (f *fileInPieces) gap(end uint64) bool {
	pieces := f.pieces()
	for offset := uint64(0); offset < end; {
		p, next := at(pieces, offset)
		if p.size == 0 {
			return true
		}
		offset = next
	}
	return false
}

// PackTo writes a packed container with the same recordings, without events. names may be nil.
func (c *Container) PackTo(out io.Writer, names Namer) error {
	w := NewContainerWriter(out, names)
	if err := c.packAll(w); err != nil {
		return err
	}
	return w.Close()
}

func (c *Container) packAll(w *ContainerWriter) error {
	if err := w.Learn(len(c.members), c.raw); err != nil {
		return err
	}
	for i := range c.members {
		m := &c.members[i]
		err := c.withFile(m, wholeFile, func(f *file) error {
			size := f.size
			if f.readHeader() == nil && c.live != nil && f.complete() {
				size = min(size, int64(f.header.End)) // what follows is unused
			}
			return w.add(m.name, f.r, size, f.names)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.memberPath(m), err)
		}
	}
	return nil
}

// NameTo writes the packed container again, with these names of call sites instead of its own.
// It copies the recordings as they are packed, unless the container is of the first format.
func (c *Container) NameTo(out io.Writer, names profile.Symbols) error {
	w := NewContainerWriter(out, nil)
	if c.old {
		if err := c.packAll(w); err != nil {
			return err
		}
		return w.close(names)
	}
	w.at, w.dictionary, w.members = int64(len(containerMagic)), c.dictionary, slices.Clone(c.members)
	for _, m := range c.members {
		w.at = max(w.at, m.frame.at+m.frame.packed)
	}
	if _, err := io.CopyN(out, io.NewSectionReader(c.in, 0, w.at), w.at); err != nil {
		return err
	}
	return w.close(names)
}

// raw returns a recording if it is not long.
func (c *Container) raw(i int) (raw []byte) {
	_ = c.withFile(&c.members[i], wholeFile, func(f *file) error {
		raw = make([]byte, min(f.size, LongestSample+1))
		n, _ := f.r.ReadAt(raw, 0)
		raw = raw[:n]
		return nil
	})
	return raw
}

// Seal forbids processes to add to the container, or allows it again. It works
// only on the node of the processes.
func (c *Container) Seal(sealed bool) error {
	in, err := atomicfile.OpenToChange(c.path)
	if err != nil {
		return err
	}
	defer in.Close()
	page, err := unix.Mmap(int(in.Fd()), 0, layout.Granule, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	defer unix.Munmap(page)
	claimed := (*uint64)(unsafe.Pointer(&page[claimedAt]))
	if sealed {
		atomic.OrUint64(claimed, layout.ContainerSealed)
	} else {
		atomic.AndUint64(claimed, ^uint64(layout.ContainerSealed))
	}
	return nil
}
