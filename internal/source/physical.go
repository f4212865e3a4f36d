package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// Reasons why the messages that the library sent for a process are not known.
const (
	notFinalized  = "they did not reach MPI_Finalize, where Open MPI's monitoring writes its files"
	notWritten    = "Open MPI's monitoring wrote no file for them; is it in this Open MPI (ompi_info --param pml monitoring), and was it among the components that --mca pml names?"
	damagedFormat = "the file of the monitoring is damaged: %v"
)

// Physical returns the messages that the library sent for a process; nil if
// they were not requested.
func (r *Run) Physical(p *profile.Profile) *profile.Physical {
	switch {
	case r.PhysicalDir == "":
		return p.Physical
	case p.Rank < 0:
		return nil // it ended in MPI_Init
	case p.State != profile.Finalized:
		return &profile.Physical{Unknown: notFinalized}
	}
	// The second name is used if the process read its settings before it called
	// MPI_Init (see launch.Recorder).
	for _, name := range []string{strings.TrimSuffix(filepath.Base(p.Source), rundir.RecordingSuffix),
		fmt.Sprintf("%s-%d", strings.ReplaceAll(p.Host, "/", "_"), p.Pid)} {
		path := filepath.Join(r.PhysicalDir, fmt.Sprintf("%s.%d.prof", name, p.Rank))
		flows, err := readPhysical(path, p)
		switch {
		case err == nil:
			return &profile.Physical{Flows: flows}
		case !errors.Is(err, os.ErrNotExist):
			return &profile.Physical{Unknown: fmt.Sprintf(damagedFormat, err)}
		}
	}
	return &profile.Physical{Unknown: notWritten}
}

// behindP2P begins the part of the component's files after the point-to-point
// part.
const behindP2P = "\n# OSC"

// maxPhysical is the largest of these files that is read, in bytes. It has
// about 300 bytes for each pair and kind of messages.
const maxPhysical = 1 << 30

// readPhysical reads the point-to-point part. The rest is the component's
// logical volume and the communicators, whose names have no unambiguous syntax.
func readPhysical(path string, p *profile.Profile) ([]profile.Flow, error) {
	text, err := atomicfile.Read(path, maxPhysical)
	if err != nil {
		return nil, err
	}
	text, _, whole := bytes.Cut(text, []byte(behindP2P))
	if !whole {
		return nil, fmt.Errorf("%s is cut off", path)
	}
	var flows []profile.Flow
	var wrong error
	err = prof.Scan(bytes.NewReader(text), path, prof.Handler{Histograms: true, Flow: func(f *profile.Flow) {
		if f.From != p.Rank || f.To >= p.Size && p.Size > 0 {
			wrong = fmt.Errorf("%s has messages from %d to %d, but belongs to rank %d of %d", path, f.From, f.To, p.Rank, p.Size)
		}
		kept := *f
		if kept.Histogram = nil; f.Kind == profile.Internal && f.Histogram != nil { // the histogram of an External flow counts both kinds
			histogram := *f.Histogram
			kept.Histogram = &histogram
		}
		flows = append(flows, kept)
	}})
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	profile.SortFlows(flows)
	return flows, nil
}
