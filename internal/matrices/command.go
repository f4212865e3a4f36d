// Package matrices is the command that makes matrices of the messages between ranks: profile2mat,
// and mpitrace matrix.
package matrices

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/rundir"
)

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef returns a formatted usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// ExitStatus returns 2 for a usage error or an unusable input path, else 1.
func ExitStatus(err error) int {
	var usage usageError
	var input *rundir.InputError
	var unknown *formats.UnknownError
	if errors.As(err, &usage) || errors.As(err, &input) || errors.As(err, &unknown) {
		return 2
	}
	return 1
}

var long = `Sum the messages between the processes of an MPI job, and write matrices of these
classes:

  all       everything
  external  point-to-point, sent by the program
  internal  sent by the MPI library itself
  osc       one-sided
  coll      collectives, their logical volume
  direct    point-to-point and one-sided: the first of the pictures

If the run was recorded with --physical, internal is not included in all, because
all has the collectives that these messages implement. --class physical makes
matrices of the messages that the MPI library sent: all, external and internal.

Row i, column j is what rank i sent to rank j. No file is written for a class
without messages. Formats (--format) are

` + matrixfile.Help() + `
Pictures never add collectives to what ranks sent to each other: there is one each
of direct, coll and internal. With --class, --call or --direction there is one of
everything that was selected, and one of each of its classes.

A PATH is a run directory of mpitrace, recordings (.rec, .node), .prof files of
mpitrace or of Open MPI's monitoring (of one rank, or of several concatenated),
Arrow files of profiles, a directory of any of these, or - for standard input. All
must be of one run. A PATH that does not exist is a prefix:
prof/x stands for prof/x.0.prof, prof/x.1.prof ..., and prof/phase for
prof/phase_1.0.prof ..., prof/phase_2.0.prof ..., phase by phase.

If the input is a run directory, files go to its subdirectory matrix and are named
after the program; each job has its own matrices. Otherwise files go beside the
input: x_size_all.mat for x.prof, and also for x.0.prof, x.1.prof ... together.

Select a part of the messages with --class, --call, --comm, --slice, --size-class,
--callsite, --direction, --ranks, --from, --to and --no-self. If several are
given, messages must match all of them. Only the selections by rank, --class and
--direction work with .prof files; the others need recordings or Arrow files. File
names contain the selection: app.call-Isend_size_all.mat.

With --symmetric each pair has the mean of both directions. The .mat files are then
the same as those of Open MPI's script: a class has only as many rows as its largest
rank requires, and internal, osc and coll are written only together with external.
Other formats have all rows and classes, and fractions where the mean is one.

The names of the files written go to stdout, everything else to stderr.`

const examples = `  COMMAND mpitrace-lmp-20240229-134501
  COMMAND -o matrices --no-self run.*.prof
  COMMAND --symmetric all.prof
  COMMAND --symmetric prof/phase
  COMMAND --format parquet,png --class p2p mpitrace-lmp-20240229-134501
  COMMAND --format csv --by host --call Send mpitrace-lmp-20240229-134501
  cat run.*.prof | COMMAND -`

// NewCommand returns the command. path is what the user types to start it, of which the last word
// is its name and the first begins its messages.
func NewCommand(path string) *cobra.Command {
	words := strings.Fields(path)
	o := options{program: words[0]}
	see := "\nsee " + path + " --help"
	cmd := &cobra.Command{
		Use:           words[len(words)-1] + " PATH...",
		Short:         "Make communication matrices from the profiles of an MPI job",
		Long:          long,
		Example:       strings.ReplaceAll(examples, "COMMAND", path),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("no PATH given: %s%s", cmd.UseLine(), see)}
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(noneEmpty(cmd.Flags()), o.parse()); err != nil {
				return usageError{fmt.Errorf("%w%s", err, see)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{fmt.Errorf("%w%s", err, see)} })
	o.addFlags(cmd)
	commandline.CompleteFlag(cmd, "format", matrixfile.Names()...)
	commandline.CompleteFlag(cmd, "by", "rank", "host")
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.dir, "output", "o", "", "`directory` for the matrices, created if necessary (default: beside the input)")
	f.StringSliceVar(&o.formatNames, "format", []string{"mat"}, "`formats`, comma-separated: "+strings.Join(matrixfile.Names(), ", "))
	f.BoolVarP(&o.force, "force", "f", false, "overwrite existing matrices")
	f.BoolVar(&o.skipDamaged, "skip-damaged", false, "use the readable part of damaged input")
	f.Uint64Var(&o.maxPairs, "max-pairs", 200_000_000, "write no matrix of more than `N` pairs of ranks; 0 is no limit")

	f.BoolVar(&o.directed, "directed", false, "row i, column j is what rank i sent to rank j (the default)")
	f.BoolVar(&o.symmetric, "symmetric", false, "use the mean of both directions for each pair; .mat files equal those of Open MPI's script profile2mat")
	f.StringVar(&o.by, "by", "rank", "unit of a row: `rank`, host, or a number N for blocks of N ranks")
	f.BoolVar(&o.self, "self", false, "include messages of ranks to themselves (the default)")
	f.BoolVar(&o.noSelf, "no-self", false, "leave out messages of ranks to themselves")

	commandline.AddSelection(cmd, &o.selection)
	rankFlag := func(to *rankFlag, name, usage string) {
		to.name = name
		f.StringVar(&to.text, name, "", usage)
	}
	rankFlag(&o.ranks, "ranks", "only messages between these ranks, a `set` such as 0-63,80; rows keep their numbers")
	rankFlag(&o.from, "from", "only messages from these ranks, a `set`")
	rankFlag(&o.to, "to", "only messages to these ranks, a `set`")
}

// noneEmpty returns an error if a flag has an empty value, for example from an
// unset variable of a script. Such a flag would select everything.
func noneEmpty(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		if text := f.Value.String(); text == "" || text == "[]" {
			errs = append(errs, fmt.Errorf("--%s: no value given", f.Name))
		}
	})
	return errors.Join(errs...)
}
