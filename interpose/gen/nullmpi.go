package main

import "strings"

// prototype is a function of MPI as the null MPI of the tests declares it.
type prototype struct{ Name, Parameters string }

// Standard returns the functions of the Standard that the library wraps or calls.
func (d callData) Standard() (all []prototype) {
	for _, f := range d.Needed {
		all = append(all, prototype{f.Name, f.Parameters})
	}
	for _, f := range d.Functions {
		if !strings.HasPrefix(f.Name, "MPIX_") {
			all = append(all, prototype{f.Name, strings.ReplaceAll(f.Parameters(), "MT_CONST_4_1", "const")})
		}
	}
	return all
}

// Arguments returns the names of the parameters.
func (p prototype) Arguments() []string { return p.names(func(string) bool { return true }) }

// Outputs returns the names of the pointers through which the function may return
// something: arrays are not among them.
func (p prototype) Outputs() []string {
	return p.names(func(parameter string) bool {
		return strings.Contains(parameter, "*") && !strings.HasPrefix(parameter, "const ") && !strings.HasSuffix(parameter, "]")
	})
}

func (p prototype) names(wanted func(parameter string) bool) (names []string) {
	for _, parameter := range strings.Split(p.Parameters, ", ") {
		if cut := strings.LastIndexAny(parameter, " *"); cut >= 0 && wanted(parameter) && !strings.HasPrefix(parameter, "...") {
			name, _, _ := strings.Cut(parameter[cut+1:], "[")
			names = append(names, name)
		}
	}
	return names
}
