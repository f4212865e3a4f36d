package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/mpit"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/interpose"
)

// checkCvars refuses control variables that the MPI cannot be given, before
// anything is started. Without a compiler wrapper it cannot be asked: then the
// library inside the processes says what was refused.
func checkCvars(ctx context.Context, asked []string, mpi *launch.MPI, log io.Writer) error {
	if len(asked) == 0 || mpi.CC == "" {
		return nil
	}
	o := mpit.Options{Build: interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library, Log: log}}
	list, err := mpit.Read(ctx, o)
	if err != nil {
		return fmt.Errorf("--cvar: %w", err)
	}
	for _, line := range asked {
		name, value, _ := strings.Cut(line, "=")
		v, err := list.CVar(name)
		if err != nil {
			if v = cvarAfterInit(ctx, o, name); v == nil {
				return usage(fmt.Errorf("--cvar %s: %w (%s)", line, err, mpi))
			}
		}
		if err := checkCvar(v, value, mpi.Flavour); err != nil {
			return usage(fmt.Errorf("--cvar: %w (%s)", err, mpi))
		}
	}
	return nil
}

// cvarAfterInit looks among those that MPI_Init makes. If it cannot be called here
// there are none.
func cvarAfterInit(ctx context.Context, o mpit.Options, name string) *mpit.CVar {
	o.AfterInit = true
	list, err := mpit.Read(ctx, o)
	if err != nil {
		return nil
	}
	v, _ := list.CVar(name)
	return v
}

// checkCvar lets pass what Open MPI calls read-only: these variables are set, as
// by its environment, before MPI_Init.
func checkCvar(v *mpit.CVar, value string, f run.Flavour) error {
	if f != run.OpenMPI && v.Type == "char" {
		return fmt.Errorf("%s is a text, which this MPI takes from the environment alone: set it there", v.Name)
	}
	err := v.Check(value)
	var readOnly *mpit.ReadOnlyError
	if f == run.OpenMPI && errors.As(err, &readOnly) && readOnly.Scope == "readonly" {
		return nil
	}
	return err
}

// noteCvars writes into run.json what differs from its default for processes of the
// MPI that are started here. It is asked when all else is done: nobody is to wait
// for it, nor lose anything to it.
func (j *job) noteCvars() error {
	const patience = 10 * time.Second
	if j.mpi.CC == "" {
		return nil // nor is there a compiler wrapper to make what would ask
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	changes, err := mpit.ChangedHere(ctx, interpose.BuildOptions{CC: j.mpi.CC, MPI: j.mpi.Library})
	var noRoom *interpose.NoRoomError
	if errors.As(err, &noRoom) {
		return nil // as without a compiler wrapper
	}
	if err != nil {
		return fmt.Errorf("what is set of the MPI's control variables is not known: %w", err)
	}
	for _, c := range changes {
		j.info.CVars = append(j.info.CVars, run.CVar(c))
	}
	return j.dir.WriteInfo(j.info)
}
