package launch

import (
	"path/filepath"
	"slices"
	"strings"
)

// placing are the options of launchers that say how many ranks run where.
var placing = map[System][]string{
	OpenMPILauncher: strings.Fields(`n np c H host hostfile machinefile default-hostfile map-by rank-by bind-to rankfile rf
		npernode npersocket ppr pernode bynode bycore byslot bind-to-core bind-to-socket bind-to-none`),
	HydraLauncher: strings.Fields("n np f hostfile host hosts hostlist machine machinefile machinelist machines ppn perhost grr rr r map-by bind-to binding order-nodes hosts-group"),
	SlurmLauncher: strings.Fields("N nodes n ntasks m distribution w nodelist x exclude F nodefile r relative ntasks-per-node ntasks-per-core ntasks-per-socket"),
	FluxLauncher:  strings.Fields("N nodes n ntasks taskmap tasks-per-node tasks-per-core"),
}

// OtherOptions returns the options of the launcher in a recorded command line, without those that
// place ranks. It returns false if the launcher is of another system, or starts several programs.
func OtherOptions(argv []string, system System) (words []string, ok bool) {
	if len(argv) == 0 || slices.Contains(argv, ":") {
		return nil, false
	}
	at := launcherIndex(argv)
	if at < 0 {
		return nil, false
	}
	name := filepath.Base(argv[at])
	l := &Launcher{System: systems[name]}
	if ambiguous[name] && system != SlurmLauncher && system != FluxLauncher { // it may be on another machine, so it is not asked
		l.System = system
	}
	start := at + 1
	if l.System == FluxLauncher {
		start = afterFluxRun(argv, at)
	}
	table := l.options()
	if l.System != system || table == nil || start < 0 {
		return nil, false
	}
	s := section{words: argv, options: table, at: start}
	s.parse()
	for _, o := range s.found {
		if !slices.Contains(placing[system], o.name) {
			words = append(words, o.words...)
		}
	}
	return words, true
}
