package nullmpi

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/calls"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestEachCall makes three calls of each function that is recorded. The MPI refuses the
// first two, of which the second has null pointers and invalid handles, and accepts the
// third. All are counted, and those that fail have no data. programs/each.h checks what
// the program sees.
func TestEachCall(t *testing.T) {
	text, want := eachCall(t)
	source := filepath.Join(t.TempDir(), "each.c")
	testenv.WriteFile(t, source, text)
	withChecks(t, func(t *testing.T, m *MPI) { checkEachCall(t, m.Record(t, nil, m.Compile(t, source)), want) })
}

func checkEachCall(t *testing.T, p *profile.Profile, want map[string]uint64) {
	t.Helper()
	var doubtful uint64
	for _, phase := range []string{"failed", "null", "succeeded"} {
		got := map[string]uint64{}
		for _, r := range p.Rows {
			if p.Slices[r.Slice].Name != phase {
				continue
			}
			if r.Calls > 0 {
				got[r.Call] += r.Calls
			}
			switch {
			case phase == "succeeded":
			case r.Call == "Sendrecv" || r.Call == "Sendrecv_replace":
				doubtful += r.Messages // it may have been sent
			case r.Bytes != 0 || r.Messages != 0:
				t.Errorf("%s, which failed, moved %d bytes in %d messages", r.Call, r.Bytes, r.Messages)
			}
		}
		if !maps.Equal(got, want) {
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s: %d calls of %s, want %d", phase, got[name], name, want[name])
				}
			}
		}
	}
	if n := p.CountAbnormal(profile.DoubtfulSend); doubtful != 4 || n != doubtful {
		t.Errorf("%d messages of Sendrecv, %d doubtful sends, want 4: Sendrecv, Sendrecv_replace, and both with _c", doubtful, n)
	}
	if p.State != profile.Finalized || p.Losses.Any() {
		t.Errorf("state %v, lost %+v", p.State, p.Losses)
	}
}

// skipped are calls that begin or end something, of which a program makes one.
var skipped = []string{"initializes", "finalizes", "aborts"}

// eachCall returns a program that calls all functions, and the number of functions for
// each call of the table.
func eachCall(t *testing.T) (text string, want map[string]uint64) {
	header, err := sources.ReadFile("src/functions_gen.h")
	testenv.NoError(t, err)
	parameters := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^MPI_FUNCTION\((\w+), \((.*?)\), \(`).FindAllStringSubmatch(string(header), -1) {
		parameters[m[1]] = m[2]
	}
	var functions, list strings.Builder
	want = map[string]uint64{}
	for i := range calls.Table {
		c := &calls.Table[i]
		if c.Has(skipped[0]) || c.Has(skipped[1]) || c.Has(skipped[2]) || c.Name == "Pcontrol" {
			continue
		}
		for _, name := range append(c.Names(), c.Name+"_c") {
			if of, ok := parameters[name]; ok {
				fmt.Fprintf(&functions, "static int call_%s(void)\n{\n    return MPI_%s(%s);\n}\n", name, name, arguments(of, values))
				fmt.Fprintf(&functions, "static int null_%s(void)\n{\n    return MPI_%s(%s);\n}\n", name, name, arguments(of, nil))
				fmt.Fprintf(&list, "        {\"%s\", call_%s, null_%s},\n", name, name, name)
				want[c.Name]++
			}
		}
	}
	return fmt.Sprintf("#include \"each.h\"\n%s\nint main(void)\n{\n    static const each all[] = {\n%s        {0}};\n    return try_each(all);\n}\n",
		&functions, &list), want
}

// values are arguments, by type; all others are 0. Pointers lead into the objects of
// programs/each.h.
var values = map[string]string{
	"MPI_Comm": "MPI_COMM_WORLD", "MPI_Datatype": "MPI_INT", "MPI_Op": "MPI_SUM", "MPI_Info": "MPI_INFO_NULL",
	"MPI_Group": "o.group", "MPI_Win": "o.win", "MPI_Request": "o.request", "MPI_File": "o.file",
	"int *": "o.ints", "MPI_Aint *": "o.addresses", "MPI_Count *": "o.counts", "MPI_Offset *": "o.counts",
	"MPI_Comm *": "&o.comm", "MPI_Datatype *": "&o.type", "const MPI_Datatype *": "o.types", "MPI_Errhandler *": "&o.errhandler",
	"MPI_File *": "&o.file", "MPI_Group *": "&o.group", "MPI_Info *": "o.infos", "MPI_Message *": "&o.message", "MPI_Op *": "&o.op",
	"MPI_Request *": "&o.request", "MPI_Session *": "&o.session", "MPI_Status *": "&o.status", "MPI_Win *": "&o.win",
	"int (*)[3]": "(int (*)[3])o.ints", "void *": "o.memory", "char *": "o.memory", "char **": "&o.text", "char ***": "&o.texts",
}

// arguments returns arguments for parameters.
func arguments(parameters string, values map[string]string) string {
	var out []string
	for _, p := range strings.Split(parameters, ", ") {
		if p == "void" {
			continue
		}
		cut := strings.LastIndexAny(p, " *") + 1
		kind := strings.TrimSpace(p[:cut])
		switch {
		case strings.HasSuffix(p, "[][3]"):
			kind = "int (*)[3]"
		case strings.HasSuffix(p, "]"):
			kind += map[bool]string{true: "*", false: " *"}[strings.HasSuffix(kind, "*")]
		}
		value, known := values[kind]
		if !known {
			value = values[strings.TrimPrefix(kind, "const ")]
		}
		if value == "" {
			value = "(" + kind + ")0"
		}
		out = append(out, value)
	}
	return strings.Join(out, ", ")
}
