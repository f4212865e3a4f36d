package matrices

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The tools of a comparison.
const (
	perl  = "Perl"
	ours  = "ours"
	start = "ours, --help" // which only starts
)

// contest is tools at work on the same input.
type contest struct {
	input  string
	rounds int
	source string // directory of the files; each run has a copy
	tools  []tool
}

// tool is one of them: its commands on the files in a directory, one after the
// other.
type tool struct {
	name     string
	commands func(dir string) [][]string
}

// script finds one of the scripts that come with Open MPI, which ours on PATH
// may hide.
func script(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "#!/usr/bin/perl") {
			return path, nil
		}
	}
	return "", fmt.Errorf("the Perl script %s is not on PATH (Debian: apt-get install openmpi-bin)", name)
}

// peerRanks is the size of the jobs that are compared on.
const peerRanks = 1024

// comparePeer is of one file: a stencil's, without and with lines of
// collectives, which make nearly every pair an entry.
func (b *bench) comparePeer() error {
	profile2mat, err := script("profile2mat")
	if err != nil {
		return err
	}
	var found samples
	for _, collectives := range []bool{false, true} {
		name := map[bool]string{false: "p2p", true: "p2p+coll"}[collectives]
		source, err := b.generate(name, "-ranks", strconv.Itoa(peerRanks), "-format", "prof", "-block", "0", fmt.Sprint("-collectives=", collectives))
		if err != nil {
			return err
		}
		file := func(dir string) string { return filepath.Join(dir, "stencil.0.prof") }
		err = b.hold(&found, contest{name, b.rounds, source, []tool{
			{perl, func(dir string) [][]string { return [][]string{{profile2mat, file(dir)}} }},
			{ours, func(dir string) [][]string { return [][]string{{b.tool("profile2mat"), "--symmetric", file(dir)}} }},
			{start, func(string) [][]string { return [][]string{{b.tool("profile2mat"), "--help"}} }},
		}})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\nprofile2mat on the .prof of a stencil of %d ranks:\n\n", peerRanks)
	return found.writePeers(b.out, perl)
}

// phases is how many there are: from 10 on the scripts mix them.
const phases = 9

// comparePhases is of the files of 9 phases, one for each rank and phase: by
// aggregate_profile, and profile2mat for each phase.
func (b *bench) comparePhases() error {
	aggregate, err := script("aggregate_profile")
	if err != nil {
		return err
	}
	profile2mat, err := script("profile2mat")
	if err != nil {
		return err
	}
	source, err := b.generatePhases()
	if err != nil {
		return err
	}
	var found samples
	err = b.hold(&found, contest{"phases", b.phaseRounds(), source, []tool{
		{perl, func(dir string) [][]string {
			commands := [][]string{{aggregate, filepath.Join(dir, "phase")}}
			for phase := 1; phase <= phases; phase++ {
				commands = append(commands, []string{profile2mat, filepath.Join(dir, fmt.Sprintf("phase_%d.prof", phase))})
			}
			return commands
		}},
		{ours, func(dir string) [][]string {
			return [][]string{{b.tool("profile2mat"), "--symmetric", filepath.Join(dir, "phase")}}
		}},
	}})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\naggregate_profile and profile2mat on the .prof files of %d phases, stencils of %d and of 1000 ranks in turns:\n\n", phases, peerRanks)
	return found.writePeers(b.out, perl)
}

// generatePhases makes phase_<phase>.<rank>.prof.
func (b *bench) generatePhases() (string, error) {
	dir := filepath.Join(b.dir, "phases")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	for phase := 1; phase <= phases; phase++ {
		ranks := []int{1000, peerRanks}[phase%2]
		one, err := b.generate("phase", "-ranks", strconv.Itoa(ranks), "-format", "prof", "-collectives=false")
		if err != nil {
			return "", err
		}
		for rank := range ranks {
			from := filepath.Join(one, fmt.Sprintf("stencil.%d.prof", rank))
			if err := os.Rename(from, filepath.Join(dir, fmt.Sprintf("phase_%d.%d.prof", phase, rank))); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}

// hold runs a contest. Each round starts at another tool, so that none always
// comes after the same other.
func (b *bench) hold(found *samples, c contest) error {
	for round := range c.rounds {
		fmt.Fprintf(b.log, "%s: round %d of %d\n", c.input, round+1, c.rounds)
		for i := range c.tools {
			if err := b.compete(found, c, c.tools[(i+round)%len(c.tools)]); err != nil {
				return err
			}
		}
		if err := sameMatrices(c.copyFor(perl), c.copyFor(ours)); err != nil {
			return err
		}
	}
	return nil
}

// compete is one run of one tool, in a fresh copy of the files.
func (b *bench) compete(found *samples, c contest, t tool) error {
	dir := c.copyFor(t.name)
	if err := link(c.source, dir); err != nil {
		return err
	}
	var sum cost
	for _, command := range t.commands(dir) {
		took, err := b.do(command[0], command[1:]...)
		if err != nil {
			return err
		}
		sum = sum.plus(took)
	}
	of := subject{c.input, t.name}
	found.add(of, sum)
	return b.line(of, sum)
}

func (c contest) copyFor(tool string) string { return c.source + "." + tame(tool) }
