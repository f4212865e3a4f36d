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
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// checkCvars returns an error if the MPI does not accept one of the control
// variables, before the job starts. Without a compiler wrapper and a prebuilt
// program it cannot check this; then the library in the processes reports what the
// MPI refused.
func checkCvars(ctx context.Context, asked []string, mpi *launch.MPI, log io.Writer) error {
	if len(asked) == 0 || !interpose.HasLister(interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}) {
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

// cvarAfterInit returns a variable that exists only after MPI_Init, or nil. It
// also returns nil if MPI_Init cannot be called here.
func cvarAfterInit(ctx context.Context, o mpit.Options, name string) *mpit.CVar {
	o.AfterInit = true
	list, err := mpit.Read(ctx, o)
	if err != nil {
		return nil
	}
	v, _ := list.CVar(name)
	return v
}

// checkCvar returns an error if the MPI does not accept a value for a variable.
// Variables that Open MPI calls read-only are accepted, because they are set
// before MPI_Init, like those in its environment.
func checkCvar(v *mpit.CVar, value string, f rundir.Flavour) error {
	if f != rundir.OpenMPI && v.Type == "char" {
		return fmt.Errorf("%s is a text: set it in the environment, as this MPI accepts it nowhere else", v.Name)
	}
	err := v.Check(value)
	var readOnly *mpit.ReadOnlyError
	if f == rundir.OpenMPI && errors.As(err, &readOnly) && readOnly.Scope == "readonly" {
		return nil
	}
	return err
}

// noteCvars writes into run.json the control variables that differ from their
// default in a process of the MPI that is started here. It runs after the summary,
// with a timeout, so that it delays nothing for long and an error loses no other
// result.
func (j *job) noteCvars() error {
	const patience = 10 * time.Second
	build := interpose.BuildOptions{CC: j.MPI.CC, MPI: j.MPI.Library}
	if !interpose.HasLister(build) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	changes, err := mpit.ChangedHere(ctx, build)
	var noRoom *interpose.NoRoomError
	if errors.As(err, &noRoom) {
		return nil // there is no place for the program that asks
	}
	if err != nil {
		return fmt.Errorf("list the MPI's control variables that differ from their defaults: %w", err)
	}
	for _, c := range changes {
		j.Info.CVars = append(j.Info.CVars, rundir.CVar(c))
	}
	return j.Dir.WriteInfo(j.Info)
}
