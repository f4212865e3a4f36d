package interpose

import (
	"context"
)

// lister is what BuildLister makes.
var lister = product{
	what: "the program that lists the MPI's variables", dir: "mpit", name: "mpitrace-vars-%s",
	linked:  true,
	compile: []string{"-std=gnu11", "-O1", "-g1", "-Wall", "-Wextra", "-Wno-deprecated-declarations"},
}

// BuildLister compiles the program that asks an MPI for its variables into the
// user's cache, or finds it there, and returns its path.
func BuildLister(ctx context.Context, o BuildOptions) (string, error) { return lister.build(ctx, o) }
