package main

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/text"
)

// sayDamage warns of damage in input that is used anyway.
func sayDamage(log io.Writer, errs []error) {
	for _, err := range errs {
		fmt.Fprintf(log, "mpitrace: %s\n", text.Lines(err.Error()))
	}
}
