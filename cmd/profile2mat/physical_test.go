package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// physicalJob returns the run of mixedJob, for which the MPI library also
// counted that rank r sent
//
//	to r+1   7 bytes in 1 message of the program, 3 bytes in 1 of its own
//	to r+2   16 bytes in 2 messages of its own
//
// If calls is false, the ranks recorded no calls, only these counts.
func physicalJob(t *testing.T, calls bool) string {
	t.Helper()
	ps, err := readback.Profiles(filepath.Join(mixedJob(t), "profile.arrow"))
	testenv.NoError(t, err)
	for r, p := range ps {
		flow := func(k profile.Kind, to int, bytes, messages uint64) profile.Flow {
			return profile.Flow{Kind: k, From: r, To: (r + to) % 4, Bytes: bytes, Messages: messages}
		}
		p.Physical = &profile.Physical{Flows: []profile.Flow{flow(profile.External, 1, 7, 1), flow(profile.Internal, 1, 3, 1), flow(profile.Internal, 2, 16, 2)}}
		if !calls {
			p.Rows = nil
		}
	}
	dir := t.TempDir()
	arrowOf(t, filepath.Join(dir, "profile.arrow"), ps)
	return dir
}

func TestPhysicalMatrices(t *testing.T) {
	for _, c := range []struct {
		name, flags string
		calls       bool
		files       map[string][4]int // first row of the matrix, by slug and class
	}{
		{"beside what was asked for", "", true, map[string][4]int{"_size_all": {5, 15, 48, 17}, "_size_external": {5, 7, 40, 0}, "_size_internal": {0, 3, 16, 0},
			"_size_osc": {0, 0, 0, 9}, "_size_coll": {0, 8, 8, 8}}},
		{"nothing but that", "", false, map[string][4]int{"_size_all": {}, "_size_internal": {0, 3, 16, 0}}},
		{"of a call", "--call Send", true, map[string][4]int{".call-Send_size_all": {5, 7, 0, 0}, ".call-Send_size_external": {5, 7, 0, 0}}},
		{"physical", "--class physical", true, map[string][4]int{".class-physical_size_all": {0, 10, 16, 0}, ".class-physical_size_external": {0, 7, 0, 0},
			".class-physical_size_internal": {0, 3, 16, 0}}},
	} {
		files, stderr := mustRun(t, append(strings.Fields(c.flags), "-o", t.TempDir(), physicalJob(t, c.calls))...)
		sizes := 0
		for name := range files {
			if strings.Contains(name, "_size_") {
				sizes++
			}
		}
		if sizes != len(c.files) || stderr != "" {
			t.Errorf("%s: %d matrices of bytes, want %d: %v\n%s", c.name, sizes, len(c.files), names(files), stderr)
		}
		for name, row := range c.files {
			if got := files["app"+name+".mat"]; got != circulant(row[:]...) {
				t.Errorf("%s: %s: got\n%s", c.name, name, got)
			}
		}
	}
}

func TestPhysicalUnknown(t *testing.T) {
	ps, err := readback.Profiles(filepath.Join(physicalJob(t, true), "profile.arrow"))
	testenv.NoError(t, err)
	ps[1].Physical = &profile.Physical{Unknown: "it was killed"}
	path := arrowOf(t, filepath.Join(t.TempDir(), "profile.arrow"), ps)
	_, stderr := mustRun(t, "-o", t.TempDir(), "--class", "physical", path)
	if !strings.Contains(stderr, "the messages of the MPI library are not known for rank 1") {
		t.Errorf("said %q", stderr)
	}
}
