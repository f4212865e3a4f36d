package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/mpit"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// listed is the output of `mpitrace vars --json`, with levels as names.
type listed struct {
	CVars      []listedVar     `json:"cvars"`
	PVars      []listedVar     `json:"pvars"`
	Categories []mpit.Category `json:"categories"`
	Errors     []mpit.Error    `json:"errors"`
}

type listedVar struct {
	Index      int      `json:"index"`
	Name       string   `json:"name"`
	Verbosity  string   `json:"verbosity"`
	Type       string   `json:"type"`
	Binding    string   `json:"binding"`
	Scope      string   `json:"scope"`
	Enum       int      `json:"enum"`
	Values     []string `json:"values"`
	Default    []string `json:"default"`
	Item       string   `json:"item"`
	Categories []string `json:"categories"`
	Error      string   `json:"error"`

	Description string `json:"description"`
}

func (v listedVar) value() string { return strings.Join(v.Values, ",") }

// vars lists an MPI's variables, with env added to the environment.
func (m implementation) vars(t *testing.T, env []string, flags ...string) listed {
	t.Helper()
	out := succeed(t, env, slices.Concat([]string{mpitrace, "vars", "--cc", m.cc, "--json"}, flags)...)
	var l listed
	if err := json.Unmarshal([]byte(out.stdout), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func byName(all []listedVar) map[string]listedVar {
	names := map[string]listedVar{}
	for _, v := range all {
		names[v.Name] = v
	}
	return names
}

// ownTool returns the path of a program that comes with an MPI.
func (m implementation) ownTool(t *testing.T, name string) string {
	t.Helper()
	if filepath.IsAbs(m.cc) {
		name = filepath.Join(filepath.Dir(m.cc), name)
	}
	testenv.Need(t, name)
	return name
}

func mpich(m implementation) bool { return strings.HasPrefix(m.name, "mpich") }

// infoParam is ompi_info's output for a parameter.
type infoParam struct{ value, level string }

var infoLine = regexp.MustCompile(`^mca:[^:]*:[^:]*:(param|pvar):([^:]+):(value|level|class):(.*)$`)

func readInfo(text string) (params map[string]infoParam, pvars map[string]string) {
	params, pvars = map[string]infoParam{}, map[string]string{}
	for line := range strings.Lines(text) {
		m := infoLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		p := params[m[2]]
		switch {
		case m[1] == "pvar" && m[3] == "class":
			pvars[m[2]] = m[4]
			continue
		case m[1] == "pvar":
			continue
		case m[3] == "value":
			p.value = m[4]
		case m[3] == "level":
			p.level = m[4]
		}
		params[m[2]] = p
	}
	return params, pvars
}

// TestVarsAgainstOmpiInfo requires that each parameter of ompi_info is a cvar
// with the same value and level, and each of its pvars a pvar. docs/mpi_t.md
// explains which variables ompi_info omits.
func TestVarsAgainstOmpiInfo(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		tool := m.ownTool(t, "ompi_info")
		l := m.vars(t, nil)
		unsteady := m.unsteady(t)
		all := []string{tool, "--all", "--parsable", "--level", "9"}
		usual, _ := readInfo(succeed(t, nil, all...).stdout)
		params, pvars := readInfo(succeed(t, nil, append(all, "--internal")...).stdout)
		// Open MPI leaves these uninitialized: what was on the stack may be the
		// same in all runs of one program, and differ in another.
		unsteady["mpi_ft_verbose"], unsteady["pml_ucx_multi_send_nb"] = true, true
		ours := byName(l.CVars)
		for name, p := range params {
			v, ok := ours[name]
			if !ok {
				t.Errorf("ompi_info has %s, vars has not", name)
				continue
			}
			level, err := strconv.Atoi(p.level)
			if err != nil || mpit.Verbosity(level).String() != v.Verbosity {
				t.Errorf("%s has level %s in the tool, %s in vars", name, p.level, v.Verbosity)
			}
			if got := infoValue(v); got != p.value && !unsteady[name] {
				t.Errorf("%s is %q in the tool, %q in vars", name, p.value, got)
			}
		}
		beyond := checkBeyond(t, l.CVars, params)
		inner := len(params) - len(usual)
		t.Logf("%d cvars = %d of ompi_info + %d internal + %d beyond; %d pvars; %d categories", len(l.CVars), len(usual), inner, beyond, len(l.PVars), len(l.Categories))
		if len(usual) < 400 || len(ours) != len(l.CVars) || len(l.CVars) != len(usual)+inner+beyond {
			t.Errorf("%d cvars of %d names, %d in ompi_info, %d of these internal, %d beyond", len(l.CVars), len(ours), len(params), inner, beyond)
		}
		if len(l.PVars) != len(pvars) || len(pvars) == 0 {
			t.Errorf("%d pvars, but ompi_info has %d", len(l.PVars), len(pvars))
		}
		for _, v := range l.PVars {
			if pvars[v.Name] == "" {
				t.Errorf("ompi_info has no pvar %s", v.Name)
			}
		}
	})
}

// infoValue returns a value in the form that ompi_info prints.
func infoValue(v listedVar) string {
	value := v.value()
	switch {
	case v.Enum != 0 && v.Item != "":
		return v.Item
	case v.Type == "bool":
		return map[string]string{"0": "false", "1": "true"}[value]
	case v.Type == "double":
		f, _ := strconv.ParseFloat(value, 64)
		return fmt.Sprintf("%f", f)
	case v.Enum != 0 && value == "0": // no flags are set
		return ""
	case strings.Contains(value, ":"):
		return `"` + value + `"`
	}
	return value
}

// checkBeyond returns the number of cvars that ompi_info does not list.
// ompi_info lists the groups of the frameworks that it knows, so that it omits
// whole groups, and values for which their enumeration has no name.
func checkBeyond(t *testing.T, all []listedVar, params map[string]infoParam) (beyond int) {
	t.Helper()
	known := map[string]bool{} // categories of listed variables
	for _, v := range all {
		if _, ok := params[v.Name]; ok {
			for _, c := range v.Categories {
				known[c] = true
			}
		}
	}
	for _, v := range all {
		if _, ok := params[v.Name]; ok {
			continue
		}
		beyond++
		inKnown := slices.ContainsFunc(v.Categories, func(c string) bool { return known[c] })
		if nameless := v.Enum != 0 && v.Item == ""; inKnown && !nameless {
			t.Errorf("ompi_info lacks %s, which is %+v", v.Name, v)
		}
	}
	return beyond
}

// unsteady returns the names of cvars that the library does not initialize, or
// that contain the working directory.
func (m implementation) unsteady(t *testing.T) map[string]bool {
	t.Helper()
	out := succeed(t, nil, mpitrace, "vars", "--cc", m.cc, "--changed")
	_, names, _ := strings.Cut(out.stderr, "without a default to compare with: ")
	names, _, _ = strings.Cut(names, "\n")
	found := map[string]bool{}
	for _, name := range strings.Split(names, ", ") {
		found[name] = true
	}
	return found
}

// mpivarsLine matches the line that mpivars prints for each cvar. It has tabs
// and no value if there are several values; descriptions can take several
// lines.
var mpivarsLine = regexp.MustCompile(`(?m)^\t(\w+) *(?:=([^\t\n]*)|[^\t=]*)\tSCOPE_(\w+)\t([\w-]+)\t(\w+)\tVERBOSITY_(\w+)\t`)

// TestVarsAgainstMpivars compares our list with that of mpivars, which calls
// MPI_Init. Both must have the same cvars in the same order, with the same
// values, scopes and levels, and as many pvars and categories.
func TestVarsAgainstMpivars(t *testing.T) {
	withEach(t, mpich, func(t *testing.T, m implementation) {
		text := succeed(t, nil, m.ownTool(t, "mpivars")).stdout
		theirs := mpivarsLine.FindAllStringSubmatch(text, -1)
		l := m.vars(t, nil, "--after-init")
		t.Logf("%d cvars, %d pvars, %d categories", len(l.CVars), len(l.PVars), len(l.Categories))
		if len(theirs) < 300 || len(theirs) != len(l.CVars) {
			t.Fatalf("%d cvars, but mpivars has %d", len(l.CVars), len(theirs))
		}
		name := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }
		for i, want := range theirs {
			v := l.CVars[i]
			sameValue := v.value() == want[2] || len(v.Values) > 1 && want[2] == ""
			if v.Name != want[1] || !sameValue || v.Scope != name(want[3]) || v.Verbosity != name(want[6]) {
				t.Errorf("got %s = %s, %s, %s; mpivars has %q", v.Name, v.value(), v.Scope, v.Verbosity, want[1:])
			}
		}
		for what, n := range map[string]int{"MPI Control Variables": len(l.CVars), "MPI Performance Variables": len(l.PVars), "MPI_T categories": len(l.Categories)} {
			if line := fmt.Sprintf("%d %s", n, what); !strings.Contains(text, line) {
				t.Errorf("mpivars does not print %q", line)
			}
		}
		for _, c := range l.Categories {
			line := fmt.Sprintf("Category %s has %d control variables, %d performance variables, and %d subcategories\n", c.Name, len(c.CVars), len(c.PVars), len(c.Categories))
			if !strings.Contains(text, line) {
				t.Errorf("mpivars does not print %q", line)
			}
		}
	})
}

var (
	impiName     = regexp.MustCompile(`(?m)^(\w+) *\n +MPI Datatype:\s+MPI_(\w+)`)
	impiAlias    = regexp.MustCompile(`@Alias:#\s*(\w+)`)
	impiInternal = regexp.MustCompile(`@Verbosity:# *(expert|hidden)`)
)

// TestVarsAgainstImpiInfo requires that each variable of impi_info is a cvar of
// the same type. impi_info prints the alias that the description has, and omits
// what the description calls expert or hidden.
func TestVarsAgainstImpiInfo(t *testing.T) {
	testenv.At(t, testenv.All)
	m := intelMPI()
	setIntelMPI(t)
	tool := m.ownTool(t, "impi_info")
	theirs := impiName.FindAllStringSubmatch(succeed(t, nil, tool, "-a").stdout, -1)
	if len(theirs) < 250 {
		t.Fatalf("impi_info has %d variables", len(theirs))
	}
	l := m.vars(t, nil)
	known, ours := map[string]bool{}, map[string]listedVar{}
	for _, v := range l.CVars {
		ours[v.Name] = v
		if alias := impiAlias.FindStringSubmatch(v.Description); alias != nil {
			ours[alias[1]] = v
		}
	}
	for _, v := range theirs {
		known[v[1]] = true
		if got := ours[v[1]].Type; got != strings.ToLower(v[2]) {
			t.Errorf("%s is of type %q, in impi_info of %s", v[1], got, v[2])
		}
	}
	for _, v := range l.CVars {
		name := v.Name
		if alias := impiAlias.FindStringSubmatch(v.Description); alias != nil {
			name = alias[1]
		}
		if strings.HasPrefix(name, "I_MPI_") && !known[name] && !impiInternal.MatchString(v.Description) {
			t.Errorf("impi_info has no %s: %s", name, v.Description)
		}
	}
	t.Logf("%d cvars, %d of them in impi_info; %d categories", len(l.CVars), len(theirs), len(l.Categories))
}

// TestVarsCounts requires that each variable and category that the library
// counts is described, or reported as impossible to describe, also after
// MPI_Init, where Open MPI 4.1 sometimes crashes.
func TestVarsCounts(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		lines := strings.Split(succeed(t, nil, m.compile(t, "mpit_counts")).stdout, "\n")
		for i, flags := range [][]string{nil, {"--after-init"}} {
			l := m.vars(t, nil, flags...)
			untold := map[string]int{}
			for _, e := range l.Errors {
				if e.Untold() {
					untold[e.Kind]++
				}
			}
			got := fmt.Sprint(len(l.CVars)+untold["cvar"], len(l.PVars)+untold["pvar"], len(l.Categories)+untold["category"])
			t.Logf("%v: %d cvars, %d pvars, %d categories; not described %v", flags, len(l.CVars), len(l.PVars), len(l.Categories), untold)
			if got != lines[i] {
				t.Errorf("%v: %s cvars, pvars and categories; the library counts %s", flags, got, lines[i])
			}
			for _, v := range l.CVars {
				if v.Values == nil && v.Error == "" && v.Binding == "none" {
					t.Errorf("%v: %s has neither a value nor a reason", flags, v.Name)
				}
			}
		}
	})
}

// TestVarsWithoutCompiler lists the variables of each MPI where no compiler is
// found, and compares them with those that are listed with one. The
// library of the standard ABI must have the same variables.
func TestVarsWithoutCompiler(t *testing.T) {
	testenv.At(t, testenv.All)
	none := t.TempDir()
	for _, m := range append(implementations(), intelMPI()) {
		t.Run(m.name, func(t *testing.T) {
			testenv.Need(t, m.cc)
			if m.name == "impi" {
				setIntelMPI(t)
			}
			library := m.mpiLibrary(t)
			if !interpose.HasPrebuilt(interpose.BuildOptions{MPI: library}) {
				testenv.Skip(t, "needs programs of these sources: make prebuilt")
			}
			want := m.vars(t, nil)
			names := func(l listed) (all []string) {
				for _, v := range slices.Concat(l.CVars, l.PVars) {
					all = append(all, v.Name+" "+v.Type)
				}
				return all
			}
			libraries, err := filepath.Glob(filepath.Join(filepath.Dir(library), "libmpi_abi.so.?"))
			if err != nil || debian(m) || openMPI(m) {
				libraries = nil
			}
			for _, library := range append(libraries, library) {
				env := []string{"PATH=" + none, "MPITRACE_CACHE=" + t.TempDir()}
				out := succeed(t, env, mpitrace, "vars", "--mpi", library, "--json")
				var got listed
				if err := json.Unmarshal([]byte(out.stdout), &got); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(out.stderr, "building") {
					t.Errorf("the program was compiled: %s", out.stderr)
				}
				diff(t, "variables of "+filepath.Base(library), names(want), names(got))
			}
		})
	}
}

// TestVarsChanged sets a variable in the environment, and with Open MPI another
// one in the user's file. --changed must list these, and those that the library
// derives from them.
func TestVarsChanged(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		home := t.TempDir()
		env, want := []string{"MPIR_CVAR_BCAST_MIN_PROCS=9"}, map[string]string{"MPIR_CVAR_BCAST_MIN_PROCS": "9"}
		if openMPI(m) {
			env = []string{"OMPI_MCA_btl_tcp_eager_limit=12345", "HOME=" + home}
			// btl_tcp_min_rdma_pipeline_size is the eager limit plus a fragment
			// of 128 KiB.
			want = map[string]string{"btl_tcp_eager_limit": "12345", "btl_tcp_min_rdma_pipeline_size": "143417", "btl_tcp_links": "3"}
			if err := os.MkdirAll(filepath.Join(home, ".openmpi"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".openmpi", "mca-params.conf"), []byte("btl_tcp_links = 3\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		defaults := byName(m.vars(t, nil).CVars) // values without any setting
		before, got := byName(m.vars(t, nil, "--changed").CVars), map[string]string{}
		for name, v := range byName(m.vars(t, env, "--changed").CVars) {
			if _, ok := before[name]; !ok {
				got[name] = v.value()
				if !slices.Equal(v.Default, defaults[name].Values) {
					t.Errorf("%s has the default %q, want %q", name, v.Default, defaults[name].Values)
				}
			}
		}
		diff(t, "changed", want, got)
		for name := range want { // also in the text table
			out := succeed(t, env, mpitrace, "vars", "--cc", m.cc, "--changed", strings.ToLower(name))
			line := regexp.MustCompile(`(?m)^` + name + ` +` + want[name] + ` +` + defaults[name].value() + ` `)
			if !line.MatchString(out.stdout) {
				t.Errorf("no line with %s, its value and default:\n%s", name, out.stdout)
			}
		}
	})
}

// TestVarsOfFaultyMPI checks that errors of some variables do not affect
// others.
func TestVarsOfFaultyMPI(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		want := m.vars(t, nil)
		preload := filepath.Join(t.TempDir(), "faulty.so")
		out, err := exec.Command(m.cc, "-shared", "-fPIC", filepath.Join(root, "tests", "programs", "faulty_mpit.c"), "-o", preload, "-ldl").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		l := m.vars(t, []string{"LD_PRELOAD=" + preload})
		untold, got := map[int]string{}, map[int]listedVar{}
		for _, e := range l.Errors {
			if e.Untold() && e.Kind == "cvar" {
				untold[e.Index] = e.String()
			}
		}
		for _, v := range l.CVars {
			got[v.Index] = v
		}
		for _, v := range want.CVars {
			now := got[v.Index]
			reason, ok := map[int]string{7: "MPI_T_cvar_read: signal 11", 17: "MPI_T_cvar_read: error", 27: "MPI_T_cvar_handle_alloc: error"}[v.Index%100]
			switch {
			case v.Index%100 == 8:
				if untold[v.Index] != "MPI_T_cvar_get_info: signal 6" {
					t.Errorf("variable %d: %q", v.Index, untold[v.Index])
				}
			case v.Index%100 == 18:
				if !strings.Contains(untold[v.Index], "MPI_T_ERR_INVALID_INDEX") {
					t.Errorf("variable %d: %q", v.Index, untold[v.Index])
				}
			case v.Index%100 == 28:
				if now.Name != "" || now.Type != "" || now.Scope != "" || now.Verbosity != "" || now.Binding != "" {
					t.Errorf("variable %d is %+v, but the library did not describe it", v.Index, now)
				}
			case now.Name != v.Name || ok && (now.Values != nil || !strings.HasPrefix(now.Error, reason)) || !ok && (now.Values == nil) != (v.Values == nil):
				t.Errorf("got %+v, want %+v", now, v)
			}
		}
	})
}

// TestVarsInPython compares the table, read by pandas, with the list.
func TestVarsInPython(t *testing.T) {
	python := testenv.Python(t)
	withEach(t, debian, func(t *testing.T, m implementation) {
		file := filepath.Join(t.TempDir(), "vars.arrow")
		succeed(t, nil, mpitrace, "vars", "--cc", m.cc, "--format", "arrow", "-o", file)
		out := succeed(t, nil, python, filepath.Join(root, "tests", "e2e", "testdata", "vars.py"), file)
		var got struct {
			Columns map[string]string
			Kinds   map[string]int
			Values  map[string]*string
		}
		if err := json.Unmarshal([]byte(out.stdout), &got); err != nil {
			t.Fatal(err)
		}
		l := m.vars(t, nil)
		if got.Kinds["cvar"] != len(l.CVars) || got.Kinds["pvar"] != len(l.PVars) || got.Kinds["category"] != len(l.Categories) {
			t.Errorf("rows of kinds %v, want %d cvars, %d pvars, %d categories", got.Kinds, len(l.CVars), len(l.PVars), len(l.Categories))
		}
		if len(got.Columns) != 17 || got.Columns["count"] != "int32" || got.Columns["readonly"] != "bool" || got.Columns["value"] != "string" {
			t.Errorf("columns %v", got.Columns)
		}
		unsteady := m.unsteady(t)
		for _, v := range l.CVars {
			value := got.Values[v.Name]
			if (value == nil) != (v.Values == nil) || value != nil && *value != v.value() && !unsteady[v.Name] {
				t.Errorf("%s differs from %q", v.Name, v.value())
			}
		}
	})
}
