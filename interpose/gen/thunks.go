package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// kinds are the functions that thunks jump to, for each name of a call, in the
// order of the enum in thunks.h: PMPI's, its large-count twin, and what
// Fortran bindings append to the name in lower case.
var kinds = []string{"C", "C large", "", "_f08", "_f08ts", "_f08_large", "_f08ts_large", cPointer}

// cPointer is the form of the functions that make memory: its address is a
// type(c_ptr) there, and an integer in the form without it.
const cPointer = "_cptr"

func hasCPointer(c calls.Call) bool {
	return slices.ContainsFunc(c.Params, func(p calls.Param) bool { return p.Name == "baseptr" })
}

// writeThunks writes the names of the Fortran bindings, and PMPI's: see
// fortran.h.
func writeThunks(b *bytes.Buffer) error {
	var names, thunks bytes.Buffer
	n := 0
	for _, c := range calls.Table {
		if c.Leave == "none" {
			continue
		}
		for _, name := range c.Names() {
			symbol := calls.Symbol(name)
			fmt.Fprintf(&names, "    {\"%s\", \"%s\", \"%s\"},\n", symbol, strings.ToLower(symbol), strings.ToUpper(symbol))
			fmt.Fprintf(&thunks, "\n#if MT_HAVE_%s\nMT_THUNK_PMPI(%s, %d, %d);\n", name, symbol, n*len(kinds), c.ID)
			for k := 2; k < len(kinds); k++ {
				if kinds[k] == cPointer && !hasCPointer(c) {
					continue
				}
				fmt.Fprintf(&thunks, "MT_THUNK_FORTRAN(\"%s%s\", \"%s%s\", %d, %d);\n", strings.ToLower(symbol), kinds[k],
					strings.ToUpper(symbol), strings.ToUpper(kinds[k]), n*len(kinds)+k, c.ID)
			}
			thunks.WriteString("#endif\n")
			n++
		}
		if c.Large() {
			fmt.Fprintf(&thunks, "#if MT_HAVE_%s_c\nMT_THUNK_PMPI(MPI_%s_c, %d, %d);\n#endif\n", c.Name, c.Name,
				(n-len(c.Names()))*len(kinds)+1, c.ID)
		}
	}
	fmt.Fprintf(b, "#include \"calls_gen.h\"\n#include \"fortran.h\"\n#include \"thunks.h\"\n\n"+
		"#if MT_FORTRAN\nvoid *mt_next[%d * MT_KINDS];\n\nconst mt_next_name mt_next_names[] = {\n%s};\n\n"+
		"MT_THUNK_CODE;\n%s#endif\n", n, &names, &thunks)
	return nil
}
