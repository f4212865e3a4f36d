package interpose

import (
	"context"
)

// lister is the product of BuildLister.
var lister = product{
	what: "the program that lists the MPI's variables", dir: "mpit", name: "mpitrace-vars-%s",
	linked:  true,
	compile: []string{"-std=gnu11", "-O1", "-g1", "-Wall", "-Wextra", "-Wno-deprecated-declarations"},
}

// BuildLister returns the path of the program that lists an MPI's variables. It
// compiles the program into the user's cache unless it is already there.
func BuildLister(ctx context.Context, o BuildOptions) (string, error) { return lister.build(ctx, o) }
