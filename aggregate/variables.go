package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Where a control variable of the MPI library was set.
const (
	FromCvar        = "cvar"        // by mpitrace run --cvar, through MPI_T
	FromEnvironment = "environment" // in the environment of rank 0, by the user or by options of the launcher such as --mca and -genv
)

// UserCVar is a control variable of the MPI library that the user set, or tried
// to set.
type UserCVar struct {
	Name    string          `json:"name"`  // name of the control variable or, from the environment, of the environment variable
	Value   string          `json:"value"` // value read back after setting it, otherwise the given value
	From    string          `json:"from"`
	Scope   profile.Scope   `json:"scope,omitempty"`   // only for --cvar
	Refused string          `json:"refused,omitempty"` // why it was not set; from the environment, why its value is not complete
	Ranks   profile.RankSet `json:"ranks"`
}

// launchers holds the environment variables that launchers, and mpitrace
// itself, set for each process. They are not reported as set by the user. A
// star matches any end. NAME=VALUE is a variable that the launcher sets to this
// value unless the user has set it.
var launchers = []struct {
	launcher string
	names    []string
}{
	{"Open MPI to 4.1 (orterun), srun and the MPI itself", []string{
		"OMPI_MCA_ess", "OMPI_MCA_ess_*", "OMPI_MCA_initial_wdir", "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_mpi_yield_when_idle",
		"OMPI_MCA_pmix", "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
		"OMPI_MCA_orte_app_num", "OMPI_MCA_orte_bound_at_launch", "OMPI_MCA_orte_cpu_type", "OMPI_MCA_orte_ess_*",
		"OMPI_MCA_orte_hnp_uri", "OMPI_MCA_orte_jobfam_session_dir", "OMPI_MCA_orte_launch",
		"OMPI_MCA_orte_local_daemon_uri", "OMPI_MCA_orte_num_nodes", "OMPI_MCA_orte_num_restarts", "OMPI_MCA_orte_parent_uri",
		"OMPI_MCA_orte_precondition_transports", "OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_orte_top_session_dir",
		"PMIX_MCA_mca_base_component_show_load_errors", "PMIX_MCA_psec",
	}},
	{"Open MPI from 5.0 (prterun)", []string{
		"OMPI_MCA_PREFIXES", "OMPI_MCA_cpu_type", "OMPI_MCA_num_procs", "PRTE_MCA_ess_*", "PRTE_MCA_prte_hnp_uri", "PRTE_MCA_prte_parent_uri",
	}},
	{"mpitrace run --physical", []string{"OMPI_MCA_pml_monitoring_enable", "OMPI_MCA_pml_monitoring_enable_output", "OMPI_MCA_pml_monitoring_filename"}},
	{"hydra: MPICH, Intel MPI, MVAPICH", []string{
		"MPICH_INTERFACE_HOSTNAME", "MPICH_INTERFACE_HOSTNAME_*", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "MPIR_PARAM_CH3_INTERFACE_HOSTNAME",
		"I_MPI_HYDRA_*", "I_MPI_INFO_*", "I_MPI_MPIRUN", "I_MPI_ROOT", "MV2_COMM_WORLD_*",
		"I_MPI_BIND_WIN_ALLOCATE=localalloc", "I_MPI_INTERNAL_MEM_POLICY=default", "I_MPI_PIN_INFO", "I_MPI_PIN_MAPPING",
		"I_MPI_RETURN_WIN_MEM_NUMA=-1,0",
	}},
}

func setByLauncher(name, value string) bool {
	for _, l := range launchers {
		for _, n := range l.names {
			begin, open := strings.CutSuffix(n, "*")
			if n == name || n == name+"="+value || open && strings.HasPrefix(name, begin) {
				return true
			}
		}
	}
	return false
}

// environments are the names in the environment that one family of MPIs reads, by the begin of their
// libraries' version texts.
var environments = []struct {
	libraries, names []string
}{
	{[]string{"Open MPI"}, []string{"OMPI_MCA_", "PRTE_MCA_"}},
	{[]string{"MPICH", "CRAY MPICH", "MVAPICH", "Intel"}, []string{"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_", "I_MPI_", "MV2_", "MVP_"}},
}

// ofOtherMPI reports whether a variable of the environment belongs to another family of MPIs than a
// library, which therefore does not read it.
func ofOtherMPI(name, library string) bool {
	begins := func(s string, with []string) bool {
		return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(s, w) })
	}
	of, known := false, false // whether the family of the name is that of the library, and whether that is known
	named := false
	for _, e := range environments {
		is := begins(library, e.libraries)
		known = known || is
		if begins(name, e.names) {
			named, of = true, is
		}
	}
	return named && known && !of
}

// variableSums holds, for each variable with its value and outcome, the ranks
// that have it. Variables of the environment are recorded for rank 0 only.
type variableSums map[profile.Variable][]int

func (s variableSums) add(p *profile.Profile) {
	last := map[string]int{} // a variable that is set twice has its last value
	for i, v := range p.Variables {
		if v.Asked && v.Refused == "" {
			last[v.Name] = i
		}
	}
	for i, v := range p.Variables {
		if v.Asked && v.Refused == "" && last[v.Name] != i || !v.Asked && (p.Rank != 0 || setByLauncher(v.Name, v.Value) || ofOtherMPI(v.Name, p.Library)) {
			continue
		}
		if ranks := s[v]; p.Rank >= 0 {
			s[v] = append(ranks, p.Rank)
		} else {
			s[v] = ranks // the process ended before it had a rank
		}
	}
}

func (s *variableSums) merge(o variableSums) {
	if *s == nil {
		*s = variableSums{}
	}
	for v, ranks := range o {
		(*s)[v] = append((*s)[v], ranks...)
	}
}

// variables returns the variables of a job, those set by --cvar first, by name.
func (s variableSums) variables() []UserCVar {
	out := []UserCVar{}
	for v, ranks := range s {
		slices.Sort(ranks)
		spans := profile.RankSetOf(slices.Compact(ranks)...)
		from := FromEnvironment
		if v.Asked {
			from = FromCvar
		}
		out = append(out, UserCVar{v.Name, v.Value, from, v.Scope, v.Refused, spans})
	}
	slices.SortFunc(out, func(a, b UserCVar) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Name, b.Name), a.Ranks.Compare(b.Ranks),
			cmp.Compare(a.Value, b.Value), cmp.Compare(a.Refused, b.Refused), cmp.Compare(a.Scope, b.Scope))
	})
	return out
}

// On returns, for example, " on ranks 0-3"; empty if no rank is known.
func (v *UserCVar) On() string {
	if len(v.Ranks) == 0 {
		return ""
	}
	return " on " + v.Ranks.String()
}

// ShortValue returns a value, shortened if it is too long for a line of text.
func ShortValue(value string) string {
	const most = 60
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return value
}

// variableProblems returns a text for each variable that was refused, and for
// each that ranks set differently although all must agree.
func (j *Job) variableProblems() []string {
	var out []string
	variables := j.variables.variables()
	for _, v := range variables {
		if v.From == FromCvar && v.Refused != "" {
			out = append(out, fmt.Sprintf("the MPI's variable %s was not set to %s%s: %s", v.Name, ShortValue(v.Value), v.On(), v.Refused))
		} else if v.Refused != "" {
			out = append(out, fmt.Sprintf("the environment of rank 0: %s: %s", cmp.Or(v.Name, "its variables"), v.Refused))
		}
	}
	return append(out, j.disagreeing(variables)...)
}

// disagreeing returns a text for each variable that ranks set differently
// although all must agree. The variables must be in the order of
// variableSums.variables.
func (j *Job) disagreeing(variables []UserCVar) []string {
	var out []string
	for i := 0; i < len(variables); {
		var parts []string
		var ranks []int
		must, first := false, i
		for ; i < len(variables) && variables[i].Name == variables[first].Name && variables[i].From == variables[first].From; i++ {
			v := &variables[i]
			if v.From != FromCvar || v.Refused != "" {
				continue
			}
			must = must || v.Scope.MustAgree()
			parts = append(parts, fmt.Sprintf("%s%s", ShortValue(v.Value), v.On()))
			ranks = slices.AppendSeq(ranks, v.Ranks.All())
		}
		if !must {
			continue
		}
		slices.Sort(ranks)
		recorded := slices.DeleteFunc(slices.Clone(j.Recorded()), func(r int) bool { _, set := slices.BinarySearch(ranks, r); return set })
		if len(recorded) > 0 {
			parts = append(parts, fmt.Sprintf("not at all on %s", profile.RankSetOf(recorded...)))
		}
		if len(parts) > 1 {
			out = append(out, fmt.Sprintf("the MPI's variable %s was set to %s, although all must agree", variables[first].Name, text.List(parts)))
		}
	}
	return out
}

// settingSums holds the ranks that have each value of a setting of mpitrace, by
// name and value.
type settingSums map[string]map[string][]int

func (s settingSums) note(name, value string, ranks ...int) {
	if s[name] == nil {
		s[name] = map[string][]int{}
	}
	s[name][value] = append(s[name][value], ranks...)
}

func (s settingSums) add(p *profile.Profile) {
	for name, value := range p.Settings {
		s.note(name, value, p.Rank)
	}
}

func (s *settingSums) merge(o settingSums) {
	for name, values := range o {
		for value, ranks := range values {
			s.note(name, value, ranks...)
		}
	}
}

// values returns the value of each setting. If ranks differ, the text lists
// each value with its ranks.
func (s settingSums) values() map[string]string {
	out := make(map[string]string, len(s))
	for name, values := range s {
		texts := slices.Sorted(maps.Keys(values))
		if len(texts) == 1 {
			out[name] = texts[0]
			continue
		}
		for i, value := range texts {
			slices.Sort(values[value])
			texts[i] = fmt.Sprintf("%s on %s", value, profile.RankSetOf(slices.Compact(values[value])...))
		}
		out[name] = text.List(texts)
	}
	return out
}

// others returns the settings that a comparison reports as settings. A comparison reports control
// variables one by one, and timing and receives by their effect.
func (s settingSums) others() map[string]string {
	out := s.values()
	for _, name := range []string{"cvar", "timing", "receives"} {
		delete(out, name)
	}
	return out
}

// inForce returns the values of the control variables. A value set through
// MPI_T replaces one from the environment, because it is set later. Names from
// the environment lose their prefix OMPI_MCA_, so that both have the same name.
func (s variableSums) inForce() map[string]string {
	environment, written := settingSums{}, settingSums{}
	for v, ranks := range s {
		switch {
		case v.Asked && v.Refused == "":
			written.note(v.Name, v.Value, ranks...)
		case !v.Asked && v.Name != "":
			environment.note(strings.TrimPrefix(v.Name, "OMPI_MCA_"), v.Value, ranks...)
		}
	}
	out := environment.values()
	maps.Copy(out, written.values())
	return out
}
