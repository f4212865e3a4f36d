package mpit

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func cvar(typ string, with func(*CVar)) *CVar {
	v := &CVar{VariableInfo: VariableInfo{Name: "v", Type: typ, Count: 1, Binding: "none"}, Scope: "all"}
	if with != nil {
		with(v)
	}
	return v
}

func TestCheck(t *testing.T) {
	enum := func(items ...Item) func(*CVar) { return func(v *CVar) { v.Enum = &Enum{Name: "e", Items: items} } }
	algorithms := cvar("int", enum(Item{0, "auto"}, Item{1, "Ring"}, Item{4, "tree"}))
	flags := cvar("unsigned", enum(Item{1, "send"}, Item{2, "put"}, Item{4, "get"}))
	marks := cvar("int", func(v *CVar) {
		v.Enum = &Enum{Name: "verbosity", Items: []Item{{-1, "none"}, {0, "error"}, {100, "max"}}}
	})
	pair := cvar("int", func(v *CVar) { v.Count = 2 })
	for _, test := range []struct {
		name  string
		v     *CVar
		value string
		want  string // elements separated by /, or the error
	}{
		{"a number", cvar("int", nil), "-5", "-5"},
		{"blanks around it", cvar("int", nil), " 7 ", "7"},
		{"too large", cvar("int", nil), "2147483648", "not of its type, int"},
		{"large enough", cvar("unsigned long", nil), "18446744073709551615", "18446744073709551615"},
		{"below 0", cvar("unsigned", nil), "-1", "not of its type, unsigned"},
		{"a word", cvar("unsigned long long", nil), "many", "v=many: not of its type, unsigned long long"},
		{"a count", cvar("count", nil), "8000000000", "8000000000"},
		{"a fraction", cvar("double", nil), "1e-3", "1e-3"},
		{"a fraction of an int", cvar("int", nil), "1.5", "not of its type"},
		{"a truth value", cvar("bool", nil), "1", "1"},
		{"another number", cvar("bool", nil), "2", "not of its type, bool"},
		{"a text", cvar("char", nil), " ^ucx, ", " ^ucx, "},
		{"an empty text", cvar("char", nil), "", ""},
		{"a type without a name", cvar("", nil), "1", "its type, unknown,"},
		{"read-only", cvar("int", func(v *CVar) { v.Scope = "readonly" }), "1", "v is read-only (its scope is readonly)"},
		{"constant", cvar("char", func(v *CVar) { v.Scope = "constant" }), "1", "v is read-only (its scope is constant)"},
		{"of an object", cvar("int", func(v *CVar) { v.Binding = "comm" }), "1", "belongs to one object (comm)"},
		{"a name", algorithms, "tree", "4"},
		{"a name in other letters", algorithms, "ring", "1"},
		{"its number", algorithms, "4", "4"},
		{"no name", algorithms, "star", `"star" is not a value of this variable: auto (0), Ring (1), tree (4)`},
		{"no number", algorithms, "2", `"2" is not a value`},
		{"flags by name", flags, "send,get", "5"},
		{"flags by number", flags, "6", "6"},
		{"no flags", flags, "0", "0"},
		{"a bit of none", flags, "8", `"8" is not a value`},
		{"a name of none", flags, "send,take", `"take" is not a value`},
		{"between marks", marks, "40", "40"},
		{"behind the last mark", marks, "101", `"101" is not a value`},
		{"a blank", cvar("int", nil), " 1", "not of its type, int"},
		{"hexadecimal", cvar("int", nil), "-0x10", "-0x10"},
		{"hexadecimal, unsigned", cvar("unsigned long", nil), "+0x2000", "+0x2000"},
		{"no octal", cvar("int", nil), "010", "010"},
		{"two elements", pair, "1,2", "1/2"},
		{"one of two", pair, "1", "1 values, and it takes 2"},
		{"an element that is wrong", pair, "1,x", "v=1,x: not of its type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.v.Parse(test.value)
			if check := test.v.Check(test.value); err == nil {
				err = check
			} else if check == nil {
				t.Errorf("Check returns no error, Parse returns %v", err)
			}
			if err == nil && strings.Join(got, "/") != test.want || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
	var readonly *ReadOnlyError
	if err := cvar("int", func(v *CVar) { v.Scope = "constant" }).Check("1"); !errors.As(err, &readonly) || readonly.Scope != "constant" {
		t.Errorf("got %v, want a ReadOnlyError", err)
	}
}

func TestCVar(t *testing.T) {
	l := &Catalogue{}
	for _, name := range []string{"btl_tcp_eager_limit", "btl_self_eager_limit", "btl_tcp_links", "MPIR_CVAR_BCAST_MIN_PROCS", "x"} {
		l.CVars = append(l.CVars, CVar{VariableInfo: VariableInfo{Name: name}})
	}
	for _, test := range []struct{ name, want string }{
		{"btl_tcp_eager_limt", "named btl_tcp_eager_limt: is it btl_tcp_eager_limit?"},
		{"bcast_min_procs", "is it MPIR_CVAR_BCAST_MIN_PROCS?"},
		{"EAGER_LIMIT", "is it btl_tcp_eager_limit, btl_self_eager_limit?"},
		{"something else", "no control variable is named something else: mpitrace vars lists them"},
	} {
		if _, err := l.CVar(test.name); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
	if v, err := l.CVar("btl_tcp_links"); err != nil || v != &l.CVars[2] {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestVerbosity(t *testing.T) {
	for i, name := range Verbosities() {
		v, err := ParseVerbosity(strings.ToUpper(name))
		if err != nil || int(v) != i+1 || v.String() != name {
			t.Errorf("%s is level %d %s, %v", name, v, v, err)
		}
	}
	if len(Verbosities()) != 9 || TunerBasic.String() != "tuner-basic" || Verbosity(0).String() != "" || Verbosity(10).String() != "" {
		t.Errorf("got levels %v", Verbosities())
	}
	if _, err := ParseVerbosity("all"); err == nil || !strings.Contains(err.Error(), "user-basic, user-detail") {
		t.Errorf("got %v, want an error that names the levels", err)
	}
}

func TestPattern(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "anything", true},
		{"EAGER", "btl_tcp_eager_limit", true},
		{"eager", "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", true},
		{"lazy", "btl_tcp_eager_limit", false},
		{"*eager*", "btl_tcp_eager_limit", true},
		{"eager*", "btl_tcp_eager_limit", false},
		{"btl_*_LIMIT", "btl_tcp_eager_limit", true},
		{"btl_???_eager_limit", "btl_tcp_eager_limit", true},
		{"btl_[a-t]*", "btl_tcp_eager_limit", true},
		{"btl_[^t]*", "btl_tcp_eager_limit", false},
		{"a*c", "a/b/c", true},
		{"a/*", "a/b", true},
	} {
		p, err := ParsePattern(test.pattern)
		if err != nil || p.Match(test.name) != test.want {
			t.Errorf("%q of %q: %v, %v", test.pattern, test.name, p.Match(test.name), err)
		}
	}
	if _, err := ParsePattern("a[b"); err == nil || !strings.Contains(err.Error(), `pattern "a[b"`) {
		t.Errorf("got %v, want an error", err)
	}
}

func TestSelect(t *testing.T) {
	l := parsed(t, sample)
	names := func(l *Catalogue) (all []string) {
		for _, v := range l.CVars {
			all = append(all, v.Name)
		}
		for _, v := range l.PVars {
			all = append(all, v.Name)
		}
		for _, e := range l.Enums {
			all = append(all, e.Name)
		}
		for _, c := range l.Categories {
			all = append(all, c.Name)
		}
		for _, e := range l.Events {
			all = append(all, e.Name)
		}
		for _, s := range l.Sources {
			all = append(all, s.Name)
		}
		return all
	}
	for _, test := range []struct {
		name    string
		pattern string
		upTo    Verbosity
		want    string
		above   int
	}{
		{"all", "", 0, "a_switch limits path gone ways queue on or off flags all part arrived clock", 0},
		{"basics", "", TunerBasic, "a_switch path ways queue on or off flags all part arrived clock", 2},
		{"one and its categories", "limits", 0, "limits all part", 0},
		{"one that is above", "limits", 1, "", 1},
		{"with its enumeration", "ways", 0, "ways flags", 0},
		{"an enumeration", "on or*", 0, "on or off", 0},
		{"none", "nothing", 0, "", 0},
	} {
		p, err := ParsePattern(test.pattern)
		testenv.NoError(t, err)
		got, above := l.Select(EntrySelection{p, test.upTo, AllKinds})
		if strings.Join(names(got), " ") != test.want || above != test.above {
			t.Errorf("%s: got %q and parents %+v; want %q and %+v", test.name, names(got), above, test.want, test.above)
		}
	}
	if got := names(l); len(got) != 12 {
		t.Errorf("Select changed its input: %q", got)
	}
}

// A value that differs between processes is not a default.
func TestUnsteady(t *testing.T) {
	const other = `cvar index=0 name=steady about= type=int value=1
cvar index=1 name=where about= type=char value=%s
cvar index=2 name=wild about= type=bool value=252
end lines=3
`
	one, two := strings.ReplaceAll(other, "%s", "/a%20b"), strings.ReplaceAll(other, "%s", "/c")
	unsteady := map[string]bool{}
	testenv.NoError(t, compare(unsteady, []byte(one), []byte(two)))
	defaults := parsed(t, string(mark([]byte(one), unsteady)))
	for i, want := range []bool{false, true, true} {
		if v := defaults.CVars[i]; v.Unsteady != want || (v.Values == nil) != want {
			t.Errorf("%s: unsteady %v, values %q", v.Name, v.Unsteady, v.Values)
		}
	}
	now := parsed(t, `cvar index=0 name=new about= type=int value=3
cvar index=1 name=steady about= type=int value=2
cvar index=2 name=where about= type=char value=/d
cvar index=3 name=wild about= type=bool value=1
cvar index=4 name=unread about= type=int
end lines=5
`)
	changed := Changed(now, defaults)
	if len(changed) != 2 || changed[0].Name != "new" || changed[0].Default != nil ||
		changed[1].Name != "steady" || !slices.Equal(changed[1].Default, []string{"1"}) {
		t.Errorf("got changed variables %+v, want new, and steady with the default 1", changed)
	}
}

func TestCleaned(t *testing.T) {
	got := cleaned([]string{"PATH=/bin", "OMPI_MCA_btl=tcp", "MPIR_CVAR_X=1", "MPICH_X=2", "I_MPI_FABRICS=shm", "I_MPI_ROOT=/opt",
		"PRTE_MCA_a=1", "PMIX_MCA_a=1", "HOME=/root", "HOMEPAGE=x", "OPAL_PREFIX=/opt", "OMPI_ALLOW_RUN_AS_ROOT=1"})
	if want := "PATH=/bin I_MPI_ROOT=/opt HOMEPAGE=x OPAL_PREFIX=/opt OMPI_ALLOW_RUN_AS_ROOT=1"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
