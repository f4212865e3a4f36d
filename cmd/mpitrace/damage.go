package main

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/text"
)

// sayDamage warns of what is used all the same.
func sayDamage(log io.Writer, errs []error) {
	for _, err := range errs {
		fmt.Fprintf(log, "mpitrace: %s\n", text.Lines(err.Error()))
	}
}
