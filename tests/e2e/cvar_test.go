package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// eagerLimit returns the name of a control variable that sets the MPI's eager
// limit.
func (m implementation) eagerLimit() string {
	switch {
	case m.name == "openmpi":
		return "btl_vader_eager_limit"
	case openMPI(m):
		return "btl_sm_eager_limit"
	case m.name == "impi": // which has no variable for its eager limit
		return "MPIR_CVAR_BCAST_LONG_MSG_SIZE"
	}
	return "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"
}

// integerCvar returns the name of a control variable, an int, that must be the
// same on all ranks.
func (m implementation) integerCvar() string {
	if m.name == "impi" {
		return "MPIR_CVAR_BCAST_LONG_MSG_SIZE"
	}
	return "MPIR_CVAR_CTXID_EAGER_SIZE"
}

// textCvar returns the name of a control variable that is a text.
func (m implementation) textCvar() string {
	if m.name == "impi" {
		return "MPIR_CVAR_USE_BCAST"
	}
	return "MPIR_CVAR_CH4_NETMOD"
}

// recordCvars records a command with --cvar for each line of cvars.
func recordCvars(t *testing.T, cvars string, command ...string) job {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	argv := []string{mpitrace, "run", "-o", dir}
	for line := range strings.Lines(cvars) {
		argv = append(argv, "--cvar", strings.TrimSuffix(line, "\n"))
	}
	out := succeed(t, nil, slices.Concat(argv, []string{"--"}, command)...)
	j := job{output: out, dir: dir, ranks: readRecordings(t, dir)}
	checkWhole(t, 2, j)
	return j
}

// fromCvar returns the variables of a report that --cvar has set.
func fromCvar(s aggregate.Summary) []aggregate.UserCVar {
	return slices.DeleteFunc(slices.Clone(s.Variables), func(v aggregate.UserCVar) bool { return v.From != aggregate.FromCvar })
}

// TestCvar sets a variable. The program must see its value, and reports must
// show it. Without --cvar, MPI_T must not be used.
func TestCvar(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program, name := m.compile(t, "cvar"), m.eagerLimit()
		alone := succeed(t, nil, m.launch(2, program, name)...).stdout
		plain := recordCvars(t, "", m.launch(2, program, name)...)
		if closed := strings.Contains(alone, "MPI_T was closed\n"); plain.stdout != alone || !closed && m.name != "mpich5" { // MPI_Init of mpich5 opens MPI_T itself
			t.Fatalf("without --cvar the program prints\n%sand without mpitrace\n%s", plain.stdout, alone)
		}
		j := recordCvars(t, name+"=12345", m.launch(2, program, name)...)
		if want := "ok\nMPI_T was open\n" + name + "=12345\n"; j.stdout != want {
			t.Errorf("the program prints %q, want %q", j.stdout, want)
		}
		scope := profile.ScopeAllEq
		if openMPI(m) {
			scope = profile.ScopeReadOnly
		}
		want := profile.Variable{Name: name, Value: "12345", Asked: true, Scope: scope}
		for _, p := range j.ranks {
			if !slices.Contains(p.Variables, want) {
				t.Errorf("rank %d has %+v", p.Rank, p.Variables)
			}
		}
		info, err := rundir.Dir(j.dir).ReadInfo()
		if err != nil || !slices.Contains(info.Jobs[0].Variables, want) {
			t.Errorf("run.json: %v, %+v", err, info.Jobs)
		}
		s, _ := reportOf(t, j.dir)
		diff(t, "variables of the report", []aggregate.UserCVar{{Name: name, Value: "12345", From: aggregate.FromCvar, Scope: scope,
			Ranks: profile.RankSet{{First: 0, Last: 1}}}}, fromCvar(s))
		if len(s.Problems) > 0 {
			t.Errorf("problems %q", s.Problems)
		}
		for _, test := range []struct{ want, text string }{
			{"\nMPI variables set: " + name + "=12345 (--cvar)", succeed(t, nil, mpitrace, "report", "--full", j.dir).stdout},
			{"\nMPI variable " + name + ": not set in A, 12345 in B\n", succeed(t, nil, mpitrace, "diff", plain.dir, j.dir).stdout},
		} {
			if !strings.Contains(test.text, test.want) {
				t.Errorf("no %q in\n%s", test.want, test.text)
			}
		}
	})
}

// TestCvarsThatDiffer checks that run.json lists the variables that differ from
// their defaults, and that the default is the value that a program reads
// without the setting.
func TestCvarsThatDiffer(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program, name, variable := m.compile(t, "cvar"), m.eagerLimit(), m.eagerLimit()
		if openMPI(m) {
			variable = "OMPI_MCA_" + name
		}
		_, value, _ := strings.Cut(succeed(t, nil, m.launch(2, program, name)...).stdout, name+"=")
		want := rundir.TunedCVar{Name: name, Value: "4711", Default: strings.TrimSpace(value)}
		for _, set := range []bool{true, false} {
			dir, env := filepath.Join(t.TempDir(), "run"), []string{}
			if set {
				env = append(env, variable+"=4711")
			}
			succeed(t, env, slices.Concat([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(2, program))...)
			info, err := rundir.Dir(dir).ReadInfo()
			if err != nil || slices.Contains(info.CVars, want) != set {
				t.Errorf("set %t, want %+v: %v, %+v", set, want, err, info.CVars)
			}
		}
	})
}

// TestCvarAgain checks that a variable keeps its value if MPI_Init registers it
// a second time (Open MPI 5.0), and that the environment is not changed.
func TestCvarAgain(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		command := append([]string{"env", "OMPI_MCA_mpi_abort_delay=7"}, m.compile(t, "cvar"), "mpi_show_handle_leaks", "mpi_abort_delay",
			"$OMPI_MCA_mpi_show_handle_leaks", "$OMPI_MCA_mpi_abort_delay")
		j := recordCvars(t, "mpi_show_handle_leaks=true\nmpi_abort_delay=3", m.launch(2, command...)...)
		want := "ok\nMPI_T was open\nmpi_show_handle_leaks=1\nmpi_abort_delay=3\n" +
			"$OMPI_MCA_mpi_show_handle_leaks=?\n$OMPI_MCA_mpi_abort_delay=7\n"
		if j.stdout != want {
			t.Errorf("the program prints\n%swant\n%s", j.stdout, want)
		}
	})
}

// A refusal is a line of MPITRACE_CVAR, and part of the reason for refusing it.
type refusal struct{ line, why string }

// TestCvarRefused sets variables that cannot be set. The program must run all
// the same, and stderr and the report must give each reason once.
func TestCvarRefused(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		refusals := []refusal{
			{"no_such=1", "this MPI has no such control variable"},
			{"MPIR_CVAR_ERROR_CHECKING=abc", `it is a number (int), and "abc" is not`},
			{m.integerCvar() + "=99999999999", "99999999999 is too large for it (int)"},
			{m.textCvar() + "=ofi", "this MPI does not look at texts that are set through MPI_T"},
			{"no value", "MPITRACE_CVAR takes lines NAME=VALUE"},
		}
		if openMPI(m) {
			refusals = []refusal{
				{"no_such=1", "this MPI has no such control variable"},
				{"opal_built_with_cuda_support=1", "it is constant"},
				{"btl_tcp_eager_limit=abc", `it is a number (unsigned long), and "abc" is not`},
				{"btl_tcp_rndv_eager_limit=-5", "it has an unsigned type (unsigned long), and -5 is negative"},
				{"btl_tcp_links=99999999999", "99999999999 is too large for it (unsigned int)"},
				{"pml_base_verbose=loud", `"loud" is not in its enumeration: -1 none, 0 error, 10 component`},
				{"btl=" + strings.Repeat("x", 3000), "it has room for 2047 characters, and the value has 3000"},
			}
		}
		var lines []string
		for _, r := range refusals {
			lines = append(lines, r.line)
		}
		told := "MPITRACE_CVAR=" + strings.Join(lines, "\n") // set in the ranks' environment, as mpitrace run would refuse it
		j := recordCvars(t, "", m.launch(2, "env", told, m.compile(t, "cvar"))...)
		s, _ := reportOf(t, j.dir)
		for _, r := range refusals {
			name, value, _ := strings.Cut(r.line, "=")
			is := func(v aggregate.UserCVar) bool {
				return v.Name == name && v.Value == value && strings.Contains(v.Refused, r.why)
			}
			if !slices.ContainsFunc(fromCvar(s), is) {
				t.Errorf("%s: not refused with %q: %+v", r.line, r.why, fromCvar(s))
			}
			if said := strings.Count(j.stderr, "mpitrace: the MPI's variable "+name+" is not set to "); said != 1 {
				t.Errorf("%s: printed %d times on stderr:\n%s", r.line, said, j.stderr)
			}
			if !slices.ContainsFunc(s.Problems, func(p string) bool {
				return strings.Contains(p, "variable "+name+" was not set to ") && strings.Contains(p, " on ranks 0-1: "+r.why)
			}) {
				t.Errorf("%s: not in %q", r.line, s.Problems)
			}
		}
	})
}

// TestCvarUnstarted checks that mpitrace run refuses variables that cannot be
// set before it starts the job.
func TestCvarUnstarted(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		refusals := []refusal{
			{"MPIR_CVAR_ERROR_CHECKIN=1", "no control variable is named MPIR_CVAR_ERROR_CHECKIN: is it MPIR_CVAR_ERROR_CHECKING?"},
			{"MPIR_CVAR_ERROR_CHECKING=abc", "not of its type, int"},
			{m.textCvar() + "=ofi", m.textCvar() + " is a text: set it in the environment"},
		}
		if openMPI(m) {
			refusals = []refusal{
				{"btl_tcp_eager_limt=1", "no control variable is named btl_tcp_eager_limt: is it btl_tcp_eager_limit"},
				{"opal_built_with_cuda_support=1", "opal_built_with_cuda_support is read-only (its scope is constant)"},
				{"btl_tcp_eager_limit=abc", "not of its type, unsigned long"},
				{"pml_base_verbose=loud", `"loud" is not a value of this variable: none (-1), error (0), component (10)`},
			}
		}
		for _, r := range refusals {
			dir := filepath.Join(t.TempDir(), "run")
			out := execute(t, nil, slices.Concat([]string{mpitrace, "run", "-o", dir, "--cvar", r.line, "--"}, m.launch(2, "/bin/false"))...)
			if out.code != 2 || !strings.Contains(out.stderr, r.why) {
				t.Errorf("%s: exit status %d, and not %q:\n%s", r.line, out.code, r.why, out.stderr)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s: there is a run directory: %v", r.line, err)
			}
		}
	})
}

// TestCvarDisagrees gives ranks different values of a variable that must be the
// same on all ranks.
func TestCvarDisagrees(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		name, values := m.integerCvar(), [2]string{"2", "3"}
		if openMPI(m) {
			name, values = "opal_net_private_ipv4", [2]string{"10.0.0.0/8", "10.0.0.0/9"}
		}
		program, command := m.compile(t, "cvar"), slices.Clone(m.launcher)
		for rank, value := range values {
			if rank > 0 {
				command = append(command, ":")
			}
			command = append(command, "-n", "1", "env", "MPITRACE_CVAR="+name+"="+value, program)
		}
		s, _ := reportOf(t, recordCvars(t, "", command...).dir)
		want := []string{"the MPI's variable " + name + " was set to " + values[0] + " on rank 0 and " + values[1] + " on rank 1, although all must agree"}
		diff(t, "problems", want, s.Problems)
	})
}

// TestCvarOfEnvironment checks that the report has the variables that the user
// has set by the launcher's options, but not those that the launcher itself
// sets. run.json has both.
func TestCvarOfEnvironment(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		options, want := []string{"-genv", m.integerCvar(), "3"}, m.integerCvar()+"=3"
		if openMPI(m) {
			options, want = []string{"--mca", "mpi_abort_delay", "3"}, "OMPI_MCA_mpi_abort_delay=3"
		}
		j := recordCvars(t, "", slices.Concat(m.launcher, options, []string{"-n", "2", m.compile(t, "cvar")})...)
		s, _ := reportOf(t, j.dir)
		var got []string
		for _, v := range s.Variables {
			if _, mine := os.LookupEnv(v.Name); !mine {
				got = append(got, v.Name+"="+v.Value)
			}
		}
		if d := cmp.Diff([]string{want}, got); d != "" {
			t.Error(d)
		}
		info, err := rundir.Dir(j.dir).ReadInfo()
		if err != nil || len(info.Jobs[0].Variables) < len(s.Variables) {
			t.Errorf("run.json: %v, %+v", err, info.Jobs)
		}
		if len(j.ranks[1].Variables) > 0 {
			t.Errorf("rank 1 has %+v", j.ranks[1].Variables)
		}
	})
}
