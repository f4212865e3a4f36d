package symbolize

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// plainName returns a symbol's name in the source: demangled for C++, module
// and procedure for Fortran.
func plainName(symbol string) string {
	symbol = symbol[:min(len(symbol), maxSymbol)]
	name, mangled := demangled(symbol)
	if mangled {
		return name
	}
	if symbol == "MAIN__" {
		return symbol // gfortran's name of the main program
	}
	// Compilers make copies of functions: solve.part.0, solve.constprop.0,
	// solve.cold.
	if name, _, _ := strings.Cut(symbol, "."); name != "" {
		symbol = name
	}
	// A Fortran procedure outside of modules ends with one underscore, or, by
	// g77's convention, two.
	if name := strings.TrimRight(symbol, "_"); name != "" {
		return name
	}
	return symbol
}

// Limits on names: the logarithm to base 2 of a demangled name's length, and
// the bytes of a symbol. C++ names may be deeply nested, and demangling is
// recursive.
const (
	maxName   = 12
	maxSymbol = 64 << 10
)

// demangled returns the source name of a mangled symbol, without parameters:
// these are long, and the line number distinguishes overloads. A symbol that is
// not mangled is returned as it is.
func demangled(symbol string) (name string, ok bool) {
	symbol = symbol[:min(len(symbol), maxSymbol)]
	if strings.HasPrefix(symbol, "_Z") || strings.HasPrefix(symbol, "_R") {
		name, err := demangle.ToString(symbol, demangle.NoParams, demangle.NoTemplateParams, demangle.NoClones, demangle.MaxLength(maxName))
		return name, err == nil
	}
	if name, ok := fortranName(symbol); ok {
		return name, true
	}
	return symbol, false
}

// fortranName returns the name of a module's procedure: __grid_MOD_exchange
// (gfortran), grid_mp_exchange_ (Intel), _QMgridPexchange (flang).
func fortranName(symbol string) (string, bool) {
	if rest, ok := strings.CutPrefix(symbol, "__"); ok {
		if module, proc, ok := strings.Cut(rest, "_MOD_"); ok && module != "" && proc != "" {
			proc, _, _ = strings.Cut(proc, ".")
			return module + "::" + proc, true
		}
	}
	if module, proc, ok := strings.Cut(symbol, "_mp_"); ok && module != "" && strings.HasSuffix(proc, "_") {
		return module + "::" + strings.TrimRight(proc, "_"), true
	}
	if rest, ok := strings.CutPrefix(symbol, "_QM"); ok { // flang's names are lower-case
		if module, proc, ok := strings.Cut(rest, "P"); ok && module != "" && proc != "" {
			return module + "::" + proc, true
		}
	}
	return symbol, false
}
