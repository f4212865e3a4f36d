package main

import (
	"io"
	"slices"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	o, err := parseOptions([]string{"-mpi", "b=/opt/b/bin/mpicc", "-mpi", "a=mpicc", "-lib", "a=x=y.so", "-rounds", "3", "-measure", "5ms"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.mpis.order, []string{"b", "a"}) || o.mpis.value["b"] != "/opt/b/bin/mpicc" {
		t.Errorf("MPIs are %+v", o.mpis)
	}
	if o.libs.value["a"] != "x=y.so" || o.rounds != 3 || o.measure != 5*time.Millisecond {
		t.Errorf("options are %+v", o)
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"an argument":        {"openmpi"},
		"no rounds":          {"-rounds", "0"},
		"a path alone":       {"-lib", "x.so"},
		"an MPI given twice": {"-mpi", "a=b", "-mpi", "a=c"},
		"no value":           {"-mpi", "a="},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(args, io.Discard); err == nil {
				t.Errorf("%v was accepted", args)
			}
		})
	}
}
