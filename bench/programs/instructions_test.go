package programs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/bench/measure/measuretest"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// more is what the profile of a program has besides: the program calls log, and
// the wrapper dl_iterate_phdr, which executes 10 instructions itself and 20 in a
// function of the wrapper's library that it calls.
const more = `ob=/tmp/driver
fn=loop_Send
cob=/lib/libm.so.6.1
cfn=log
calls=1 0
0 400

ob=/lib/libm.so.6.1
fn=log
0 400

ob=/tmp/libtool.so
fn=MPI_Send
cob=/lib/libc.so.6
cfn=dl_iterate_phdr
calls=1 0
0 30

fn=visit
0 20

ob=/lib/libc.so.6
fn=dl_iterate_phdr
0 10
cob=/tmp/libtool.so
cfn=visit
calls=1 0
0 20

`

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "callgrind.out")
	write := func(text string) {
		testenv.WriteFile(t, path, text)
	}
	profile := strings.Replace(measuretest.Profile, "totals:", more+"totals:", 1)
	write(profile)
	var c counts
	if err := c.read(path, "libtool.so", []string{"driver", "libm.so.6"}); err != nil || c.own != 1400 || c.added != 50+20+8+10+20 {
		t.Errorf("%+v, %v; want 1400 and 108", c, err)
	}
	for name, text := range map[string]string{
		"a torn profile":            profile[:strings.Index(profile, "totals")],
		"one without the library":   strings.ReplaceAll(profile, "libtool", "libother"),
		"one of another executable": strings.NewReplacer("driver", "env", "libm.so", "libn.so").Replace(profile),
	} {
		write(text)
		if err := new(counts).read(path, "libtool.so", []string{"driver", "libm.so.6"}); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestPassesOn(t *testing.T) {
	for _, c := range []struct {
		wrapper, called string
		want            bool
	}{
		{"MPI_Send", "PMPI_Send", true},
		{"MPI_Send.cold", "PMPI_Send'2", true},
		{"mpi_send_", "MPI_SEND", true},
		{"mpi_send_f08_", "pmpi_send_f08_", true},
		{"mpi_send_f08ts_", "pmpir_send_f08ts_", true},
		{"mt_dlclose", "dlclose@@GLIBC_2.34", true},
		{"MPI_Send", "PMPI_Comm_size", false},
		{"note_peer", "PMPI_Group_translate_ranks", false},
		{"MPI_Init", "dlsym", false},
	} {
		if got := passesOn(c.wrapper, c.called); got != c.want {
			t.Errorf("passesOn(%s, %s) is %v", c.wrapper, c.called, got)
		}
	}
}
