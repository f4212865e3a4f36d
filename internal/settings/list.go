package settings

import (
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// List is the list of all settings. Those that decide what is recorded come first.
var List = []Setting{
	{
		Name: "timing", Syntax: "exact|sampled|off", Default: "exact", Check: words("exact", "sampled", "off"), Ranks: true, Agree: true,
		Call:    "before MPI_Init",
		Summary: "which calls to time: exact (every call), sampled (a sample of frequent calls; times are estimates with a standard error), off (none; only counts and bytes)",
		Details: "Every call and every byte is counted with each of these. With sampled, the first 64 calls of each row are timed, and then as many as the variation of their times requires.",
	}, {
		Name: "receives", Syntax: "on|off", Default: "on", Check: words("on", "off"), Ranks: true, Agree: true,
		Summary: "follow nonblocking receives to their completion: on, or off (what they received is then unknown)",
		Details: "With off, sends and blocking and persistent receives are still counted.",
	}, {
		Name: "interval", Syntax: "TIME", Empty: "off", Check: duration(time.Millisecond), Ranks: true, Agree: true, Call: "at any time",
		Summary: "start a new slice at each multiple of this time since MPI_Init: 100ms, 2s (at least 1ms); or off",
		Details: "The next MPI call after the end of an interval starts the new slice. The report has a table of slices, and profile.arrow has a column slice.",
	}, {
		Name: "stack", Syntax: "N|auto", Default: "0", Check: callers(layout.MaxStackDepth), Ranks: true, Agree: true,
		Summary: "distinguish call sites by their callers, N levels deep (at least 2); or auto: skip functions that only wrap MPI. Costs some microseconds per call",
		Details: "With a number, the report shows the callers of each call site. With auto, 8 levels are recorded, and these are skipped: functions that call only one MPI function and contain its name (hypre_MPI_Waitall), and source files and libraries in which every function calls only one MPI function.",
	}, {
		Name: "cvar", Syntax: "NAME=VALUE", Empty: "none", Check: assignment, Separator: "\n", Ranks: true,
		Summary: "set a control variable of the MPI library through MPI_T; may be given several times",
		Details: "`mpitrace vars` lists the variables. In the environment variable, write one assignment per line. The report names each value that the MPI library refused.",
	}, {
		Name: "pvar", Syntax: "PATTERN,...", Empty: "none", Check: something, Separator: ",", Ranks: true, Agree: true,
		Summary: "record the performance variables of the MPI library whose names match one of the patterns",
		Details: "`mpitrace vars` lists the variables. They are read at MPI_Init, at the end of each slice, at MPI_Finalize, and at the times that pvar-interval sets.",
	}, {
		Name: "pvar-interval", Syntax: "TIME", Default: "0", Check: duration(0), Ranks: true, Agree: true,
		Summary: "also read the performance variables at the first MPI call after each multiple of this time: 10ms, 2s (whole milliseconds); 0 for never",
	}, {
		Name: "watch-unexpected", Syntax: "N", Empty: "off", Check: integer(0, 1<<31-1), Ranks: true, Agree: true,
		Summary: "count the receives that are posted while more than N unexpected messages are waiting; or off",
		Details: "It needs an MPI library with a performance variable for the length of its unexpected message queue, such as Open MPI with ob1.",
	}, {
		Name: "physical", Syntax: "on|off", Default: "off", Check: onOff, Switch: true, Ranks: true, Agree: true,
		Summary: "also record the messages that the MPI library itself sent, such as those that make up collectives (Open MPI)",
	}, {
		Name: "trace", Syntax: "on|off", Default: "off", Check: onOff, Switch: true, Ranks: true, Agree: true,
		Summary: "also record each call as an event, in trace.RANK.arrow, for mpitrace analyze, timeline and export",
		Details: "An event takes 32 bytes while the program runs. It needs --timing exact and --receives on.",
	}, {
		Name: "trace-buffer", Syntax: "SIZE", Default: "64M", Check: size(1 << 20), Ranks: true, Agree: true,
		Summary: "memory for events in each process: 64M, 1G (at least 1M). Further events are written to the run directory while the program runs",
	}, {
		Name: "trace-limit", Syntax: "SIZE", Empty: "none", Check: size(1 << 20), Ranks: true, Agree: true,
		Summary: "the largest amount of events to keep of each process: 512M, 4G; or none, for no limit",
		Details: "Events beyond the limit are counted. The profile still contains all calls.",
	}, {
		Name: "keep", Syntax: "first|last", Default: "first", Check: words("first", "last"), Ranks: true, Agree: true,
		Summary: "which events to keep: first, or last (those before the end or the crash; nothing is then written while the program runs)",
		Details: "With last, trace-limit is the amount to keep, or trace-buffer if there is no limit.",
	}, {
		Name: "ranks", Syntax: "LIST", Empty: "all", Check: rankList, Ranks: true, Agree: true,
		Summary: "trace only these ranks: 0-15,64",
	}, {
		Name: "trace-slices", Syntax: "NAME,...", Empty: "all", Check: something, Separator: ",", Ranks: true, Agree: true,
		Summary: "trace only during these slices; the time before the first phase is the slice run",
	}, {
		Name: "trace-classes", Syntax: "CLASS,...", Empty: "all", Check: words(eventClasses...), Separator: ",", Ranks: true, Agree: true,
		Summary: "trace only calls of these classes: " + strings.Join(eventClasses, ", "),
		Details: "Point-to-point calls are traced all or none, because messages could not be matched otherwise.",
	}, {
		Name: "max-mb", Syntax: "N", Default: "64", Check: integer(1, 1<<20), Ranks: true,
		Summary: "the largest size of each process's recording in MiB; 64 MiB hold about 130,000 rows",
		Details: "Beyond it, calls are still counted, but in one row for each call instead of by peer and call site.",
	}, {
		Name: "prof", Syntax: "PREFIX", Empty: "none", Check: textOf, Ranks: true, NoFlag: true,
		Summary: "let each process write PREFIX.RANK.prof in MPI_Finalize",
		Details: "This is for preloading the library by hand. `mpitrace run --format prof` writes the files after the job.",
	}, {
		Name: "quiet", Syntax: "on|off", Default: "off", Check: onOff, Switch: true, Ranks: true, NoFlag: true,
		Summary: "the library in the application prints no messages at all",
	}, {
		Name: "spool", Syntax: "auto|shm|run|DIR", Default: "auto", Check: something,
		Summary: "where the processes of this node keep their recordings while they run: auto, shm (/dev/shm), run (the run directory) or a directory",
	}, {
		Name: "format", Syntax: "prof,arrow", Empty: "none", Check: words("prof", "arrow"), Separator: ",",
		Summary: "also write one file per rank: prof, arrow",
	}, {
		Name: "mpi", Syntax: "NAME|PATH", Default: "auto", Check: implementation,
		Summary: "the MPI to record: auto, openmpi, mpich, intelmpi, mvapich, mpi-abi, or the path of an MPI's shared library or prefix",
		Details: "With auto it is the MPI that the program is linked to, otherwise that of the launcher, otherwise that of mpicc.",
	}, {
		Name: "cc", Syntax: "COMMAND", Check: textOf, Empty: "none",
		Summary: "the MPI's compiler wrapper; by default the mpicc of the MPI",
		Details: "It overrides mpi, unless mpi is set at a place with higher precedence.",
	}, {
		Name: "strict", Syntax: "on|off", Default: "off", Check: onOff, Switch: true,
		Summary: "exit with status 3 if the program succeeds but its recordings are missing or incomplete",
	}, {
		Name: "no-report", Syntax: "on|off", Default: "off", Check: onOff, Switch: true,
		Summary: "do not print the summary after the run",
	}, {
		Name: "debug-dir", Syntax: "DIR,...", Empty: "none", Check: something, Separator: ",",
		Summary: "search for the debug files of programs and libraries in these directories first, then in /usr/lib/debug",
		Details: "A debug file has the names and lines of call sites in a stripped file. It is found by build-id (DIR/.build-id/ab/cdef.debug) or by name (DIR/app.debug, DIR/path/of/app.debug), and used only if it belongs to the file.",
	}, {
		Name: "cache", Syntax: "DIR", Empty: "none", Check: textOf, NoFlag: true,
		Summary: "the directory for built libraries; by default mpitrace in $XDG_CACHE_HOME or ~/.cache",
		Details: "No other user may be able to write to it, and its path must not contain a blank or a colon.",
	},
}

// Others are the other environment variables that mpitrace reads, and their uses.
var Others = [][2]string{
	{"MPITRACE_DIR", "The run directory, if the library is preloaded by hand. `mpitrace run` sets it for the processes of a job."},
	{"MPITRACE_SPOOL_DIR", "Set by `mpitrace run`: the private directory on this node in which processes keep their recordings."},
	{EnvSite, "The site file to read instead of " + sitePath + "; empty for none."},
	{"XDG_CONFIG_HOME", "The directory with mpitrace/config, the user file (default: ~/.config)."},
	{"XDG_CACHE_HOME", "The directory for built libraries (default: ~/.cache)."},
	{"TMPDIR", "Where a process records if the run directory is full (default: /tmp)."},
}
