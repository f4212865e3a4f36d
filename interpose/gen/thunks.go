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

// spellings are how compilers write an external name of Fortran, in the order of
// the enum in thunks.h. Those of mpi_f08 are known in one.
func spellings(name, kind string) []string {
	lower := strings.ToLower(name + kind)
	if strings.Contains(kind, "f08") {
		return []string{lower + "_"}
	}
	return []string{lower + "_", lower + "__", lower, strings.ToUpper(lower)}
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
			fmt.Fprintf(&names, "    {\"%s\", \"%s\", \"%s\"},\n", calls.Symbol(name),
				strings.ToLower(calls.Symbol(name)), strings.ToUpper(calls.Symbol(name)))
			writeNameThunks(&thunks, c, name, n)
			n++
		}
	}
	fmt.Fprintf(b, "#include \"calls_gen.h\"\n#include \"fortran.h\"\n#include \"thunks.h\"\n\n"+
		"#if MT_FORTRAN\nconst uint32_t mt_next_count = %d * MT_KINDS * MT_SPELLINGS;\n"+
		"void *mt_next[%d * MT_KINDS * MT_SPELLINGS];\nbool mt_next_foreign[%d * MT_KINDS * MT_SPELLINGS];\n\n"+
		"const mt_next_name mt_next_names[] = {\n%s};\n\nMT_THUNK_CODE;\n%s#endif\n", n, n, n, &names, &thunks)
	return nil
}

// writeNameThunks writes those of the n-th name.
func writeNameThunks(b *bytes.Buffer, c calls.Call, name string, n int) {
	pmpi := "MT_THUNK_PMPI"
	if name == "Pcontrol" {
		pmpi = "MT_THUNK_PMPI_JUMPED" // it alone has no ierror that a layer would have to set
	}
	index := func(kind, spelling int) int { return (n*len(kinds)+kind)*4 + spelling }
	fmt.Fprintf(b, "\n#if MT_HAVE_%s\n%s(%s, %d, %d);\n", name, pmpi, calls.Symbol(name), index(0, 0), c.ID)
	for k := 2; k < len(kinds); k++ {
		if kinds[k] == cPointer && !hasCPointer(c) {
			continue
		}
		for s, symbol := range spellings(calls.Symbol(name), kinds[k]) {
			fmt.Fprintf(b, "MT_THUNK_FORTRAN(\"%s\", %d, %d);\n", symbol, index(k, s), c.ID)
		}
	}
	b.WriteString("#endif\n")
	if c.Large() && name == c.Name {
		fmt.Fprintf(b, "#if MT_HAVE_%s_c\n%s(MPI_%s_c, %d, %d);\n#endif\n", name, pmpi, name, index(1, 0), c.ID)
	}
}
