package mpit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sample is a list with all kinds of entries.
const sample = `library version=An%20MPI%201.0 standard=4.1
enum id=7f00 name=on%20or%20off value=0 item=off value=1 item=on
cvar index=0 name=a_switch about=Turns%20it%20on. verbosity=user-basic type=int bind=none scope=all-eq enum=7f00 count=1 value=1
cvar index=1 name=limits about= verbosity=mpidev-all type=unsigned%20long bind=none scope=local count=2 value=10 value=20
cvar index=2 name=path about=%FF%0A verbosity=17 type=char count=64 value=
enum id=7f00 name=again value=5 item=five
error kind=cvar index=3 call=MPI_T_cvar_read signal=11
cvar index=3 name=gone about=x verbosity=tuner-all type=int bind=comm scope=constant count=1
error kind=cvar index=4 call=MPI_T_cvar_get_info code=57 reason=MPI_T_ERR_INVALID_INDEX
enum id=7f10 name=flags value=1 item=send value=2 item=put value=4 item=get
cvar index=5 name=ways about= verbosity=user-all type=unsigned bind=none scope=readonly enum=7f10 count=1 value=5
pvar index=0 name=queue about=Length. verbosity=tuner-basic class=level type=unsigned bind=comm readonly=1 continuous=1 atomic=0
event index=0 name=arrived about=A%20message. verbosity=user-basic bind=comm enum=7f00 type=int at=0 type=count at=8
source index=0 name=clock about= order=ordered ticks_per_second=1000000000 max_ticks=-1
category index=0 name=all about=Everything. cvar=0 cvar=4 category=1
category index=1 name=part about= cvar=1 pvar=0 event=0
end lines=16
`

func parsed(t *testing.T, text string) *Catalogue {
	t.Helper()
	l, err := Parse([]byte(text))
	testenv.NoError(t, err)
	return l
}

func TestParse(t *testing.T) {
	variable := func(index int, name string, v Verbosity, typ string, count int, binding string) VariableInfo {
		return VariableInfo{Index: index, Name: name, Verbosity: v, Type: typ, Count: count, Binding: binding}
	}
	with := func(v VariableInfo, f func(*VariableInfo)) VariableInfo { f(&v); return v }
	want := &Catalogue{
		Library: "An MPI 1.0", Standard: "4.1",
		Enums: []Enum{{1, "on or off", []Item{{0, "off"}, {1, "on"}}}, {2, "flags", []Item{{1, "send"}, {2, "put"}, {4, "get"}}}},
		CVars: []CVar{
			{Scope: "all-eq", VariableInfo: with(variable(0, "a_switch", 1, "int", 1, "none"), func(v *VariableInfo) {
				v.EnumID, v.Values, v.Item, v.Description, v.Categories = 1, []string{"1"}, "on", "Turns it on.", []string{"all"}
			})},
			{Scope: "local", VariableInfo: with(variable(1, "limits", 9, "unsigned long", 2, "none"), func(v *VariableInfo) {
				v.Values, v.Categories = []string{"10", "20"}, []string{"part"}
			})},
			{VariableInfo: with(variable(2, "path", 0, "char", 64, ""), func(v *VariableInfo) {
				v.Values, v.Description = []string{""}, "\xff\n"
			})},
			{Scope: "constant", VariableInfo: with(variable(3, "gone", 6, "int", 1, "comm"), func(v *VariableInfo) {
				v.Description, v.Error = "x", "MPI_T_cvar_read: signal 11"
			})},
			{Scope: "readonly", VariableInfo: with(variable(5, "ways", 3, "unsigned", 1, "none"), func(v *VariableInfo) {
				v.EnumID, v.Values, v.Item = 2, []string{"5"}, "send,get"
			})},
		},
		PVars: []PVar{{Class: "level", Readonly: true, Continuous: true, VariableInfo: with(variable(0, "queue", 4, "unsigned", -1, "comm"),
			func(v *VariableInfo) { v.Description, v.Categories = "Length.", []string{"part"} })}},
		Categories: []Category{
			{Index: 0, Name: "all", Description: "Everything.", CVars: []string{"a_switch"}, Categories: []int{1}},
			{Index: 1, Name: "part", CVars: []string{"limits"}, PVars: []string{"queue"}, Events: []string{"arrived"}},
		},
		Events:  []EventType{{0, "arrived", 1, "comm", 1, []string{"int", "count"}, "A message.", []string{"part"}}},
		Sources: []ClockedSource{{0, "clock", "ordered", 1000000000, -1, ""}},
		Errors: []Error{
			{Kind: "cvar", Index: 3, Call: "MPI_T_cvar_read", Signal: 11},
			{Kind: "cvar", Index: 4, Call: "MPI_T_cvar_get_info", Code: 57, Reason: "MPI_T_ERR_INVALID_INDEX"},
		},
	}
	if d := cmp.Diff(want, parsed(t, sample), cmpopts.IgnoreFields(VariableInfo{}, "Enum")); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
}

func TestParseDamaged(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "ends after 0 lines"},
		{"no end", "library version=x standard=3.1\n", "ends after 1 lines"},
		{"a line is missing", "library version=x standard=3.1\nend lines=2\n", "line 2: 1 lines of 2"},
		{"text behind the end", "end lines=0\nend lines=1\n", "line 2: text behind the end"},
		{"an end without a number", "end\n", "line 1: 0 lines of -1"},
		{"an empty line", "\nend lines=1\n", "line 1: an empty line"},
		{"no key", "cvar index\n", `"index" is not key=value`},
		{"half an escape", "cvar index=0 name=a%2\n", "line 1: invalid URL escape"},
		{"no number", "cvar index=x\n", `index="x" is not a number`},
		{"a number too large", "pvar index=0 count=99999999999999999999\n", "is not a number"},
		{"values without names", "enum id=1 name=x value=1\n", "an enumeration of 1 values with 0 names"},
		{"a member that is no number", "category index=0 cvar=all\n", `cvar="all" is not a number`},
		{"what an MPI prints", "Hello, world\n", `"world" is not key=value`},
		{"another kind", "rvar index=0\n", `unknown kind, "rvar"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	for n := range sample {
		if _, err := Parse([]byte(sample[:n])); err == nil && n < len(sample)-1 { // the last newline may be missing
			t.Fatalf("no error for a list that lacks %q at its end", sample[n:])
		}
	}
}

// Members and enumerations that do not exist, and categories that contain
// themselves.
func TestParseStrange(t *testing.T) {
	l := parsed(t, `cvar index=7 name=a about= enum=5 value=1
category index=3 name=loop about= cvar=-9 cvar=7 cvar=1000000 pvar=2 event=1 category=3 category=99
error kind=nothing index=0 call=x code=1
end lines=3
`)
	if v := l.CVars[0]; v.EnumID != 0 || v.Enum != nil || v.Item != "" {
		t.Errorf("got %+v for a variable whose enumeration is not described", v)
	}
	if c := l.Categories[0]; !cmp.Equal(c.CVars, []string{"a"}) || c.PVars != nil || c.Events != nil {
		t.Errorf("got %+v, want the variable a alone", c)
	}
}

// FuzzReader requires that no text causes a panic, and that memory is
// proportional to the text.
func FuzzReader(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("end lines=0\n"))
	f.Add([]byte(strings.ReplaceAll(sample, "index=0", "index=-1")))
	f.Fuzz(func(t *testing.T, text []byte) {
		var l *Catalogue
		used := testenv.Allocated(func() { l, _ = Parse(text) })
		if limit := uint64(1<<20 + 400*len(text)); used > limit {
			t.Errorf("%d bytes allocated for a text of %d bytes", used, len(text))
		}
		if l != nil {
			l.Select(EntrySelection{NamePattern{"*a*"}, TunerBasic, AllKinds})
			_ = fmt.Sprint(l.CVars)
		}
	})
}
