// Package container writes synthetic jobs as packed containers of recordings.
package container

import (
	"bytes"
	"fmt"
	"io"
	"maps"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// Write writes the recordings of the ranks from first to before end into a packed
// container, with the names of call sites that the job has. change may change a profile;
// nil is no change.
func Write(path string, j *synth.Job, first, end int, change func(*profile.Profile)) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		names := symbols{}
		out := recording.NewContainerWriter(w, names)
		var raw []byte
		record := func(i int) (name string, err error) {
			p := j.Profile(first + i)
			if change != nil {
				change(p)
			}
			maps.Copy(names, p.Symbols)
			raw, err = recordingtest.Append(raw[:0], p)
			return fmt.Sprintf("%s-%d-%d.rec", p.Host, p.Pid, p.Start), err
		}
		err := out.Learn(end-first, func(i int) []byte {
			record(i) // an error comes again below
			return raw
		})
		for i := 0; i < end-first && err == nil; i++ {
			var name string
			if name, err = record(i); err == nil {
				err = out.Add(name, bytes.NewReader(raw), int64(len(raw)))
			}
		}
		if err != nil {
			return err
		}
		return out.Close()
	})
}

// symbols is a recording.Namer that knows all names.
type symbols profile.Symbols

func (symbols) Add(*profile.Profile)     {}
func (s symbols) Names() profile.Symbols { return profile.Symbols(s) }

// WriteAll writes a packed container for each node into a directory.
func WriteAll(dir string, j *synth.Job, change func(*profile.Profile)) error {
	for first := 0; first < j.Ranks; first += j.PerNode {
		if err := Write(Path(dir, j, first), j, first, min(first+j.PerNode, j.Ranks), change); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path of the container whose lowest rank is first.
func Path(dir string, j *synth.Job, first int) string {
	return fmt.Sprintf("%s/%s-node%04d%s", dir, j.Name, first/j.PerNode, recording.ContainerSuffix)
}
