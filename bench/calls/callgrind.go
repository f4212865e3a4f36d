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

// callgrind is the command that has a program write a profile after each of the driver's loops.
func callgrind(profile string) []string {
	return []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=" + profile, "--dump-after=loop_*",
		"--dump-line=no", "--compress-strings=no", "--compress-pos=no"}
}

// What a tool adds is counted by following its calls: the instructions in its own files, and all
// that is executed in functions that these call, but for the call that it passes on. So nothing is
// lost in what the MPI itself executes while it waits for other ranks, or polls a network: that is
// never twice the same.
//
// A layer is what belongs to a tool: `owns` its own files, and `passesOn` the calls out of them that
// would be made without it too.
type layer struct {
	owns     func(file string) bool
	passesOn func(file, function string) bool
}

// driver is what the driver calls between loops.
var driver = operation{"driver", []string{"Barrier"}, 1}

// layerOf returns a tool's layer in an operation. Of a wrapper the calls that it passes on are to the
// functions of the same name; of Open MPI's monitoring, to the components in whose place it is.
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

// The spellings of an MPI function: MPI_Send, PMPI_Send, mpi_send_, pmpi_send_f08_, mpi_send_f08ts_,
// pmpir_send_f08ts_, and ompi_send_f, as which Open MPI's debug symbols know those of mpif.h.
var mpiFunction = regexp.MustCompile(`^(?:p?mpir?|ompi)_(.+?)(?:_f08(?:ts)?|_f)?_*$`)

// makes tells whether a function, as callgrind names it, is one of the MPI calls of the operation.
func (o operation) makes(function string) bool {
	function, _, _ = strings.Cut(function, "'") // 'N is how deep it is nested
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

// parseProfile adds up the instructions of a layer in a profile that was written after a loop
// (https://valgrind.org/docs/manual/cl-format.html).
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

// A parser knows after each line whose cost that is.
type parser struct {
	loop, bad  string // which loop's end triggered the profile; the first malformed line
	whole      bool   // the line at the end was seen
	file       string // of the function that lines are about
	calledFile string // of the function that the last "calls=" is to
	called     string
	nested     bool // the next line is what was executed in the called function
	costs      bool // this line is a cost: of the function itself, or of the called one
	inCalled   bool
	cost       int64
}

func (p *parser) line(text string) {
	if p.costs { // a file is named for one call only, and if it is another one
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

// costLine reads "LINE INSTRUCTIONS"; with no instructions these are 0.
func (p *parser) costLine(text string) {
	fields := strings.Fields(text)
	var err error
	p.cost = 0
	if len(fields) > 1 {
		p.cost, err = strconv.ParseInt(fields[1], 10, 64)
	}
	relative := text[0] < '0' || text[0] > '9' // than the line before: not asked for
	if (err != nil || relative || len(fields) > 2) && p.bad == "" {
		p.bad = text
	}
	p.costs, p.inCalled, p.nested = true, p.nested, false
}

// of tells whether the cost of this line is the layer's.
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
