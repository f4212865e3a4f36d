package measure

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Callgrind returns the command that runs a program and writes a profile, which
// ReadProfile reads, at its end.
func Callgrind(profile string) []string {
	return []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=" + profile,
		"--dump-line=no", "--compress-strings=no", "--compress-pos=no"}
}

// A Cost is a line of a profile: the instructions that a function executes itself, or those of its
// calls of another function, including everything that this function calls in turn.
type Cost struct {
	Object       string // base name of the executable or library of the function
	Function     string
	Called       string // the function that it calls; "" if the instructions are its own
	CalledObject string
	Instructions int64
}

// ReadProfile calls each for every cost in a profile that callgrind wrote
// (https://valgrind.org/docs/manual/cl-format.html), and returns what triggered
// the profile: "Program termination", or an option.
func ReadProfile(r io.Reader, each func(Cost)) (trigger string, err error) {
	var p parser
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if p.line(lines.Text()) {
			each(p.cost)
		}
	}
	switch {
	case lines.Err() != nil:
		return "", lines.Err()
	case p.bad != "":
		return "", fmt.Errorf("%q is not a line of a profile", p.bad)
	case !p.whole:
		return "", fmt.Errorf("it is not all of a profile")
	}
	return p.trigger, nil
}

// parser is the state after a line of a profile.
type parser struct {
	trigger, bad string // bad is the first malformed line
	whole        bool   // whether the last line was read
	nested       bool   // the next line is the cost of the called function
	cost         Cost
	called       string // function and object that the next "calls=" is about
	calledObject string
}

// line parses a line and reports whether it is a cost.
func (p *parser) line(text string) bool {
	key, value, isSetting := strings.Cut(text, "=")
	switch {
	case strings.HasPrefix(text, "desc: Trigger: "):
		p.trigger = strings.TrimPrefix(text, "desc: Trigger: ")
	case strings.HasPrefix(text, "totals: "):
		p.whole = true
	case isSetting && key == "ob":
		p.cost.Object = filepath.Base(value)
	case isSetting && key == "fn":
		p.cost.Function = value
	case isSetting && key == "cob":
		p.calledObject = filepath.Base(value)
	case isSetting && key == "cfn":
		p.called = value
	case isSetting && key == "calls":
		p.nested = true
	case text != "" && strings.Contains("0123456789+-*", text[:1]):
		p.costLine(text)
		return true
	}
	return false
}

// costLine parses "LINE INSTRUCTIONS". Missing instructions are 0.
func (p *parser) costLine(text string) {
	fields := strings.Fields(text)
	var err error
	p.cost.Instructions = 0
	if len(fields) > 1 {
		p.cost.Instructions, err = strconv.ParseInt(fields[1], 10, 64)
	}
	// numbers relative to the previous line were not requested
	relative := text[0] < '0' || text[0] > '9'
	if (err != nil || relative || len(fields) > 2) && p.bad == "" {
		p.bad = text
	}
	p.cost.Called, p.cost.CalledObject = "", ""
	if p.nested {
		p.cost.Called, p.cost.CalledObject = p.called, p.calledObject
		if p.calledObject == "" { // the object is given only if it differs
			p.cost.CalledObject = p.cost.Object
		}
	}
	p.nested, p.calledObject = false, ""
}

// mpiFunction matches the spellings of an MPI function: MPI_Send, PMPI_Send,
// mpi_send_, pmpi_send_f08_, mpi_send_f08ts_, pmpir_send_f08ts_, and
// ompi_send_f, which is the name of mpif.h's functions in Open MPI's debug
// symbols.
var mpiFunction = regexp.MustCompile(`^(?:p?mpir?|ompi)_(.+?)(?:_f08(?:ts)?|_f)?_*$`)

// MPICall returns the MPI call that a function, as callgrind names it, makes:
// "send" for MPI_Send. It returns "" for other functions.
func MPICall(function string) string {
	function, _, _ = strings.Cut(function, "'") // 'N is the depth of a recursion
	if m := mpiFunction.FindStringSubmatch(strings.ToLower(function)); m != nil {
		return m[1]
	}
	return ""
}
