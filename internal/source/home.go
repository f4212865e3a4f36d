package source

import (
	"cmp"
	"path/filepath"
	"sync"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
)

// home finds recordings that were moved into a run directory, or into a
// container, after they had been listed.
type home struct {
	dir rundir.Dir

	mutex  sync.Mutex
	places map[string]string // of recordings in containers, by file name
}

// find returns the path of a recording, on its own or in a container.
func (h *home) find(name string) string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if place := h.places[name]; place != "" && rundir.Exists(recording.FileOf(place)) {
		return place
	}
	h.places = map[string]string{}
	for _, place := range rundir.Contained(h.dir.Recordings()) {
		h.places[filepath.Base(place)] = place
	}
	return cmp.Or(h.places[name], filepath.Join(h.dir.Recordings(), name))
}
