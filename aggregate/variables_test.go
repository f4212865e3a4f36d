package aggregate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestVariables(t *testing.T) {
	refused := profile.Variable{Name: "no_such", Value: "1", Asked: true, Refused: "there is none"}
	ps := withVariables(func(r int) []profile.Variable {
		vs := []profile.Variable{
			asked("btl_eager_limit", "1", profile.ScopeReadOnly), // set again below
			asked("btl_eager_limit", "8192", profile.ScopeReadOnly),
			asked("own", []string{"a", "b"}[r/2], profile.ScopeLocal),
			{Name: "OMPI_MCA_pml", Value: "ob1"},
			{Name: "OMPI_MCA_orte_ess_num_procs", Value: "4"},
			{Name: "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", Value: "node0"},
		}
		if r > 1 {
			vs = append(vs, refused)
		}
		return vs
	})
	s := New(ps).Summary()
	want := []UserCVar{
		{Name: "btl_eager_limit", Value: "8192", From: FromCvar, Scope: profile.ScopeReadOnly, Ranks: profile.RankSet{{First: 0, Last: 3}}},
		{Name: "no_such", Value: "1", From: FromCvar, Refused: "there is none", Ranks: profile.RankSet{{First: 2, Last: 3}}},
		{Name: "own", Value: "a", From: FromCvar, Scope: profile.ScopeLocal, Ranks: profile.RankSet{{First: 0, Last: 1}}},
		{Name: "own", Value: "b", From: FromCvar, Scope: profile.ScopeLocal, Ranks: profile.RankSet{{First: 2, Last: 3}}},
		{Name: "OMPI_MCA_pml", Value: "ob1", From: FromEnvironment, Ranks: profile.RankSet{{First: 0, Last: 0}}},
	}
	testenv.Equal(t, want, s.Variables)
	testenv.Equal(t, []string{"the MPI's variable no_such was not set to 1 on ranks 2-3: there is none"}, s.Problems)
	var back Summary
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if diff := cmp.Diff(want, back.Variables); diff != "" || err != nil {
		t.Errorf("from JSON: %v\n%s", err, diff)
	}
}

// TestVariablesMerge checks that the variables do not depend on how a job is
// divided into parts.
func TestVariablesMerge(t *testing.T) {
	job := func() []*profile.Profile {
		return withVariables(func(r int) []profile.Variable {
			return []profile.Variable{asked("x", []string{"1", "2"}[r%2], profile.ScopeAllEq), {Name: "UCX_TLS", Value: "self"}}
		})
	}
	want := New(job()).Summary().Variables
	a, b := New(job()[2:]), New(job()[:2])
	a.Merge(b)
	testenv.Equal(t, want, a.Summary().Variables)
	testenv.Equal(t, profile.RankSet{{First: 0, Last: 0}, {First: 2, Last: 2}}, want[0].Ranks)
}

func TestVariablesAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(rank int) []profile.Variable
		want []string
	}{
		{"all alike", func(int) []profile.Variable { return []profile.Variable{asked("x", "1", profile.ScopeAllEq)} }, nil},
		{"two values", func(r int) []profile.Variable {
			return []profile.Variable{asked("x", []string{"1", "2"}[min(r, 1)], profile.ScopeAllEq)}
		}, []string{"the MPI's variable x was set to 1 on rank 0 and 2 on ranks 1-3, although all must agree"}},
		{"each for itself", func(r int) []profile.Variable {
			return []profile.Variable{asked("x", []string{"1", "2"}[min(r, 1)], profile.ScopeLocal)}
		}, nil},
		{"one without", func(r int) []profile.Variable {
			if r == 2 {
				return nil
			}
			return []profile.Variable{asked("x", "1", profile.ScopeGroupEq)}
		}, []string{"the MPI's variable x was set to 1 on ranks 0-1, 3 and not at all on rank 2, although all must agree"}},
		{"refused by one", func(r int) []profile.Variable {
			v := asked("x", "1", profile.ScopeAllEq)
			if r == 3 {
				v.Refused = "not now"
			}
			return []profile.Variable{v}
		}, []string{
			"the MPI's variable x was not set to 1 on rank 3: not now",
			"the MPI's variable x was set to 1 on ranks 0-2 and not at all on rank 3, although all must agree",
		}},
	} {
		if got := New(withVariables(c.of)).Problems(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDiffSettings(t *testing.T) {
	compared := func(vs []profile.Variable, settings func(rank int) map[string]string) *ComparedJob {
		ps := withVariables(func(int) []profile.Variable { return vs })
		for r, p := range ps {
			p.Settings = settings(r)
		}
		c, err := OfCompared(profile.List(ps), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a := compared([]profile.Variable{
		{Name: "OMPI_MCA_btl_eager_limit", Value: "4096"}, {Name: "OMPI_MCA_pml", Value: "ob1"}, {Name: "OMPI_MCA_orte_hnp_uri", Value: "1"},
		asked("no_such", "1", 0), {Name: "MPIR_CVAR_X", Value: "7"},
	}, func(int) map[string]string {
		return map[string]string{"watch-unexpected": "9", "stack": "4", "timing": "exact", "cvar": "no_such=1"}
	})
	b := compared([]profile.Variable{
		asked("btl_eager_limit", "8192", profile.ScopeReadOnly), asked("pml", "ob1", profile.ScopeAllEq), {Name: "OMPI_MCA_orte_hnp_uri", Value: "2"},
		{Name: "no_such", Value: "1", Asked: true, Refused: "there is none"}, {Name: "UCX_TLS", Value: "self"}, {Name: "MPIR_CVAR_X", Value: "7"},
	}, func(r int) map[string]string { return map[string]string{"stack": []string{"4", "5"}[r/2]} })
	d := Compare(a, b, DiffOptions{})
	text := func(s string) *string { return &s }
	if diff := cmp.Diff([]SettingChange{
		{"UCX_TLS", nil, text("self")}, {"btl_eager_limit", text("4096"), text("8192")}, {"no_such", text("1"), nil},
	}, d.Variables); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]SettingChange{
		{"stack", text("4"), text("4 on ranks 0-1 and 5 on ranks 2-3")}, {"watch-unexpected", text("9"), nil},
	}, d.Settings); diff != "" {
		t.Error(diff)
	}
	if d := Compare(a, b, DiffOptions{SettingsUnknown: true}); d.Settings != nil || d.Variables != nil || d.Late != nil {
		t.Errorf("of unknown settings: %v, %v, %v", d.Settings, d.Variables, d.Late)
	}
}

func TestSetByLauncher(t *testing.T) {
	for variable, want := range map[string]bool{
		"OMPI_MCA_ess": true, "OMPI_MCA_ess_base_jobid": true, "OMPI_MCA_essential": false, "OMPI_MCA_pml": false,
		"OMPI_MCA_orte_base_help_aggregate": false, "MV2_COMM_WORLD_RANK": true, "": false,
		"I_MPI_PIN_MAPPING=1:0 0": true, "I_MPI_INTERNAL_MEM_POLICY=default": true, "I_MPI_INTERNAL_MEM_POLICY=hbw": false,
	} {
		if name, value, _ := strings.Cut(variable, "="); setByLauncher(name, value) != want {
			t.Errorf("%s: %v", variable, !want)
		}
	}
}

func TestOfOtherMPI(t *testing.T) {
	for _, test := range []struct {
		name, library string
		want          bool
	}{
		{"OMPI_MCA_pml", "MPICH Version: 4.0.2", true},
		{"OMPI_MCA_pml", "Open MPI v4.1.4, package: Debian", false},
		{"OMPI_MCA_pml", "", false}, // not known
		{"OMPI_MCA_pml", "another MPI 1.0", false},
		{"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "Open MPI v5.0.11", true},
		{"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "MPICH Version: 4.0.2", false},
		{"I_MPI_FABRICS", "Intel(R) MPI Library 2021.19", false},
		{"UCX_TLS", "MPICH Version: 4.0.2", false}, // any MPI may read it
	} {
		if got := ofOtherMPI(test.name, test.library); got != test.want {
			t.Errorf("%s with %q: %v, want %v", test.name, test.library, got, test.want)
		}
	}
}
