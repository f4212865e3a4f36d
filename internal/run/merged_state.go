package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose/layout"
)

// mergedState is the content of merged.json: of which recordings the merged files are.
// It is the last of them that is written.
type mergedState struct {
	Recordings string   `json:"recordings"` // see Dir.state
	Damaged    []string `json:"damaged"`    // recordings, and ranks without one
}

func (d Dir) mergedFrom() string { return filepath.Join(string(d), "merged.json") }

// writeMerged writes merged.json.
func writeMerged(w io.Writer, m mergedState) error {
	m.Damaged = append([]string{}, m.Damaged...)
	return text.WriteJSON(w, m)
}

// MergedDamage returns what the merged files lack because of damage.
func (d Dir) MergedDamage() []string { return d.readMerged().Damaged }

// readMerged reads merged.json. It returns an empty state if that is missing or damaged.
func (d Dir) readMerged() (m mergedState) {
	_ = atomicfile.ReadAt(d.mergedFrom(), "read", func(r io.ReaderAt, size int64) error {
		return json.NewDecoder(io.NewSectionReader(r, 0, size)).Decode(&m)
	})
	return m
}

// state returns a digest of what the merged files are made of: the content of
// recordings, and the files of messages that the MPI library counted.
func (d Dir) state(recordings []string) string {
	sum := sha256.New()
	for _, file := range append(stored(recordings), d.physicalFiles()...) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(sum, "%q %d %d\n", filepath.Base(file), info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, file := range stored(recordings) {
		if err := recording.WriteState(sum, file); err != nil { // the time is not enough: see there
			fmt.Fprintf(sum, "%q\n", err.Error())
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}

// afterPacking returns the state of a run's recordings after convert, which converts
// events and may pack recordings. before is the state of those that were read. If
// they have changed since, it returns before: the merged files are then stale.
func (d Dir) afterPacking(files []string, before string, convert func() error) (string, error) {
	now, _ := d.RecordingFiles()
	unchanged := sameNames(files, now) && d.state(now) == before
	err := convert()
	if now, _ = d.RecordingFiles(); unchanged && sameNames(files, now) {
		return d.state(now), err
	}
	return before, err
}

// sameNames reports whether two lists have the recordings of the same processes.
func sameNames(a, b []string) bool {
	names := func(files []string) []string {
		out := make([]string, len(files))
		for i, file := range files {
			out[i] = filepath.Base(file)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(names(a), names(b))
}

// checkEnded returns an error if a process of this node still writes one of the
// recordings.
func (d Dir) checkEnded(files []string) error {
	writers := RecordingWriters()
	n := 0
	for _, file := range files {
		if _, writes := writers[filepath.Base(file)]; writes {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%s of %s still running: merge it when it has ended; mpitrace report shows what is recorded so far", text.CountOf(n, "process"), d)
	}
	return nil
}

// checkElsewhere returns an error if a process of another node may still write one of
// the recordings: it is not complete, and no command is known to have ended.
func (d Dir) checkElsewhere(files []string, info *Info) error {
	if info.ExitStatus != nil {
		return nil
	}
	for _, file := range stored(files) {
		if host, ended := endedHere(file); !ended {
			return fmt.Errorf("a recording of %s is not complete, so its process may still run there; if it has ended: mpitrace merge %s",
				text.Line(host), text.ShellQuote(string(d)))
		}
	}
	return nil
}

// endedHere reports whether all processes that wrote to a file, a recording or a
// container, are known to have ended: they said so, or ran on this node and have not
// mapped it any more. Otherwise it returns their host.
func endedHere(path string) (host string, ended bool) {
	here, _ := os.Hostname()
	if !strings.HasSuffix(path, recording.ContainerSuffix) {
		name := filepath.Base(path)
		pid := writer(name)
		if pid == 0 || strings.HasPrefix(name, fmt.Sprintf("%s-%d-", here, pid)) { // checkEnded knows those of this node
			return here, true
		}
		host, _, _ = strings.Cut(name, fmt.Sprintf("-%d-", pid))
		return host, !isRecordingOfOwn(path) || canPack(path)
	}
	ended = true // of one that cannot be read, nobody knows anything
	_ = recording.WithContainer(path, func(c *recording.Container) error {
		var boot string
		host, boot = c.Node()
		local := host == here && boot == bootID()
		ended = c.Packed() || c.Complete() || local && !isMapped(path)
		return nil
	})
	return host, ended
}

// isRecordingOfOwn reports whether a file is a recording that is not packed.
func isRecordingOfOwn(path string) bool {
	packed := true
	_ = atomicfile.ReadAt(path, "read", func(r io.ReaderAt, _ int64) error {
		head := make([]byte, len(layout.Magic))
		_, err := r.ReadAt(head, 0)
		packed = !bytes.Equal(head, layout.Magic[:])
		return err
	})
	return !packed
}
