package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/symbolize"
)

// settingFlag is the flag of a setting. Its value is checked later, together
// with those from the environment and files.
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

// Type returns the text that the help shows after the flag's name. For "bool"
// the help shows nothing.
func (f *settingFlag) Type() string {
	if f.Switch {
		return "bool"
	}
	return f.Syntax
}

// registerSettings adds the flags of the named settings, whose values shells
// complete. Without names it adds those of all settings that have a flag.
func registerSettings(cmd *cobra.Command, names ...string) {
	for i := range settings.List {
		s := &settings.List[i]
		if s.NoFlag || len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		value := &settingFlag{Setting: s}
		if !s.Switch {
			value.text = s.Default
		}
		flag := cmd.Flags().VarPF(value, s.Name, "", s.Summary)
		if s.Switch {
			flag.NoOptDefVal = "true"
		} else if words := s.Words(); len(words) > 0 {
			commandline.CompleteFlag(cmd, s.Name, words...)
		}
	}
}

// findSettings returns the values of all settings, from the flags in f, the environment and the
// files. It puts the value of the setting cache into the environment, because some packages read
// only the environment.
func findSettings(f *pflag.FlagSet) (settings.Values, error) {
	files, err := settings.Read()
	if err != nil {
		return nil, err
	}
	return resolveSettings(f, files)
}

func resolveSettings(f *pflag.FlagSet, files []*settings.SettingsFile) (settings.Values, error) {
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
		err = os.Setenv(cache.Env(), cache.Text) // interpose reads only the environment
	}
	return values, err
}

// debugDir is the setting of commands that name call sites.
const debugDir = "debug-dir"

// searchDebugFiles makes commands that have the flag --debug-dir search for debug files there.
func searchDebugFiles(cmd *cobra.Command) error {
	if cmd.Flags().Lookup(debugDir) == nil {
		return nil
	}
	values, err := findSettings(cmd.Flags())
	if err != nil {
		return usage(err)
	}
	if dirs := values.Of(debugDir).Elements(); len(dirs) > 0 {
		symbolize.SearchFirst(dirs...)
	}
	return nil
}

// settingsThatAgree returns the settings that must be equal on all ranks of a
// job.
func settingsThatAgree() []aggregate.RecordedSetting {
	var out []aggregate.RecordedSetting
	for i := range settings.List {
		if s := &settings.List[i]; s.Agree {
			out = append(out, recordedSetting(s))
		}
	}
	return out
}

// recordedSetting returns the setting in the form in which aggregate reads its
// values from profiles.
func recordedSetting(s *settings.Setting) aggregate.RecordedSetting {
	return aggregate.RecordedSetting{Name: s.Name, Default: s.Shown(s.Default), Shown: s.Recorded}
}
