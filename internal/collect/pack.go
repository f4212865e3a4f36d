package collect

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// fetched is the result of moving a recording of this node into a run directory.
type fetched struct {
	path  string
	stays bool // because its process is running
	err   error
}

// fetch moves recordings of this node into the directory dst. Those of processes
// that have ended are packed together into one container, and the originals are
// deleted. Those in writers (see RecordingWriters) are copied one by one, and
// stay. Traced ones are moved one by one, with their events. It is an error if a
// path is not a recording of this user.
func fetch(paths []string, dst string, writers map[string]int) []fetched {
	var together []string
	names := symbolize.NewCache(nil)
	results := make([]fetched, len(paths))
	for i, path := range paths {
		name := filepath.Base(path)
		r := &results[i]
		r.path = path
		_, r.stays = writers[name]
		r.stays = r.stays || mayBeWritten(path)
		switch {
		case checkRecording(path) != nil:
			r.stays, r.err = false, checkRecording(path)
		case r.stays:
			r.err = bring(path, dst, names)
		case len(recording.EventFiles(path)) > 0:
			if r.err = bring(path, dst, names); r.err == nil {
				r.err = errors.Join(recording.RemoveEvents(path), os.Remove(path))
			}
		default:
			together = append(together, path)
		}
	}
	packed := packTogether(together, dst, names)
	for i := range results {
		if err, ok := packed[results[i].path]; ok {
			results[i].err = err
		}
	}
	return results
}

// mayBeWritten reports whether a process that is not visible from here may write
// to a recording, because it is in another namespace of process ids.
func mayBeWritten(path string) bool {
	if written, known := rundir.IsWritten(path); known {
		return written
	}
	p, err := recording.ReadFile(path)
	return err == nil && p.State != profile.Finalized && !rundir.InSight(p.PidNamespace)
}

// checkRecording returns an error if the file is not a recording of this user.
func checkRecording(path string) error {
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || atomicfile.OwnerOf(info) != os.Getuid() || rundir.Writer(filepath.Base(path)) == 0) {
		err = fmt.Errorf("%s is not a recording of this user", path)
	}
	return err
}

// bring copies a recording. It copies the events first, because they refer to
// rows that a later copy of the recording contains.
func bring(path, dst string, names *symbolize.Cache) error {
	for _, file := range append(recording.EventFiles(path), path) {
		if err := packFile(file, filepath.Join(dst, filepath.Base(file)), names); err != nil {
			return err
		}
	}
	return nil
}

// packFile packs a recording into dst, completely or not at all. The new file's
// mode follows the user's umask.
func packFile(src, dst string, names *symbolize.Cache) error {
	in, size, err := atomicfile.Sized(atomicfile.OpenNoFollow(src, atomicfile.AnySize))
	if err != nil {
		return err
	}
	defer in.Close()
	var files atomicfile.Set
	defer files.Discard()
	err = files.Write(dst, func(w io.Writer) error {
		return recording.Pack(w, filepath.Base(dst), in, size, names.Container())
	})
	if err != nil {
		return err
	}
	return files.CommitIf(func() error {
		_, err := os.Lstat(src) // if src is gone, another process has moved it and written a newer dst
		return err
	})
}

// packTogether packs the recordings into a new container in the directory dst.
// Then it deletes them, and older copies of them in dst. It returns the error of
// each. A recording that cannot be read is left out.
func packTogether(paths []string, dst string, names *symbolize.Cache) map[string]error {
	errs := make(map[string]error, len(paths))
	if len(paths) == 0 {
		return errs
	}
	slices.Sort(paths)
	err := atomicfile.Write(containerName(dst), func(out io.Writer) error {
		w := recording.NewContainerWriter(out, names.Container())
		if err := w.Learn(len(paths), func(i int) []byte { return readSample(paths[i]) }); err != nil {
			return err
		}
		for _, path := range paths {
			before := w.Len()
			errs[path] = addFile(w, path)
			if errs[path] != nil && w.Len() > before {
				return errs[path]
			}
		}
		return w.Close()
	})
	for _, path := range paths {
		if errs[path] == nil {
			errs[path] = err
		}
		if errs[path] != nil {
			continue
		}
		if home := filepath.Join(dst, filepath.Base(path)); home != path {
			_ = os.Remove(home) // a copy that was made while the process was running
		}
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs[path] = err
		}
	}
	return errs
}

// containerName returns a new name for a container in a directory.
func containerName(dir string) string {
	host, _ := os.Hostname()
	var random [4]byte
	rand.Read(random[:]) // never fails
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s%s", text.FileName(host), time.Now().Format("20060102-150405"),
		hex.EncodeToString(random[:]), recording.ContainerSuffix))
}

func addFile(w *recording.ContainerWriter, path string) error {
	in, size, err := atomicfile.Sized(atomicfile.OpenNoFollow(path, atomicfile.AnySize))
	if err != nil {
		return err
	}
	defer in.Close()
	return w.Add(filepath.Base(path), in, size)
}

// readSample reads a recording that is to be packed with others. It returns nil if it
// cannot be read, or is long.
func readSample(path string) []byte {
	in, size, err := atomicfile.Sized(atomicfile.OpenNoFollow(path, atomicfile.AnySize))
	if err != nil {
		return nil
	}
	defer in.Close()
	raw := make([]byte, min(size, recording.LongestSample+1))
	n, _ := in.ReadAt(raw, 0)
	return raw[:n]
}

// PackAll packs recordings that were made in dir itself: by processes of other
// nodes, or because there was no spool. It leaves recordings of running
// processes and those that cannot be packed unchanged. So it does with traced
// processes, whose events have to be converted first. It deletes the temporary
// files of processes that were killed while they made a container. If such a
// process still runs, it makes no container and records in a file of its own.
func PackAll(dir string) {
	entries, _ := os.ReadDir(dir) // if it cannot be read, there is nothing to pack
	var single []string
	names := symbolize.NewCache(nil)
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	defer work.Wait()
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.Type().IsRegular():
		case unfinishedContainer.MatchString(e.Name()):
			removeOwn(path)
		case strings.HasSuffix(e.Name(), recording.ContainerSuffix):
			work.Go(func() error { return packContainer(path, nil, names) }) // on an error the container is still complete
		case strings.HasSuffix(e.Name(), rundir.RecordingSuffix) && CanPack(path) && len(recording.EventFiles(path)) == 0:
			single = append(single, path)
		}
	}
	packTogether(single, dir, names) // on an error the unpacked files are still complete
}

// unfinishedContainer matches the name of a container that a process is making:
// .NAME.node.PID.TIME, see interpose/src/file/container.c.
var unfinishedContainer = regexp.MustCompile(`^\..+` + regexp.QuoteMeta(recording.ContainerSuffix) + `\.\d+\.\d+$`)

// removeOwn deletes a file of this user.
func removeOwn(path string) {
	if info, err := os.Lstat(path); err == nil && atomicfile.OwnerOf(info) == os.Geteuid() {
		_ = os.Remove(path) // on an error it stays, and does no harm
	}
}

// CanPack reports whether a file is an unpacked recording whose process does not
// write to it any more.
func CanPack(path string) bool {
	f, err := atomicfile.OpenNoFollow(path, atomicfile.AnySize)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, layout.HeaderSize)
	n, _ := io.ReadFull(f, head)
	return recording.CanPack(head[:n])
}

// packContainer packs a container whose processes have all ended, and deletes
// it. Of a container of another node, all processes must have ended with a
// complete recording. The events of traced processes must be in converted. It
// returns nil if the container is packed, or cannot be packed yet.
func packContainer(path string, converted map[string]bool, names *symbolize.Cache) error {
	c, err := openOwn(path)
	if c == nil {
		return err
	}
	if c.Packed() {
		c.Close()
		return nameContainer(path, names)
	}
	host, boot := c.Node()
	here, _ := os.Hostname()
	local := host == here && boot == rundir.BootID()
	sealed := local && ready(c, local) && c.Seal(true) == nil // processes that start from now on use another file
	if sealed {
		c.Close()
		c, err = recording.OpenContainer(path) // with the processes that came last
		if err != nil {
			return err
		}
	}
	defer c.Close()
	if sealed == local && ready(c, local) && (unconverted(c, converted) == 0 || packedElsewhere(c)) {
		err = replaceContainer(c, names)
	}
	if sealed && rundir.Exists(path) {
		return errors.Join(err, c.Seal(false))
	}
	return err
}

// PackConverted packs the recordings of traced processes, whose events were
// converted. known has names of call sites.
func PackConverted(d rundir.Dir, converted map[string]bool, known profile.Symbols) {
	var single []string
	names := symbolize.NewCache(known)
	for name := range converted {
		if path := filepath.Join(d.Recordings(), name); rundir.Exists(path) && len(recording.EventFiles(path)) == 0 {
			single = append(single, path)
		}
	}
	packTogether(single, d.Recordings(), names) // on an error the files are still complete
	for _, container := range d.Containers() {
		_ = packContainer(container, converted, names) // and the container
	}
}

// ready reports whether no process of a container writes to it any more. A
// process that is about to add its recording has mapped the container, too.
func ready(c *recording.Container, local bool) bool {
	if !local {
		return c.Complete()
	}
	return !rundir.IsMapped(c.Path())
}

// unconverted returns the number of processes whose events are only in the
// container.
func unconverted(c *recording.Container, converted map[string]bool) (n int) {
	for _, name := range c.Traced() {
		if !converted[name] {
			n++
		}
	}
	return n
}

// replaceContainer writes the recordings of a container into a packed one, and
// deletes the container. A damaged one is left as it is.
func replaceContainer(c *recording.Container, names *symbolize.Cache) error {
	if err := c.Whole(); err != nil {
		return err
	}
	if len(c.Names()) > 0 && !packedElsewhere(c) {
		err := atomicfile.Write(containerName(filepath.Dir(c.Path())), func(out io.Writer) error {
			return c.PackTo(out, names.Container())
		})
		if err != nil {
			return err
		}
	}
	now, err := recording.OpenContainer(c.Path())
	if err != nil {
		return err
	}
	defer now.Close()
	if !slices.Equal(now.Names(), c.Names()) {
		return nil // of another node, where a process has started since
	}
	return os.Remove(c.Path())
}

// openOwn opens a container of this user. It returns nil if it is none.
func openOwn(path string) (*recording.Container, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || atomicfile.OwnerOf(info) != os.Geteuid() {
		return nil, err
	}
	return recording.OpenContainer(path)
}

// AddNames adds names of call sites to the packed containers of a run that have none, so
// that they outlive the program. all has the names of the whole run.
func AddNames(d rundir.Dir, all profile.Symbols) {
	named := maps.Clone(all)
	maps.DeleteFunc(named, func(_ profile.Place, name profile.Symbol) bool { return name == profile.Symbol{} })
	if len(named) == 0 {
		return // nothing is known of the programs
	}
	for _, path := range d.Containers() {
		_ = rewriteUnnamed(path, func(c *recording.Container, out io.Writer) (int, error) { // a container without names is complete
			return len(named), c.NameTo(out, named)
		})
	}
}

// nameContainer packs a packed container again, with the names of its call sites, unless it
// has names.
func nameContainer(path string, names *symbolize.Cache) error {
	return rewriteUnnamed(path, func(c *recording.Container, out io.Writer) (int, error) {
		found := names.Container()
		err := c.PackTo(out, found)
		return len(found.Names()), err
	})
}

// rewriteUnnamed replaces a packed container by what write makes of it, unless it has names or
// gets none. A damaged one is left as it is.
func rewriteUnnamed(path string, write func(*recording.Container, io.Writer) (names int, err error)) error {
	c, err := openOwn(path)
	if c == nil {
		return err
	}
	defer c.Close()
	if !c.Packed() || len(c.Symbols()) > 0 || c.Whole() != nil {
		return nil
	}
	var files atomicfile.Set
	defer files.Discard()
	names := 0
	err = files.Write(path, func(out io.Writer) (err error) {
		names, err = write(c, out)
		return err
	})
	if err != nil || names == 0 {
		return err
	}
	return files.Commit()
}

// packedElsewhere reports whether an earlier call wrote the packed container,
// and was interrupted before it deleted this one.
func packedElsewhere(c *recording.Container) bool {
	packed := map[string]bool{}
	for _, other := range rundir.Containers(filepath.Dir(c.Path())) {
		_ = recording.WithContainer(other, func(o *recording.Container) error { // one that cannot be read packs nothing
			if o.Packed() {
				for _, name := range o.Names() {
					packed[name] = true
				}
			}
			return nil
		})
	}
	return !slices.ContainsFunc(c.Names(), func(name string) bool { return !packed[name] })
}

// sameOnce joins errors. Of several with the same text, it keeps the first.
func sameOnce(errs []error) error {
	met := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		again := met[err.Error()]
		met[err.Error()] = true
		return again
	})...)
}
