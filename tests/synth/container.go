package synth

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// WriteContainer writes the recordings of the ranks from first to before end into a packed
// container. change may change a profile; nil is no change.
func (j *Job) WriteContainer(path string, first, end int, change func(*profile.Profile)) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		out := recording.NewContainerWriter(w)
		var raw []byte
		for rank := first; rank < end; rank++ {
			p := j.Profile(rank)
			if change != nil {
				change(p)
			}
			var err error
			if raw, err = recordingtest.Append(raw[:0], p); err != nil {
				return err
			}
			if err := out.AddBytes(fmt.Sprintf("%s-%d-%d.rec", p.Host, p.Pid, p.Start), raw); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// WriteContainers writes a packed container for each node into a directory.
func (j *Job) WriteContainers(dir string, change func(*profile.Profile)) error {
	for first := 0; first < j.Ranks; first += j.PerNode {
		if err := j.WriteContainer(j.ContainerPath(dir, first), first, min(first+j.PerNode, j.Ranks), change); err != nil {
			return err
		}
	}
	return nil
}

// ContainerPath returns the path of the container whose lowest rank is first.
func (j *Job) ContainerPath(dir string, first int) string {
	return fmt.Sprintf("%s/%s-node%04d%s", dir, j.Name, first/j.PerNode, recording.ContainerSuffix)
}
