package calls

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// callgrind returns the command that runs a program and writes a profile after
// each of the driver's loops.
func callgrind(profile string) []string {
	return []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=" + profile, "--dump-after=loop_*",
		"--dump-line=no", "--compress-strings=no", "--compress-pos=no"}
}

// layer selects the instructions that a tool adds: those in the tool's own
// files (owns), and everything that is executed in functions which these call,
// except the call that the tool passes on to the MPI (passesOn). The
// instructions of the MPI itself are not counted: while it polls or waits for
// other ranks, their number is never the same twice.
type layer struct {
	owns     func(file string) bool
	passesOn func(file, function string) bool
}

// driver is what the driver calls between loops.
var driver = operation{"driver", []string{"Barrier"}, 1}

// layerOf returns a tool's layer in an operation. A wrapper passes on calls to
// the function of the same name. Open MPI's monitoring passes them on to the
// component that it replaces.
func layerOf(t tool, o operation) layer {
	if t.preload == "" {
		return layer{
			func(file string) bool { return strings.Contains(file, "monitoring") },
			func(file, _ string) bool { return strings.HasPrefix(file, "mca_") },
		}
	}
	return layer{
		func(file string) bool { return file == filepath.Base(t.preload) },
		func(_, function string) bool { return o.makes(function) || driver.makes(function) },
	}
}

// mpiFunction matches the spellings of an MPI function: MPI_Send, PMPI_Send,
// mpi_send_, pmpi_send_f08_, mpi_send_f08ts_, pmpir_send_f08ts_, and
// ompi_send_f, which is the name of mpif.h's functions in Open MPI's debug
// symbols.
var mpiFunction = regexp.MustCompile(`^(?:p?mpir?|ompi)_(.+?)(?:_f08(?:ts)?|_f)?_*$`)

// makes reports whether a function, as callgrind names it, is one of the
// operation's MPI calls.
func (o operation) makes(function string) bool {
	function, _, _ = strings.Cut(function, "'") // 'N is the depth of a recursion
	m := mpiFunction.FindStringSubmatch(strings.ToLower(function))
	return m != nil && slices.ContainsFunc(o.calls, func(call string) bool { return strings.EqualFold(call, m[1]) })
}

func readAdded(path string, o operation, l layer) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	added, err := parseProfile(file, o.name, l)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return added, nil
}

// parseProfile returns the instructions of a layer in the profile that was
// written after a loop (https://valgrind.org/docs/manual/cl-format.html).
func parseProfile(r io.Reader, loop string, l layer) (added int64, err error) {
	var p parser
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.line(lines.Text())
		if p.costs && p.of(l) {
			added += p.cost
		}
	}
	switch {
	case lines.Err() != nil:
		return 0, lines.Err()
	case p.bad != "":
		return 0, fmt.Errorf("%q is no line of a profile", p.bad)
	case p.loop != loop || !p.whole:
		return 0, fmt.Errorf("it is not all of a profile after loop_%s", loop)
	}
	return added, nil
}

// parser is the state after a line of a profile.
type parser struct {
	loop, bad  string // the loop whose end triggered the profile; the first malformed line
	whole      bool   // whether the last line was read
	file       string // file of the function that lines are about
	calledFile string // file of the function that the last "calls=" names
	called     string
	nested     bool // the next line is the cost of the called function
	costs      bool // this line is a cost, of the function itself or of the called one
	inCalled   bool
	cost       int64
}

func (p *parser) line(text string) {
	if p.costs { // a file is named for one call, and only if it differs
		p.costs, p.calledFile = false, ""
	}
	key, value, isSetting := strings.Cut(text, "=")
	switch {
	case strings.HasPrefix(text, "desc: Trigger: --dump-after=loop_"):
		p.loop = strings.TrimPrefix(text, "desc: Trigger: --dump-after=loop_")
	case strings.HasPrefix(text, "totals: "):
		p.whole = true
	case isSetting && key == "ob":
		p.file = filepath.Base(value)
	case isSetting && key == "cob":
		p.calledFile = filepath.Base(value)
	case isSetting && key == "cfn":
		p.called = value
	case isSetting && key == "calls":
		p.nested = true
	case text != "" && strings.Contains("0123456789+-*", text[:1]):
		p.costLine(text)
	}
}

// costLine parses "LINE INSTRUCTIONS". Missing instructions are 0.
func (p *parser) costLine(text string) {
	fields := strings.Fields(text)
	var err error
	p.cost = 0
	if len(fields) > 1 {
		p.cost, err = strconv.ParseInt(fields[1], 10, 64)
	}
	relative := text[0] < '0' || text[0] > '9' // relative to the line before; not requested
	if (err != nil || relative || len(fields) > 2) && p.bad == "" {
		p.bad = text
	}
	p.costs, p.inCalled, p.nested = true, p.nested, false
}

// of reports whether the cost of this line belongs to the layer.
func (p *parser) of(l layer) bool {
	if !l.owns(p.file) {
		return false
	}
	if !p.inCalled {
		return true
	}
	file := p.calledFile
	return file != "" && !l.owns(file) && !l.passesOn(file, p.called)
}
