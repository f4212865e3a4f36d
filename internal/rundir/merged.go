package rundir

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/text"
)

// Stale reports whether the merged files are missing, or made of other recordings or of
// an earlier state of them.
func (d Dir) Stale() bool {
	files, err := d.RecordingFiles()
	return err == nil && d.StaleWith(files)
}

func (d Dir) StaleWith(files []string) bool {
	if len(files) == 0 {
		return false
	}
	for _, merged := range []string{d.Profile(), d.Comms(), d.Ranks(), d.Info()} {
		if !Exists(merged) {
			return true
		}
	}
	return d.Untraced() || d.ReadMerged().Recordings != d.State(files)
}

// Stored returns the files in which recordings are stored: the recordings
// themselves, or their containers.
func Stored(recordings []string) (files []string) {
	for _, file := range recordings {
		if last := len(files) - 1; last < 0 || filepath.Dir(file) != files[last] { // not in the same container
			files = append(files, recording.FileOf(file))
		}
	}
	return files
}

// MergedState is the content of merged.json: the recordings from which the merged files were made.
// The file is written last.
type MergedState struct {
	Recordings string   `json:"recordings"` // see Dir.state
	Damaged    []string `json:"damaged"`    // recordings, and ranks without one
}

func (d Dir) MergedFrom() string { return filepath.Join(string(d), "merged.json") }

// WriteMerged writes merged.json.
func (d Dir) WriteMerged(m MergedState) error {
	m.Damaged = append([]string{}, m.Damaged...)
	return atomicfile.Write(d.MergedFrom(), func(w io.Writer) error { return text.WriteJSON(w, m) })
}

// MergedDamage returns what is missing from the merged files because of damage.
func (d Dir) MergedDamage() []string { return d.ReadMerged().Damaged }

// ReadMerged reads merged.json. It returns an empty state if that is missing or damaged.
func (d Dir) ReadMerged() (m MergedState) {
	content, err := atomicfile.Read(d.MergedFrom(), maxForeignInfo)
	if err != nil || json.Unmarshal(content, &m) != nil {
		return MergedState{}
	}
	return m
}

// State returns a digest of what the merged files are made of: the content of
// recordings, and the files of messages that the MPI library counted.
func (d Dir) State(recordings []string) string {
	sum := sha256.New()
	stored := Stored(recordings)
	for _, file := range slices.Concat(stored, d.physicalFiles()) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(sum, "%q %d %d\n", filepath.Base(file), info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, file := range stored {
		// the modification time is not enough: see recording.WriteState
		if err := recording.WriteState(sum, file); err != nil {
			fmt.Fprintf(sum, "%q\n", err.Error())
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}
