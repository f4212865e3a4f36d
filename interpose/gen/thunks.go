package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// kinds are the names under which programs and Fortran layers call a function,
// in the order of the enum in thunks.h: after mpi_ and the call's name in lower
// case, before what a compiler appends.
var kinds = []string{"C", "C large", "", "_f08", "_f08ts", "_f08_large", "_f08ts_large"}

// writeThunks writes the names of the Fortran bindings, and PMPI's: see
// fortran.h.
func writeThunks(b *bytes.Buffer) error {
	b.WriteString("#include \"calls_gen.h\"\n#include \"fortran.h\"\n#include \"thunks.h\"\n\n")
	fmt.Fprintf(b, "#if MT_FORTRAN\nvoid *mt_next[%d * MT_KINDS];\n\n", len(calls.Table))
	b.WriteString("const mt_next_name mt_next_names[] = {\n")
	for _, c := range calls.Table {
		fmt.Fprintf(b, "    {\"%s\", \"%s\", \"%s\"},\n", c.Name, strings.ToLower(c.Name), strings.ToUpper(c.Name))
	}
	b.WriteString("};\n\nMT_THUNK_CODE;\n")
	for i, c := range calls.Table {
		if c.Leave == "none" {
			continue
		}
		fmt.Fprintf(b, "\n#if MT_HAVE_%s\n", c.Name)
		fmt.Fprintf(b, "MT_THUNK_PMPI(%s, %d);\n", c.Name, i*len(kinds))
		for k := 2; k < len(kinds); k++ {
			fmt.Fprintf(b, "MT_THUNK_FORTRAN(\"mpi_%s%s\", \"MPI_%s%s\", %d, %d);\n",
				strings.ToLower(c.Name), kinds[k], strings.ToUpper(c.Name), strings.ToUpper(kinds[k]), i*len(kinds)+k, c.ID)
		}
		b.WriteString("#endif\n")
		if c.Large() {
			fmt.Fprintf(b, "#if MT_HAVE_%s_c\nMT_THUNK_PMPI(%s_c, %d);\n#endif\n", c.Name, c.Name, i*len(kinds)+1)
		}
	}
	b.WriteString("#endif\n")
	return nil
}
