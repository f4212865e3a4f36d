package settings

import (
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// List is all that can be set. What each recording is of comes first.
var List = []Setting{
	{
		Name: "timing", Syntax: "exact|sampled|off", Default: "exact", Check: words("exact", "sampled", "off"), Ranks: true, Agree: true,
		Call:    "before MPI_Init",
		Summary: "which calls to time: exact (each), sampled (of frequent ones some: times are estimates, with their error), off (none: counts and bytes only)",
		Details: "Every call and every byte is counted whatever this is. Sampled: the first 64 calls of each row of the table, then as many as their times ask for.",
	}, {
		Name: "receives", Syntax: "on|off", Default: "on", Check: words("on", "off"), Ranks: true, Agree: true,
		Summary: "follow nonblocking receives to their completion: on, or off, which leaves what they received unknown",
		Details: "What is sent is counted all the same, and what blocking and persistent receives get.",
	}, {
		Name: "interval", Syntax: "TIME", Empty: "off", Check: duration(time.Millisecond), Ranks: true, Agree: true, Call: "at any time",
		Summary: "begin a new slice at each multiple of this time since MPI_Init: 100ms, 2s, at least 1ms; or off",
		Details: "The end of an interval is noticed at the next call of MPI. Slices are a table in the report, and the column slice of profile.arrow.",
	}, {
		Name: "stack", Syntax: "N|auto", Default: "0", Check: callers(layout.MaxStackDepth), Ranks: true, Agree: true,
		Summary: "tell call sites apart by who called, up to so many callers deep (2 and more); or auto: call sites are where functions that only wrap MPI are called. Costs some microseconds a call",
		Details: "With a number, call sites in the report have their callers. With auto, a function is skipped that calls one MPI function only and is named for it (hypre_MPI_Waitall), and source files and libraries of which each function calls one MPI function only; 8 callers are recorded.",
	}, {
		Name: "cvar", Syntax: "NAME=VALUE", Empty: "none", Check: assignment, Separator: "\n", Ranks: true,
		Summary: "set a control variable of the MPI library, through MPI_T; can be given several times",
		Details: "`mpitrace vars` lists them. In the environment each is a line. What the MPI library refuses is reported.",
	}, {
		Name: "pvar", Syntax: "PATTERN,...", Empty: "none", Check: something, Separator: ",", Ranks: true, Agree: true,
		Summary: "read the performance variables of the MPI library whose names match one of the patterns",
		Details: "`mpitrace vars` lists them. They are read at MPI_Init, where a slice ends, at MPI_Finalize, and as often as pvar-interval says.",
	}, {
		Name: "pvar-interval", Syntax: "TIME", Default: "0", Check: duration(0), Ranks: true, Agree: true,
		Summary: "read performance variables also at the first call of MPI after each such time: 10ms, 2s, whole milliseconds; 0 for never",
	}, {
		Name: "watch-unexpected", Syntax: "N", Empty: "off", Check: integer(0, 1<<31-1), Ranks: true, Agree: true,
		Summary: "count apart the receives that are posted while more than so many messages wait for theirs; or off",
		Details: "It needs an MPI library that tells the length of its queue of unexpected messages, as Open MPI's ob1 does.",
	}, {
		Name: "physical", Syntax: "on|off", Default: "off", Check: onOff, Switch: true, Ranks: true, Agree: true,
		Summary: "keep also what the MPI library itself sent, as the messages that collectives are made of (Open MPI)",
	}, {
		Name: "trace", Syntax: "on|off", Default: "off", Check: onOff, Switch: true, Ranks: true, Agree: true,
		Summary: "keep each call as an event, too, in trace.RANK.arrow: for mpitrace analyze, timeline and export",
		Details: "An event takes 32 bytes while the program runs. It needs --timing exact and --receives on.",
	}, {
		Name: "trace-buffer", Syntax: "SIZE", Default: "64M", Check: size(1 << 20), Ranks: true, Agree: true,
		Summary: "the room for events in each process: 64M, 1G, at least 1M. What is more is written to the run directory while the program runs",
	}, {
		Name: "trace-limit", Syntax: "SIZE", Empty: "none", Check: size(1 << 20), Ranks: true, Agree: true,
		Summary: "keep so much of each process's events at most: 512M, 4G; or none, for no limit",
		Details: "What is dropped is counted. The profile is of all calls all the same.",
	}, {
		Name: "keep", Syntax: "first|last", Default: "first", Check: words("first", "last"), Ranks: true, Agree: true,
		Summary: "which events to keep: the first, or the last ones before the end, or the crash; then nothing is written while the program runs",
		Details: "Of the last ones as many as trace-limit says, or without it trace-buffer.",
	}, {
		Name: "ranks", Syntax: "LIST", Empty: "all", Check: rankList, Ranks: true, Agree: true,
		Summary: "trace these ranks only: 0-15,64",
	}, {
		Name: "trace-slices", Syntax: "NAME,...", Empty: "all", Check: something, Separator: ",", Ranks: true, Agree: true,
		Summary: "trace only while the run is in one of these slices: run is what comes before any phase",
	}, {
		Name: "trace-classes", Syntax: "CLASS,...", Empty: "all", Check: eventClass, Separator: ",", Ranks: true, Agree: true,
		Summary: "trace calls of these classes only: " + strings.Join(eventClasses, ", "),
		Details: "Point-to-point calls are all traced or none, as messages could not be matched otherwise.",
	}, {
		Name: "max-mb", Syntax: "N", Default: "64", Check: integer(1, 1<<20), Ranks: true,
		Summary: "the MiB that a recording may take in each process; 64 are some 130,000 rows",
		Details: "What comes after is counted in full, but no longer told apart.",
	}, {
		Name: "prof", Syntax: "PREFIX", Empty: "none", Check: textOf, Ranks: true, NoFlag: true,
		Summary: "each process writes its own PREFIX.RANK.prof in MPI_Finalize",
		Details: "It is for a library that is preloaded by hand: `mpitrace run --format prof` leaves the work to the time after the job.",
	}, {
		Name: "quiet", Syntax: "on|off", Default: "off", Check: onOff, Switch: true, Ranks: true, NoFlag: true,
		Summary: "the library in the application says nothing, not even of trouble",
	}, {
		Name: "spool", Syntax: "auto|shm|run|DIR", Default: "auto", Check: something,
		Summary: "where the processes of this node map their recordings until they end: auto, shm (/dev/shm), run (the run directory) or a directory",
	}, {
		Name: "format", Syntax: "prof,arrow", Empty: "none", Check: format, Separator: ",",
		Summary: "write a file for each rank as well: prof, arrow",
	}, {
		Name: "mpi", Syntax: "NAME|PATH", Default: "auto", Check: implementation,
		Summary: "which MPI: auto, openmpi, mpich, intelmpi, mvapich, or the path of an MPI's shared library or prefix",
		Details: "Auto is the MPI that the program is linked to, else the launcher's, else that of mpicc.",
	}, {
		Name: "cc", Syntax: "COMMAND", Check: textOf, Empty: "none",
		Summary: "the MPI's compiler wrapper; none is the mpicc that belongs to the MPI",
		Details: "It is stronger than mpi, unless that is said at a stronger place.",
	}, {
		Name: "strict", Syntax: "on|off", Default: "off", Check: onOff, Switch: true,
		Summary: "exit with status 3 if the command succeeds but its record is missing or incomplete",
	}, {
		Name: "no-report", Syntax: "on|off", Default: "off", Check: onOff, Switch: true,
		Summary: "do not show the summary",
	}, {
		Name: "cache", Syntax: "DIR", Empty: "none", Check: textOf, NoFlag: true,
		Summary: "where built libraries are kept; none is mpitrace below $XDG_CACHE_HOME, or ~/.cache",
		Details: "Nobody else may be able to write there, and its path has no blank and no colon.",
	},
}

// Variable is a name in the environment that is no setting.
type Variable struct{ Name, Use string }

// Others are what else is read of the environment.
var Others = []Variable{
	{"MPITRACE_DIR", "The run directory of a library that is preloaded by hand. `mpitrace run` sets it for the processes of a job."},
	{"MPITRACE_SPOOL_DIR", "Set by `mpitrace run`: the private directory of this node in which processes map their recordings."},
	{EnvSite, "The site file, instead of " + sitePath + "; empty for none."},
	{"XDG_CONFIG_HOME", "The directory that has mpitrace/config, the user file (default: ~/.config)."},
	{"XDG_CACHE_HOME", "The directory that built libraries are kept below (default: ~/.cache)."},
	{"TMPDIR", "Where a process records if the run directory has no room (default: /tmp)."},
}
