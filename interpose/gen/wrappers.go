package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// uses are the functions of MPI that the library itself calls, beside those
// that it wraps.
var uses = []string{
	"Cart_shift", "Cartdim_get", "Comm_rank", "Comm_remote_size",
	"Comm_size", "Comm_test_inter", "Dist_graph_neighbors_count", "Error_class", "Finalized",
	"Get_elements_x", "Get_library_version", "Graph_neighbors_count",
	"Group_rank", "Group_size", "Group_translate_ranks",
	"Initialized", "Query_thread", "Status_set_elements_x", "T_enum_get_info", "T_enum_get_item",
	"Test_cancelled", "Topo_test",
	"Type_get_envelope", "Type_size_x",
}

// tool is what the library wraps without recording it: MPI's tool interface, to which it adds variables
// (src/tool.h). Of the last two an MPI 3 has none.
var tool = []string{
	"T_init_thread", "T_finalize",
	"T_cvar_get_num", "T_cvar_get_info", "T_cvar_get_index", "T_cvar_handle_alloc", "T_cvar_handle_free",
	"T_cvar_read", "T_cvar_write",
	"T_pvar_get_num", "T_pvar_get_info", "T_pvar_get_index", "T_pvar_session_create", "T_pvar_session_free",
	"T_pvar_handle_alloc", "T_pvar_handle_free", "T_pvar_start", "T_pvar_stop", "T_pvar_read", "T_pvar_write",
	"T_pvar_reset", "T_pvar_readreset",
	"T_category_changed", "T_category_get_num", "T_category_get_info", "T_category_get_index", "T_category_get_cvars",
	"T_category_get_pvars", "T_category_get_categories", "T_category_get_num_events", "T_category_get_events",
}

func isOf4(name string) bool { return strings.HasSuffix(name, "_events") }

// quick are the calls that programs make in tight loops: their wrappers are inlined (src/quick.h), which
// makes them three times as long to compile as all the others together.
var quick = []string{"Send", "Recv", "Sendrecv", "Isend", "Irecv", "Probe", "Iprobe", "Barrier", "Bcast", "Allreduce",
	"Allgather", "Alltoall"}

// opens says what is told of a call before it is passed on, by its policy: a function mt_open_x of
// src/open.h, or of a quick call mt_quick_open_x, and its arguments, of which $1 is the policy's first.
var opens = map[string]struct{ function, arguments string }{
	"send":       {"send", "$1, $2, $3, $4, tag"},
	"isend":      {"send", "$1, $2, $3, $4, tag"},
	"recv":       {"recv", "$1, $2, count, datatype, tag"},
	"sendrecv":   {"sendrecv", "$1, $2, $3, $4, $5, sendtag"},
	"isendrecv":  {"sendrecv", "$1, $2, $3, $4, $5, sendtag"},
	"probe":      {"probe", "$1, $2, tag"},
	"mprobe":     {"probe", "$1, $2, tag"},
	"irecv":      {"probe", "$1, $2, tag"},
	"send_init":  {"probe", "$1, $2, tag"},
	"recv_init":  {"probe", "$1, $2, tag"},
	"icoll":      {"coll", "$1, $2"},
	"start":      {"count", "1"},
	"startall":   {"count", "$1"},
	"coll":       {"coll", "$1, $2"},
	"coll_init":  {"coll", "$1, $2"},
	"rma":        {"rma", "$1, $2, $3, $4, $5"},
	"rma_both":   {"rma", "$1, $2, MT_DIR_WRITE, $4, $5"},
	"win":        {"win", "$1, $2"},
	"win_lock":   {"win", "$1, $2"},
	"win_group":  {"win", "$1, MT_NO_RANK"},
	"io":         {"io", "$1, $2, $3"},
	"win_made":   {"peer", "$1, MT_NO_RANK"},
	"comm":       {"peer", "$1, MT_NO_RANK"},
	"comm_group": {"peer", "$1, MT_NO_RANK"},
	"intercomm":  {"peer", "$1, MT_NO_RANK"},
	"comm_name":  {"peer", "$1, MT_NO_RANK"},
}

// opened returns the function that opens a call, without its prefix, and the arguments; "" if nothing is told.
func opened(policy string, arguments []string) (function, passed string) {
	o := opens[policy]
	return o.function, os.Expand(o.arguments, func(n string) string {
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 || i > len(arguments) {
			panic(fmt.Sprintf("policy %s has no argument $%s", policy, n))
		}
		return arguments[i-1]
	})
}

// splitArguments splits at the commas that are in no parentheses.
func splitArguments(list string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(list[start:]))
}

// function is one symbol to wrap: a call under one of its names, or its
// large-count twin.
type function struct {
	calls.Call
	name  string // as the tables have names: Send_c
	large bool
}

func (f function) symbol() string { return calls.Symbol(f.name) }

func functions() []function {
	var out []function
	for _, c := range calls.Table {
		for _, name := range c.Names() {
			out = append(out, function{Call: c, name: name})
		}
		if c.Large() {
			out = append(out, function{Call: c, name: c.Name + "_c", large: true})
		}
	}
	return out
}

func writeCalls(b *bytes.Buffer) error {
	b.WriteString("#ifndef MT_CALLS_GEN_H\n#define MT_CALLS_GEN_H\n\nenum {\n")
	for _, c := range calls.Table {
		fmt.Fprintf(b, "    %s = %d,\n", callID(c), c.ID)
	}
	fmt.Fprintf(b, "    MT_CALL_END = %d\n};\n\n", calls.Table[len(calls.Table)-1].ID+1)
	b.WriteString("enum { MT_CLASS_OTHER, MT_CLASS_P2P, MT_CLASS_O2A, MT_CLASS_A2O, MT_CLASS_A2A, MT_CLASS_ONE_SIDED, MT_CLASS_SYNC, MT_CLASS_IO };\n")
	b.WriteString("enum { MT_TO_NOBODY, MT_TO_PEER, MT_TO_OTHERS, MT_TO_HIGHER, MT_TO_VECTOR, MT_TO_EDGES, MT_TO_EDGE_VECTOR };\n\n")
	b.WriteString("// What a call's messages are: for the library's own .prof.\n" +
		"typedef struct mt_call_info {\n    unsigned char class, spread;\n} mt_call_info;\n" +
		"extern const mt_call_info mt_call_infos[MT_CALL_END];\n\n#endif\n")
	return nil
}

func writePMPI(b *bytes.Buffer) error {
	b.WriteString("// Pointers to the MPI library's own functions, filled by resolve.c.\n" +
		"// MT_HAVE_x says that this mpi.h declares the function.\n" +
		"#ifndef MT_PMPI_GEN_H\n#define MT_PMPI_GEN_H\n\n#include \"mpi_include.h\"\n\ntypedef struct mt_pmpi_table {\n")
	for _, name := range uses {
		fmt.Fprintf(b, "    __typeof__(P%s) *%s;\n", calls.Symbol(name), name)
	}
	declare := func(name, symbol string) {
		fmt.Fprintf(b, "#if MT_HAVE_%s\n    __typeof__(P%s) *%s;\n#endif\n", name, symbol, name)
	}
	for _, name := range tool {
		if isOf4(name) {
			declare(name, calls.Symbol(name))
		} else {
			fmt.Fprintf(b, "    __typeof__(P%s) *%s;\n", calls.Symbol(name), name)
		}
	}
	for _, f := range functions() {
		declare(f.name, f.symbol())
	}
	b.WriteString("} mt_pmpi_table;\n\nextern __attribute__((visibility(\"hidden\"))) mt_pmpi_table mt_pmpi;\n\n#endif\n")
	return nil
}

func writeSymbols(b *bytes.Buffer) error {
	b.WriteString("#include \"resolve.h\"\n#include \"calls_gen.h\"\n\nconst mt_symbol mt_symbols[] = {\n")
	entry := func(name, wrapper string) {
		fmt.Fprintf(b, "    {\"P%s\", offsetof(mt_pmpi_table, %s), %s},\n", calls.Symbol(name), name, wrapper)
	}
	for _, name := range uses {
		entry(name, "NULL")
	}
	maybe := func(name, wrapper string) {
		fmt.Fprintf(b, "#if MT_HAVE_%s\n", name)
		entry(name, wrapper)
		b.WriteString("#endif\n")
	}
	for _, name := range tool {
		if isOf4(name) {
			maybe(name, "(void *)"+calls.Symbol(name))
		} else {
			entry(name, "(void *)"+calls.Symbol(name))
		}
	}
	for _, f := range functions() {
		maybe(f.name, "(void *)"+f.symbol())
	}
	b.WriteString("    {NULL, 0, NULL},\n};\n\nconst mt_call_info mt_call_infos[MT_CALL_END] = {\n")
	for _, c := range calls.Table {
		class, spread, err := cInfo(c)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "    [%s] = {%s, %s},\n", callID(c), class, spread)
	}
	b.WriteString("};\n")
	return nil
}

func cInfo(c calls.Call) (class, spread string, err error) {
	classes := map[string]string{"p2p": "MT_CLASS_P2P", "O2A": "MT_CLASS_O2A", "A2O": "MT_CLASS_A2O",
		"A2A": "MT_CLASS_A2A", "one-sided": "MT_CLASS_ONE_SIDED", "sync": "MT_CLASS_SYNC", "io": "MT_CLASS_IO",
		"other": "MT_CLASS_OTHER"}
	spreads := map[string]string{"nobody": "MT_TO_NOBODY", "peer": "MT_TO_PEER", "others": "MT_TO_OTHERS",
		"higher": "MT_TO_HIGHER", "vector": "MT_TO_VECTOR", "edges": "MT_TO_EDGES", "edge-vector": "MT_TO_EDGE_VECTOR"}
	class, spread = classes[c.Class], spreads[c.Spread]
	if class == "" || spread == "" {
		err = fmt.Errorf("MPI_%s: class %q or spread %q is not known", c.Name, c.Class, c.Spread)
	}
	return class, spread, err
}

func writeWrappers(b *bytes.Buffer) error {
	b.WriteString("#include \"quick.h\"\n")
	for _, f := range functions() {
		if f.Hand() {
			continue
		}
		fmt.Fprintf(b, "\n#if MT_HAVE_%s\n", f.name)
		writeWrapper(b, f)
		b.WriteString("#endif\n")
	}
	return nil
}

// writeWrapper writes one wrapper, or two functions for a quick call: the other has what is more than quick.
func writeWrapper(b *bytes.Buffer, f function) {
	policy, rest, _ := strings.Cut(f.Leave, "(")
	open, told := opened(policy, splitArguments(strings.TrimSuffix(rest, ")")))
	if rest != ")" {
		rest = ", " + rest
	}
	status, passed := "", f.arguments()
	if strings.Contains(f.Leave, "seen") {
		status = "    MPI_Status own, *seen = mt_seen(status, &own);\n"
		passed = strings.ReplaceAll(passed, "status", "seen")
	}
	head := fmt.Sprintf("%s(%s)\n{\n", f.symbol(), f.parameters())
	caller, quickly := "MT_SITE, MT_FRAME", ""
	isQuick := slices.Contains(quick, f.name)
	if isQuick {
		head = strings.Replace(head, f.symbol(), "apart_"+f.name, 1)
		caller, quickly = "site, frame", fmt.Sprintf("%s, (%s), %s, %s, (%s), %s%s", f.name, passed, callID(f.Call), open, told, policy, rest)
		fmt.Fprintf(b, "static MT_APART int %s%s    MT_QUICK_APART(%s\n", head, status, quickly)
	} else {
		fmt.Fprintf(b, "MT_EXPORT int %s%s", head, status)
	}
	fmt.Fprintf(b, "    mt_span span = mt_enter_from(%s, %s);\n", callID(f.Call), caller)
	if open != "" {
		fmt.Fprintf(b, "    mt_open_%s(&span, %s);\n", open, told)
	}
	fmt.Fprintf(b, "    int rc = mt_pmpi.%s(%s);\n    mt_leave_%s(&span, rc%s;\n    return rc;\n}\n", f.name, passed, policy, rest)
	if isQuick {
		fmt.Fprintf(b, "\nMT_EXPORT int %s(%s)\n{\n%s    MT_QUICK(%s\n", f.symbol(), f.parameters(), status, quickly)
		fmt.Fprintf(b, "    return apart_%s(%s);\n}\n", f.name, f.arguments())
	}
}

func (f function) parameters() string {
	if len(f.Params) == 0 {
		return "void"
	}
	var out []string
	for _, p := range f.Params {
		t := p.Type
		if f.large {
			t = strings.NewReplacer("_COUNT", "_c", "COUNT", "MPI_Count", "DISP", "MPI_Aint", "SIZE", "MPI_Count").Replace(t)
		} else {
			t = strings.NewReplacer("_COUNT", "", "COUNT", "int", "DISP", "int", "SIZE", "MPI_Aint").Replace(t)
		}
		if !strings.HasSuffix(t, "*") {
			t += " "
		}
		out = append(out, t+p.Name+p.Suffix)
	}
	return strings.Join(out, ", ")
}

func (f function) arguments() string {
	var out []string
	for _, p := range f.Params {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

func callID(c calls.Call) string { return "MT_CALL_" + strings.ToUpper(c.Name) }
