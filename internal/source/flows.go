package source

import (
	"io"
)

// flows are .prof files: those of each phase, or a stream that is read once.
type flows struct {
	phases []*phase
	stream io.Reader
	name   string // of the stream
}

// phase is the .prof files of one phase, or those without a phase.
type phase struct {
	prefix string   // path
	paths  []string // in order of rank
}
