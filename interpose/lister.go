package interpose

import (
	"context"
)

// lister is the product of BuildLister.
var lister = Product{
	what: "the program that lists the MPI's variables", dir: "mpit", name: "mpitrace-vars-%s",
	shared:       []string{"src/base/abi*.h", "src/base/mpi_include.h"},
	perCopy:      true,
	compile:      []string{"-std=gnu11", "-O1", "-g1", "-Wall", "-Wextra", "-Wno-deprecated-declarations"},
	link:         []string{"-Wl,--as-needed", "-ldl"},
	packed:       "mpitrace-vars-%s-%s-%x.zst",
	prebuildLink: []string{"-s", "-ldl"},
}

// BuildLister returns the path of the program that lists an MPI's variables. Its
// first argument is the path of the MPI. BuildLister writes the prebuilt program
// to the user's cache, or else compiles it, unless it is already there.
func BuildLister(ctx context.Context, o BuildOptions) (string, error) { return lister.build(ctx, o) }

// HasLister reports whether BuildLister can build the program: there is a
// compiler wrapper or a prebuilt program.
func HasLister(o BuildOptions) bool { return o.CC != "" || lister.packedFor(o) != nil }
