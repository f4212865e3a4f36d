package matrices

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Tools of a comparison.
const (
	perl  = "Perl"
	ours  = "ours"
	start = "ours, --help" // measures starting alone
)

// contest is a comparison of tools on the same input.
type contest struct {
	input  string
	rounds int
	source string // directory of the files; each run gets a copy
	tools  []tool
}

// tool is one of the tools: the commands that it runs, in order, on the files
// in a directory.
type tool struct {
	name     string
	commands func(dir string) [][]string
}

// script returns the path of one of the Perl scripts that come with Open MPI.
// It skips our commands of the same name, which may precede them on PATH.
func script(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "#!/usr/bin/perl") {
			return path, nil
		}
	}
	return "", fmt.Errorf("the Perl script %s is not on PATH (Debian: apt-get install openmpi-bin)", name)
}

// peerRanks is the number of ranks of the jobs in the comparison.
const peerRanks = 1024

// comparePeer compares the tools on the files of two jobs: a stencil without collectives, and one
// with collectives, in which nearly every pair of ranks has an entry.
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

// phases is the number of phases. The scripts confuse phases from number 10 on.
const phases = 9

// comparePhases compares the tools on one file per rank and phase. The scripts
// need aggregate_profile for all, and then profile2mat for each phase.
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

// generatePhases writes the files phase_<phase>.<rank>.prof and returns their
// directory.
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

// hold runs a contest. Each round starts with another tool, so that no tool
// always runs after the same other one.
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

// compete runs one tool once, on a fresh copy of the files.
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
