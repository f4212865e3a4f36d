package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// WithContainer calls use with the container at path, which use must not close. Several containers
// are kept open, since the recordings of one container are often read one after the other.
func WithContainer(path string, use func(*Container) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return withOpened(path, info, use)
}

func withOpened(path string, info os.FileInfo, use func(*Container) error) error {
	o, err := opened.get(path, info)
	if err != nil {
		return err
	}
	defer opened.release(o)
	return use(o.Container)
}

// FileOf returns the file that holds the recording at path: its container, or
// path itself.
func FileOf(path string) string {
	if container, _, info := inContainer(path); info != nil {
		return container
	}
	return path
}

// Members returns the paths of the recordings in the container at path, sorted. It returns an error
// if damage left no recording.
func Members(path string) (paths []string, err error) {
	err = WithContainer(path, func(c *Container) error {
		for _, m := range c.members {
			paths = append(paths, c.memberPath(&m))
		}
		return c.noneReadable()
	})
	slices.Sort(paths)
	return paths, err
}

// noneReadable returns an error if damage left no recording.
func (c *Container) noneReadable() error {
	if len(c.members) == 0 && len(c.problems) > 0 {
		return fmt.Errorf("read container %s: %s", c.path, c.problems[0])
	}
	return nil
}

// Expand returns the paths of the recordings in a file. For a container these are the paths of its
// recordings, and for any other file its own path. A packed container without the suffix of
// containers has one recording.
func Expand(path string) ([]string, error) {
	in, _, err := openFile(FileOf(path))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	head := make([]byte, len(containerMagic))
	if n, _ := in.ReadAt(head, 0); FileOf(path) != path || !isContainer(head[:n]) || isPacked(head[:n]) && !strings.HasSuffix(path, ContainerSuffix) {
		return []string{path}, nil
	}
	return Members(path)
}

// withMember calls use with a recording in a container, which inContainer returned.
func withMember(path, name string, info os.FileInfo, use func(*Container, *member) error) error {
	return withOpened(path, info, func(c *Container) error {
		if i, ok := c.index[name]; ok {
			return use(c, &c.members[i])
		}
		return &os.PathError{Op: "open", Path: filepath.Join(path, name), Err: os.ErrNotExist}
	})
}

// maxOpened is the number of containers that are kept open.
const maxOpened = 16

// maxAge is how long a container that processes may have mapped is kept open. A
// process may remove its extents, if it turns out not to use MPI.
const maxAge = time.Second

var opened openContainers

// openContainers are containers that were used recently, the latest first.
type openContainers struct {
	mutex sync.Mutex
	kept  []*openContainer
}

type openContainer struct {
	*Container
	info os.FileInfo
	at   time.Time // when it was opened
	uses int       // number of present users, plus 1 while it is in openContainers.kept
}

// get returns the container at path. info describes the file that is at path now.
func (o *openContainers) get(path string, info os.FileInfo) (*openContainer, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for i, k := range o.kept {
		if k.path != path {
			continue
		}
		o.kept = slices.Delete(o.kept, i, i+1)
		if k.current(info) {
			o.kept = slices.Insert(o.kept, 0, k)
			k.uses++
			return k, nil
		}
		o.drop(k)
		break
	}
	c, err := OpenContainer(path)
	if err != nil {
		return nil, err
	}
	if info, err = c.in.(*os.File).Stat(); err != nil {
		c.Close()
		return nil, fmt.Errorf("read container: %w", err)
	}
	k := &openContainer{c, info, time.Now(), 2}
	o.kept = slices.Insert(o.kept, 0, k)
	if len(o.kept) > maxOpened {
		o.drop(o.kept[maxOpened])
		o.kept = o.kept[:maxOpened]
	}
	return k, nil
}

// current reports whether the file at the path is still the open one, with the
// same recordings.
func (k *openContainer) current(info os.FileInfo) bool {
	if !os.SameFile(k.info, info) {
		return false
	}
	if k.live != nil {
		k.live.refresh()
		return time.Since(k.at) < maxAge && len(k.live.recorded()) == len(k.members)
	}
	return k.info.Size() == info.Size() && k.info.ModTime().Equal(info.ModTime())
}

func (o *openContainers) release(k *openContainer) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.drop(k)
}

// drop ends a use of a container, and closes it after the last one.
func (o *openContainers) drop(k *openContainer) {
	if k.uses--; k.uses == 0 {
		k.Close()
	}
}
