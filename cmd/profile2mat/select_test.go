package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/internal/matrices"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// mixedJob returns the run directory of four ranks on two nodes. Rank r sends
//
//	to r+1   7 bytes in 1 message by Send, in slice run, in MPI_COMM_WORLD; received as 6
//	to r+2   40 bytes in 2 messages by Isend, in slice warmup, in row
//	itself   5 bytes in 1 message by Send
//	to all   8 bytes by Allreduce
//	to r+3   9 bytes by Put
func mixedJob(t *testing.T) string {
	t.Helper()
	const n = 4
	var ps []*profile.Profile
	for r := range n {
		p := processOf("one", 1, r)
		p.Size, p.Host = n, fmt.Sprintf("node%d", r/2)
		p.Comms[0].Members.N = n
		p.Comms = append(p.Comms, profile.Comm{ID: "abcd" + strings.Repeat("1", 28), Name: "row", Constructor: "Comm_split", Parent: 0, Rank: r,
			Members: profile.Group{Stride: 1, N: n}})
		p.Slices = append(p.Slices, profile.Slice{Index: 1, Name: "warmup"})
		p.Modules = []profile.Module{{Path: "/opt/app", Start: 0x1000, End: 0x2000, Bias: 0x1000}}
		p.Symbols = profile.Symbols{p.Place(0x1010): {Function: "halo", Source: "/src/app.c", Line: 21}}
		send := profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, SizeClass: 3, Calls: 1, Messages: 1}
		to := func(row profile.Row, peer int, bytes uint64) profile.Row {
			row.Peer, row.Bytes = int32((r+peer)%n), bytes
			return row
		}
		isend := send
		isend.Call, isend.Comm, isend.Slice, isend.SizeClass, isend.Messages, isend.Callsite = "Isend", 1, 1, 5, 2, 0x1010
		put, receive := send, send
		put.Call, put.Class, put.Direction, put.SizeClass = "Put", profile.OneSided, profile.Write, 4
		receive.Call, receive.Direction, receive.Spread = "Recv", profile.Recv, profile.ToNobody
		p.Rows = []profile.Row{to(send, 1, 7), to(isend, 2, 40), to(send, 0, 5), to(put, 3, 9), to(receive, 3, 6),
			{Call: "Allreduce", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Peer: profile.PeerNone,
				SizeClass: 4, Calls: 1, Messages: n - 1, Bytes: 8 * (n - 1)}}
		ps = append(ps, p)
	}
	dir := t.TempDir()
	arrowOf(t, filepath.Join(dir, "profile.arrow"), ps)
	return dir
}

// circulant returns the .mat text of four ranks that each send row[0] to
// themselves, row[1] to the next rank, and so on.
func circulant(row ...int) string {
	var b strings.Builder
	for r := range 4 {
		for c := range 4 {
			fmt.Fprintf(&b, "%d ", row[(c-r+4)%4])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSelections(t *testing.T) {
	dir := mixedJob(t)
	for _, c := range []struct {
		flags, slug, size string
		others            string // classes in addition to all
	}{
		{"", "", circulant(5, 15, 48, 17), "external osc coll"},
		{"--self --directed", "", circulant(5, 15, 48, 17), "external osc coll"},
		{"--no-self", ".no-self", circulant(0, 15, 48, 17), "external osc coll"},
		{"--class p2p", ".class-p2p", circulant(5, 7, 40, 0), "external"},
		{"--class coll,one-sided", ".class-coll,one-sided", circulant(0, 8, 8, 17), "osc coll"},
		{"--class direct", ".class-direct", circulant(5, 7, 40, 9), "external osc"},
		{"--class external", ".class-external", circulant(5, 7, 40, 0), "external"},
		{"--class all,p2p", ".class-all,p2p", circulant(5, 15, 48, 17), "external osc coll"},
		{"--class A2A", ".class-A2A", circulant(0, 8, 8, 8), "coll"},
		{"--call Isend", ".call-Isend", circulant(0, 0, 40, 0), "external"},
		{"--call mpi_send,Put", ".call-mpi_send,Put", circulant(5, 7, 0, 9), "external osc"},
		{"--comm row", ".comm-row", circulant(0, 0, 40, 0), "external"},
		{"--comm abcd1", ".comm-abcd1", circulant(0, 0, 40, 0), "external"},
		{"--comm row --comm MPI_COMM_WORLD --class p2p", ".class-p2p.comm-row,MPI_COMM_WORLD", circulant(5, 7, 40, 0), "external"},
		{"--slice warmup", ".slice-warmup", circulant(0, 0, 40, 0), "external"},
		{"--size-class 0-4", ".size-class-0-4", circulant(5, 15, 8, 17), "external osc coll"},
		{"--callsite app.c:21", ".callsite-app.c-21", circulant(0, 0, 40, 0), "external"},
		{"--direction write", ".direction-write", circulant(0, 0, 0, 9), "osc"},
		{"--direction recv", ".direction-recv", circulant(0, 6, 0, 0), "external"},
		{"--direction send --class p2p --no-self", ".class-p2p.direction-send.no-self", circulant(0, 7, 40, 0), "external"},
		{"--ranks 0,1", ".ranks-0,1", "5 15 0 0 \n17 5 0 0 \n0 0 0 0 \n0 0 0 0 \n", "external osc coll"},
		{"--from 2 --to 0-1", ".from-2.to-0-1", "0 0 0 0 \n0 0 0 0 \n48 17 0 0 \n0 0 0 0 \n", "external osc coll"},
		{"--by host", ".by-host", "42 128 \n128 42 \n", "external osc coll"},
		{"--by host --no-self --class p2p", ".class-p2p.no-self.by-host", "7 87 \n87 7 \n", "external"},
		{"--by 3", ".by-3", "175 80 \n80 5 \n", "external osc coll"},
		{"--by 1 --call Send --ranks 0", ".call-Send.ranks-0.by-1", "5 0 0 0 \n0 0 0 0 \n0 0 0 0 \n0 0 0 0 \n", "external"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			files, stderr := mustRun(t, append(strings.Fields(c.flags), "-o", t.TempDir(), dir)...)
			want := []string{}
			for _, class := range append(strings.Fields(c.others), "all") {
				for _, q := range []string{"size", "msg", "avg"} {
					want = append(want, fmt.Sprintf("app%s_%s_%s.mat", c.slug, q, class))
				}
			}
			slices.Sort(want)
			testenv.Equal(t, want, names(files))
			if got := files["app"+c.slug+"_size_all.mat"]; got != c.size {
				t.Errorf("got\n%swant\n%s", got, c.size)
			}
			if stderr != "" {
				t.Errorf("said %q", stderr)
			}
		})
	}
}

func TestFormatsOfFiles(t *testing.T) {
	dir := mixedJob(t)
	files, _ := mustRun(t, "--format", "mat,mtx,npy,csv,arrow", "--format", "parquet,json,png,svg", "--class", "one-sided", "-o", t.TempDir(), dir)
	var want []string
	for _, class := range []string{"all", "osc"} {
		for _, format := range []string{"mat", "mtx", "npy"} {
			for _, q := range []string{"size", "msg", "avg"} {
				want = append(want, fmt.Sprintf("app.class-one-sided_%s_%s.%s", q, class, format))
			}
		}
		for _, format := range []string{"csv", "arrow", "parquet", "json"} {
			want = append(want, fmt.Sprintf("app.class-one-sided_%s.%s", class, format))
		}
		want = append(want, fmt.Sprintf("app.class-one-sided_size_%s.png", class), fmt.Sprintf("app.class-one-sided_size_%s.svg", class))
	}
	slices.Sort(want)
	testenv.Equal(t, want, names(files))
	if got := files["app.class-one-sided_osc.csv"]; got != "sender,receiver,messages,bytes\n0,3,1,9\n1,0,1,9\n2,1,1,9\n3,2,1,9\n" {
		t.Errorf("got %q", got)
	}
	if got := files["app.class-one-sided_size_osc.mtx"]; !strings.Contains(got, "\n% selection: class one-sided\n") || !strings.HasSuffix(got, "\n4 4 4\n1 4 9\n2 1 9\n3 2 9\n4 3 9\n") {
		t.Errorf("got %q", got)
	}
}

// TestSymmetricOfOtherFormats requires that only .mat leaves out the classes
// that Open MPI's script leaves out.
func TestSymmetricOfOtherFormats(t *testing.T) {
	files, _ := mustRun(t, "--symmetric", "--format", "mat,csv,mtx", "--class", "one-sided", "--by", "host", "-o", t.TempDir(), mixedJob(t))
	const slug = "app.class-one-sided.by-host"
	if diff := cmp.Diff([]string{
		slug + ".symmetric_all.csv", slug + ".symmetric_avg_all.mtx", slug + ".symmetric_avg_osc.mtx", slug + ".symmetric_msg_all.mtx",
		slug + ".symmetric_msg_osc.mtx", slug + ".symmetric_osc.csv", slug + ".symmetric_size_all.mtx", slug + ".symmetric_size_osc.mtx",
		slug + "_avg_all.mat", slug + "_msg_all.mat", slug + "_size_all.mat"}, names(files)); diff != "" {
		t.Error(diff)
	}
	// The Puts from 0 to 3 and 2 to 1 are between nodes, those from 1 to 0 and
	// 3 to 2 are not.
	if got := files[slug+".symmetric_osc.csv"]; got != "sender,receiver,messages,bytes\nnode0,node0,1,9\nnode0,node1,1,9\nnode1,node0,1,9\nnode1,node1,1,9\n" {
		t.Errorf("got %q", got)
	}
	if got := files[slug+"_size_all.mat"]; got != "9 9 \n9 9 \n" {
		t.Errorf("got %q", got)
	}
}

func TestUnknownHostsHaveALine(t *testing.T) {
	dir := t.TempDir()
	arrowFile(t, filepath.Join(dir, "profile.arrow"), "one", 0, 1)
	files, _ := mustRun(t, "--by", "host", "--format", "csv", filepath.Join(dir, "profile.arrow"))
	if got := files["app.by-host_external.csv"]; got != "sender,receiver,messages,bytes\nn,n,1,7\nn,(unknown),1,7\n" {
		t.Errorf("got %q", got)
	}
}

func TestSlugs(t *testing.T) {
	dir := mixedJob(t)
	sets := make([]string, 60)
	for i := range sets {
		sets[i] = fmt.Sprint(2 * i)
	}
	args := []string{"--format", "csv", "-o", t.TempDir(), "--ranks", strings.Join(sets, ",")}
	files, _ := mustRun(t, append(args, dir)...)
	for name := range files {
		if len(name) > 130 || !strings.HasPrefix(name, "app.ranks-0,2,4,") {
			t.Errorf("got %q", name)
		}
	}
	args[len(args)-1] += ",200"
	if other, _ := mustRun(t, append(args, dir)...); cmp.Equal(names(files), names(other)) {
		t.Error("two selections have one name")
	}
}

// TestClassOfFiles requires that --class also accepts the name of one-sided
// calls in matrix files, and makes the same matrix.
func TestClassOfFiles(t *testing.T) {
	dir := mixedJob(t)
	var matrices [2]string
	for i, name := range []string{"one-sided", "osc"} {
		stdout, _, err := runCommand("--class", name, "--format", "csv", "-o", t.TempDir(), dir)
		testenv.NoError(t, err)
		first, _, _ := strings.Cut(stdout, "\n")
		text := testenv.ReadFile(t, first)
		matrices[i] = strings.ReplaceAll(string(text), "one-sided", "osc")
	}
	if matrices[0] != matrices[1] || !strings.Contains(matrices[0], "\n0,") {
		t.Errorf("one-sided gives\n%s\nosc gives\n%s", matrices[0], matrices[1])
	}
}

// TestAbsentCall requires a warning that names a selected call in which nothing
// was sent. The other calls are selected.
func TestAbsentCall(t *testing.T) {
	dir, out := mixedJob(t), t.TempDir()
	stdout, stderr, err := runCommand("--call", "Isend,Bsend", "--format", "csv", "-o", out, dir)
	alone, _, aloneErr := runCommand("--call", "Isend", "--format", "csv", "-o", out, dir)
	if err != nil || aloneErr != nil {
		t.Fatal(err, aloneErr)
	}
	if !strings.Contains(stderr, `no call "Bsend" in which something was sent`) {
		t.Errorf("said %q", stderr)
	}
	first, _, _ := strings.Cut(stdout, "\n")
	second, _, _ := strings.Cut(alone, "\n")
	got, err := os.ReadFile(first)
	want, otherErr := os.ReadFile(second)
	rows := func(text []byte) string { _, after, _ := strings.Cut(string(text), "\n"); return after }
	if err != nil || otherErr != nil || rows(got) != rows(want) || rows(got) == "" {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSelectionsThatFail(t *testing.T) {
	dir := mixedJob(t)
	text := put(t, filepath.Join(t.TempDir(), "x.prof"), rankFile(0, 2))
	for _, c := range []struct {
		status            int
		path, flags, want string
	}{
		{2, dir, "--call Isnd", `no call "Isnd" in which something was sent; there is: Isend, Send, Put, Allreduce`},
		{2, dir, "--comm rows", `no communicator "rows" in which something was sent; there is: row#abcd1111, MPI_COMM_WORLD`},
		{2, dir, "--slice warm", `no slice "warm" in which something was sent; there is: warmup, run`},
		{2, dir, "--callsite app.c:22", `no call site "app.c:22" in which something was sent; there is: halo app.c:21`},
		{1, dir, "--size-class 60", "nothing that was sent matches size-class 60"},
		{1, dir, "--class O2A", "nothing that was sent matches class O2A"},
		{1, dir, "--call Send --comm row", "nothing that was sent matches call Send, comm row"},
		{2, dir, "--ranks 4-7", "--ranks 4-7: there are only ranks 0 to 3"},
		{2, text, "--call Send", "is a .prof file, from which nothing can be selected by call"},
		{2, text, "--comm x", "selected by communicator:"},
		{2, text, "--slice x", "selected by slice:"},
		{2, text, "--size-class 1", "selected by size class:"},
		{2, text, "--callsite x", "selected by call site:"},
		{2, text, "--direction recv", "selected by receiver:"},
		{2, text, "--class O2A", "selected by class of collective:"},
		{2, text, "--by host", "does not know hosts (--by host)"},
		{1, dir, "--max-pairs 11 --format csv --class A2A", "no csv of all: 12 pairs of ranks, where --max-pairs allows 11: take --class p2p"},
		{1, dir, "--max-pairs 15", "no mat of all: 16 pairs of ranks, where --max-pairs allows 15: take a sparse format"},
		{2, dir, "--format xls", `unknown format "xls": the formats are mat, mtx, npy, csv, arrow, parquet, json, png, svg`},
		{2, dir, "--class everything", `unknown class "everything": the classes are p2p (or external), O2A, A2O, A2A, one-sided (or osc), coll, direct, all, physical`},
		{1, dir, "--class physical", "nothing that was sent matches class physical: the run must be recorded under Open MPI with mpitrace run --physical"},
		{2, dir, "--class physical,p2p", "--class physical can be combined only"},
		{2, dir, "--class physical --call Send", "--class physical can be combined only"},
		{2, dir, "--class physical --direction recv", "--class physical can be combined only"},
		{2, dir, "--direction up", `unknown direction "up": the directions are send, recv, write, read`},
		{2, dir, "--direction recv,send", "--direction recv cannot be combined"},
		{2, dir, "--by 0", "--by 0: expected rank, host or a number of ranks"},
		{2, dir, "--by node", "--by node: expected rank, host or a number of ranks"},
		{2, dir, "--ranks 3-1", `--ranks: "3-1" is neither a number nor a range`},
		{2, dir, "--ranks 0-4294967295", `--ranks: "0-4294967295": numbers must be below 2^31`},
		{2, dir, "--from 2147483648", `--from: "2147483648": numbers must be below 2^31`},
		{2, dir, "--to 99999999999999999999", `--to: "99999999999999999999": numbers must be below 2^31`},
		{2, dir, "--size-class 65", "--size-class: the classes are 0 to 64"},
		{2, dir, "--self --no-self", "--self and --no-self: give one of the two"},
		{2, dir, "--directed --symmetric", "--directed and --symmetric,"},
		{2, dir, "--format=", "--format: no value given"},
		{2, dir, "--call=", "--call: no value given"},
		{2, dir, "--class=", "--class: no value given"},
		{2, dir, "--comm=", "--comm: no value given"},
		{2, dir, "--ranks=", "--ranks: no value given"},
		{2, dir, "--size-class= --from=", "--from: no value given"},
	} {
		out := t.TempDir()
		_, _, err := runCommand(append(strings.Fields(c.flags), "-o", out, c.path)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || matrices.ExitStatus(err) != c.status {
			t.Errorf("%s: got error %v, want %s", c.flags, err, c.want)
		}
		if left, _ := os.ReadDir(out); len(left) > 0 {
			t.Errorf("%s: wrote %v", c.flags, left)
		}
	}
}

// TestLargeClassesAreLeftOut requires that the classes that are small enough
// are still written.
func TestLargeClassesAreLeftOut(t *testing.T) {
	out := t.TempDir()
	files, stderr := mustRun(t, "--max-pairs", "12", "--format", "csv,png,mat", "-o", out, mixedJob(t))
	if diff := cmp.Diff([]string{"app_coll.csv", "app_external.csv", "app_osc.csv",
		"app_size_coll.png", "app_size_direct.png", "app_size_external.png", "app_size_osc.png"}, names(files)); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"no csv of all: 16 pairs of ranks, where --max-pairs allows 12", "no mat of osc: 16 pairs"} {
		if want = "profile2mat: " + filepath.Join(out, "app") + ": " + want; !strings.Contains(stderr, want) {
			t.Errorf("said %q, not %q", stderr, want)
		}
	}
}

// TestPicturesKeepCollectivesApart requires that the first picture has 40 bytes
// to r+2, not 48, and that Allreduce has its own picture. Selected classes are
// added up.
func TestPicturesKeepCollectivesApart(t *testing.T) {
	dir := mixedJob(t)
	for _, c := range []struct {
		flags, first string
		captions     map[string]string
	}{
		{"--no-self", "app.no-self_size_direct.svg", map[string]string{
			"app.no-self_size_direct.svg": "12 of 16 cells in use; least 7 B, greatest 40 B",
			"app.no-self_size_coll.svg":   "12 of 16 cells in use; each 8 B"}},
		{"--class p2p,coll", "app.class-p2p,coll_size_all.svg", map[string]string{
			"app.class-p2p,coll_size_all.svg": "16 of 16 cells in use; least 5 B, greatest 48 B"}},
	} {
		out := t.TempDir()
		stdout, _, err := runCommand(append(strings.Fields(c.flags), "--format", "svg", "-o", out, dir)...)
		testenv.NoError(t, err)
		if first, _, _ := strings.Cut(stdout, "\n"); first != filepath.Join(out, c.first) {
			t.Errorf("%s: the first picture is %s", c.flags, first)
		}
		for name, caption := range c.captions {
			if picture, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(picture), caption) {
				t.Errorf("%s does not have %q, %v", name, caption, err)
			}
		}
	}
}

// TestUnfollowedReceives requires a warning about receives of unknown size with
// --direction recv, and none for sends.
func TestUnfollowedReceives(t *testing.T) {
	var ps []*profile.Profile
	for r := range 2 {
		p := processOf("one", 2, r)
		p.Unfollowed = true
		p.Rows = []profile.Row{
			{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: int32(1 - r), Calls: 3, Messages: 3, Bytes: 30},
			{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: int32(1 - r), Calls: 1, Messages: 1, Bytes: 10},
			{Call: "Irecv", Class: profile.P2P, Peer: int32(1 - r), Calls: 2}}
		ps = append(ps, p)
	}
	dir := t.TempDir()
	arrowOf(t, filepath.Join(dir, "profile.arrow"), ps)
	const left = "4 nonblocking receives are left out: what they received was not recorded (--receives off)"
	for direction, want := range map[string]bool{"send": false, "recv": true} {
		if _, stderr := mustRun(t, "--direction", direction, "-o", t.TempDir(), dir); strings.Contains(stderr, left) != want {
			t.Errorf("--direction %s: said %q", direction, stderr)
		}
	}
}
