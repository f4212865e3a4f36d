package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// profile is one of a program that calls MPI_Send and log. The library executes
// 50 + 20 instructions itself, 20 of them called by dl_iterate_phdr, and 30 in
// dl_iterate_phdr, 20 of which are its own.
const profile = `desc: Trigger: Program termination

ob=/opt/cg.A.x
fn=main
0 1000
cob=/lib/libtool.so
cfn=mpi_send_
calls=10 0
0 5080
cob=/lib/libm.so.6.1
cfn=log
calls=1 0
0 400

ob=/lib/libm.so.6.1
fn=log
0 400

ob=/lib/libtool.so
fn=mpi_send_
0 50
cob=/lib/libc.so.6
cfn=dl_iterate_phdr
calls=1 0
0 30
cob=/lib/libmpi_mpifh.so.40
cfn=MPI_SEND
calls=10 0
0 5000

fn=visit
0 20

ob=/lib/libc.so.6
fn=dl_iterate_phdr
0 10
cob=/lib/libtool.so
cfn=visit
calls=1 0
0 20

ob=/lib/libmpi_mpifh.so.40
fn=MPI_SEND
0 5000

totals: 6480
`

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "callgrind.out")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(profile)
	var c counts
	if err := c.read(path, "libtool.so", []string{"cg.A.x", "libm.so.6"}); err != nil || c.own != 1400 || c.added != 80 {
		t.Errorf("%+v, %v; want 1400 and 80", c, err)
	}
	for name, text := range map[string]string{
		"a torn profile":            profile[:strings.Index(profile, "totals")],
		"one without the library":   strings.ReplaceAll(profile, "libtool", "libother"),
		"one of another executable": strings.NewReplacer("cg.A.x", "env", "libm.so", "libn.so").Replace(profile),
	} {
		write(text)
		if err := new(counts).read(path, "libtool.so", []string{"cg.A.x", "libm.so.6"}); err == nil {
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
