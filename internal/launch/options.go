package launch

import (
	"os/exec"
	"slices"
	"strings"
)

// optionArity lists how many arguments each option of a launcher takes. Names are without dashes.
// The tables need not be complete: section.unknown guesses for options that newer versions of a
// launcher add.
type optionArity struct {
	arity map[string]int
	// long is true for the syntax of getopt_long: one dash starts single
	// letters, two dashes start a name that may be abbreviated. If long is
	// false, one or two dashes start a name.
	long bool
	// wdir and path are the options that set the working directory and the
	// search path. file are the options that read the programs from a file or
	// copy them to another place. tool are those that start the programs under a
	// debugger or another tool.
	wdir, path, file, tool []string
	// pair are the options that take NAME VALUE or NAME=VALUE. library are those
	// whose next word is their argument only if it is a shared library.
	pair, library []string
	// config is the option that names a file with the sections of the command
	// line, which can be rewritten.
	config string
}

func newOptions(long bool, byArity ...string) *optionArity {
	o := &optionArity{arity: map[string]int{}, long: long}
	for n, names := range byArity {
		for _, name := range strings.Fields(names) {
			o.arity[name] = n
		}
	}
	return o
}

// openMPIOptions are the options of mpirun in Open MPI 4 (orterun) and 5
// (prterun).
var openMPIOptions = openMPI()

func openMPI() *optionArity {
	o := newOptions(false, `
		allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot
		continuous d debug debug-daemons debug-daemons-file debug-devel
		disable-recovery display-allocation display-comm display-comm-finalize
		display-devel-allocation display-devel-map display-diffable-map
		display-map do-not-aggregate-help do-not-launch do-not-resolve
		enable-instant-on-support enable-recovery forward-environment
		fwd-mpirun-port get-stack-traces hetero-nodes index-argv-by-rank
		leave-session-attached merge-stderr-to-stdout no-app-prefix nolocal
		nooversubscribe noprefix novm output-proctable oversubscribe p parsable
		parseable pernode preload-binary q quiet report-bindings
		report-child-jobs-separately report-state-on-timeout s
		set-cwd-to-session-dir set-sid show-progress soft stop-in-init
		stop-on-exec system-server tag-output timestamp-output tv
		use-hwthread-cpus use-regexp v verbose xml V version`, `
		H N activate add-host add-hostfile am amca app app-prefix append-env
		app-pmix-prefix arch bind-to c cartofile cf cpu-list cpu-set
		cpus-per-proc cpus-per-rank debugger default-hostfile display file
		forward-signals gpu-support h help hnp host hostfile initial-errhandler
		keepalive launch-agent machinefile map-by max-restarts max-vm-size
		memory-alloc-kinds n np npernode npersocket ompi-server output
		output-directory output-filename path personality pmix-prefix ppr
		prefix preload-files prepend-env pset rank-by rankfile report-events
		report-pid report-uri rf rtos set-env spawn-timeout stdin
		stream-buffering timeout tmpdir tune unset-env wd wdir with-ft x
		xml-file xterm`, `
		gmca gomca mca omca pmixmca prtemca gpmixmca gprtemca`)
	o.wdir, o.path = []string{"wdir", "wd"}, []string{"path"}
	o.file = []string{"app", "s", "preload-binary"}
	return o
}

// arguments returns how many of the words behind an option are its arguments.
// value is the one attached by "=", or the next word.
func (o *optionArity) arguments(name string, arity int, value string, attached bool) int {
	switch {
	case slices.Contains(o.pair, name):
		if strings.Contains(value, "=") {
			arity-- // -genv A=1
		}
		if attached {
			arity-- // -genv=A 1
		}
		return arity
	case attached:
		return 0
	case slices.Contains(o.library, name) && !strings.Contains(value, ".so"):
		return 0
	case name == "tune" && strings.HasPrefix(value, "-"): // optional in old versions of Intel MPI
		return 0
	}
	return arity
}

// hydraOptions are the options of MPICH's mpiexec and of those derived from it:
// Intel MPI's and MVAPICH's.
var hydraOptions = hydra()

func hydra() *optionArity {
	o := newOptions(false, `
		aps cleanup dac debug disable-auto-cleanup
		disable-hostname-propagation disable-x enable-auto-cleanup enable-x
		envall envnone gdb gdb-ia genvall genvnone h help hybrid-hosts idb ilp64
		info l localonly localroot mps noconf nolocal ordered-output
		pmi-aggregate pmi-noaggregate pmi-port prefork prepend-rank
		prepend-timestamp print-all-exitcodes print-rank-map profile prot rr
		silent-abort skip-launch-node trace-collectives trace-pt2pt tv v v6 V
		verbose version`, `
		arch bind-to binding bootstrap bootstrap-exec bootstrap-exec-args
		branch-count check check-mpi check_mpi configfile cpu-bind demux dir
		envexcl envlist errfile errfile-pattern f file gdb-args gdba genvexcl
		genvlist gpath gpus-per-proc grr gtool gtoolfile gwdir host hostfile
		hostlist hosts hosts-group iface launcher launcher-exec localhost
		machine machinefile machinelist machines map-by membind
		memory-alloc-kinds n nameserver np order-nodes outfile outfile-pattern
		path perhost pmi-connect ppn prepend-pattern r rankmap rmk rsh s soft
		tmpdir topolib trace trace-imbalance trace_imbalance tree-width tune tva
		umask usize use-app-topology wdir`, `
		env genv`)
	o.wdir, o.path = []string{"wdir", "gwdir", "dir"}, []string{"path", "gpath"}
	o.config = "configfile"
	o.tool = []string{"aps", "gdb", "gdb-ia", "gdba", "gtool", "gtoolfile", "idb", "mps", "tv", "tva"}
	o.pair = []string{"env", "genv"}
	o.library = []string{"check", "check-mpi", "check_mpi", "trace", "trace-imbalance", "trace_imbalance"}
	return o
}

// slurmOptions are the options of srun. An optional argument must follow "=" or
// the letter directly, so an option with one is listed as taking none.
var slurmOptions = slurm()

func slurm() *optionArity {
	o := newOptions(true, `
		bcast compress contiguous disable-status E exact exclusive external
		H help hold I immediate interactive K k kill-on-bad-exit l label
		multi-prog nice no-allocate no-kill O overcommit overlap oversubscribe
		preserve-env propagate pty Q quiet quit-on-interrupt reboot resv-ports
		s send-libs share spread-job test-only u unbuffered usage
		use-min-nodes v V verbose version X x11 Z`, `
		A accel-bind account acctg-freq B b bb bbf bcast-exclude begin C c
		chdir cluster-constraint clusters comment constraint container
		container-id core-spec cores-per-socket cpu-bind cpu-freq
		cpus-per-gpu cpus-per-task D d deadline delay-boot dependency
		distribution e epilog error exclude export extra extra-node-info F G
		gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task
		gres gres-flags het-group hint i input J job-name jobid L licenses M m
		mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu
		mincpus mpi msg-timeout N n network nodefile nodelist nodes ntasks
		ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
		ntasks-per-tres o open-mode output P p partition power prefer priority
		profile prolog q qos r relative reservation S segment signal
		slurmd-debug sockets-per-node switches T t task-epilog task-prolog
		thread-spec threads threads-per-core time time-min tmp tree-width
		tres-bind tres-per-task uid W w wait wckey x`)
	o.wdir = []string{"chdir", "D"}
	o.file = []string{"multi-prog", "bcast"}
	return o
}

// fluxOptions are the options of `flux run` and `flux submit`.
var fluxOptions = flux()

func flux() *optionArity {
	o := newOptions(true, `
		debug-emulate dry-run exclusive h help l label-io list-plugins quiet u
		unbuffered v verbose x watch progress jps wait`, `
		add-file B bank bcc begin-time c cc cores cores-per-task cwd dependency
		env env-file env-remove error flags g gpus-per-node gpus-per-task input
		job-name log log-stderr N n nodes ntasks o output q queue requires
		rlimit S setattr setopt signal t taskmap tasks-per-core tasks-per-node
		time-limit urgency wait-event`)
	o.wdir = []string{"cwd"}
	return o
}

// LauncherWith returns a launcher that has an option of this name, without dashes: one that is in
// PATH if possible. It returns "" if no launcher is known to have it.
func LauncherWith(option string) string {
	var found []string
	for _, l := range []struct {
		options *optionArity
		names   []string
	}{
		{openMPIOptions, []string{"mpirun", "mpiexec"}}, {hydraOptions, []string{"mpiexec", "mpirun"}},
		{slurmOptions, []string{"srun"}}, {fluxOptions, []string{"flux run"}},
	} {
		if _, known := l.options.arity[option]; known {
			found = append(found, l.names...)
		}
	}
	for _, name := range found {
		if _, err := exec.LookPath(strings.Fields(name)[0]); err == nil {
			return name
		}
	}
	return strings.Join(found[:min(len(found), 1)], "")
}
