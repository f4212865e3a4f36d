package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/settings"
)

// settingFlag is the flag of a setting. What is wrong with its value is found out
// later, as with what the environment and files say.
type settingFlag struct {
	*settings.Setting
	text  string
	given bool
}

func (f *settingFlag) String() string { return f.text }

func (f *settingFlag) Set(text string) error {
	if f.IsList() && f.given {
		text = f.text + f.Separator + text
	}
	f.text, f.given = text, true
	return nil
}

// Type is what the help shows behind the flag's name; "bool" shows nothing.
func (f *settingFlag) Type() string {
	if f.Switch {
		return "bool"
	}
	return f.Syntax
}

// registerSettings makes the flags of the named settings, or of all that have one.
func registerSettings(f *pflag.FlagSet, names ...string) {
	for i := range settings.List {
		s := &settings.List[i]
		if s.NoFlag || len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		value := &settingFlag{Setting: s}
		if !s.Switch {
			value.text = s.Default
		}
		flag := f.VarPF(value, s.Name, s.Short, s.Summary)
		if s.Switch {
			flag.NoOptDefVal = "true"
		}
	}
}

// completeSettings completes the values of the flags of settings.
func completeSettings(cmd *cobra.Command) {
	for i := range settings.List {
		s := &settings.List[i]
		if words := s.Words(); cmd.Flags().Lookup(s.Name) != nil && len(words) > 0 && !s.Switch {
			commandline.CompleteFlag(cmd, s.Name, words...)
		}
	}
}

// findSettings finds out what all settings are, by those flags, the environment
// and the files; and says so where only the environment is asked.
func findSettings(f *pflag.FlagSet) (settings.Values, error) {
	files, err := settings.Read()
	if err != nil {
		return nil, err
	}
	return resolveSettings(f, files)
}

func resolveSettings(f *pflag.FlagSet, files []*settings.File) (settings.Values, error) {
	values, err := settings.Resolve(settings.Given{Getenv: os.Getenv, Files: files,
		Flag: func(name string) (string, bool) {
			if flag := f.Lookup(name); flag != nil {
				if s, ok := flag.Value.(*settingFlag); ok && s.given {
					return s.text, true
				}
			}
			return "", false
		}})
	if err != nil {
		return nil, err
	}
	if cache := values.Of("cache"); cache.Source != settings.Default {
		err = os.Setenv(cache.Env(), cache.Text) // packages that settings know nothing of look there
	}
	return values, err
}

// madeSettings are those that are not by default, for run.json.
func madeSettings(values settings.Values) []run.Setting {
	var out []run.Setting
	for _, v := range values {
		if v.Source != settings.Default {
			out = append(out, run.Setting{Name: v.Name, Value: v.Text, Source: v.Source.String(), SetBy: v.SetBy})
		}
	}
	return out
}

// settingsThatAgree returns the settings that must be the same on all ranks of a job.
func settingsThatAgree() []aggregate.Setting {
	var out []aggregate.Setting
	for i := range settings.List {
		if s := &settings.List[i]; s.Agree {
			out = append(out, recordedSetting(s))
		}
	}
	return out
}

// recordedSetting returns how the values of a setting are read from profiles.
func recordedSetting(s *settings.Setting) aggregate.Setting {
	return aggregate.Setting{Name: s.Name, Default: s.Shown(s.Default), Shown: s.Recorded}
}
