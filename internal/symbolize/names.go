package symbolize

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// plainName is what a symbol is called in the source: C++ demangled, Fortran
// by module and procedure.
func plainName(symbol string) string {
	symbol = symbol[:min(len(symbol), maxSymbol)]
	name, mangled := demangled(symbol)
	if mangled {
		return name
	}
	if symbol == "MAIN__" {
		return symbol // gfortran's, of the main program
	}
	// Copies that a compiler made: solve.part.0, solve.constprop.0, solve.cold
	if name, _, _ := strings.Cut(symbol, "."); name != "" {
		symbol = name
	}
	// A Fortran procedure outside of modules; g77's convention adds two.
	if name := strings.TrimRight(symbol, "_"); name != "" {
		return name
	}
	return symbol
}

// Limits on names: of demangled ones 2 to this power; of symbols, in bytes. Those
// of C++ may nest as deeply as they are long, and demangling takes stack for it.
const (
	maxName   = 12
	maxSymbol = 64 << 10
)

// demangled is the name in the source of a mangled symbol. Parameters are left
// out: they are long, and the line says which of several it is. What is not
// mangled comes back as it is.
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

// fortranName knows a module's procedures: __grid_MOD_exchange (gfortran),
// grid_mp_exchange_ (Intel), _QMgridPexchange (flang).
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
	if rest, ok := strings.CutPrefix(symbol, "_QM"); ok { // its names are lower-case
		if module, proc, ok := strings.Cut(rest, "P"); ok && module != "" && proc != "" {
			return module + "::" + proc, true
		}
	}
	return symbol, false
}
