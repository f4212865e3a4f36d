package profile

import (
	"strings"
	"testing"
)

func TestProgramName(t *testing.T) {
	for command, want := range map[string]string{
		"/opt/app 1 2":                                 "/opt/app",
		"/usr/bin/python3 halo.py -n 4":                "halo.py",
		"/usr/bin/python3.11 -u -W ignore sub/halo.py": "sub/halo.py",
		"/usr/bin/python3 -m mpi4py halo.py":           "halo.py",
		"/usr/bin/python3 -m halo.main 4":              "halo.main",
		"/usr/bin/python3 -c import-mpi4py.MPI":        "/usr/bin/python3",
		"/usr/bin/python3":                             "/usr/bin/python3",
		"/opt/pythonic halo.py":                        "/opt/pythonic",
	} {
		words := strings.Fields(command)
		if got := ProgramName(words[0], words); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
}
