package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/internal/settings"
)

// writeSettings makes the table of what the processes of a job are told.
func writeSettings(b *bytes.Buffer) error {
	b.WriteString("// What processes are told: see internal/settings, which is the list.\n" +
		"// X(id, name, name in the environment, default, what it is)\n" +
		"#ifndef MT_SETTINGS_GEN_H\n#define MT_SETTINGS_GEN_H\n\n#define MT_SETTINGS(X)")
	for i := range settings.List {
		if s := &settings.List[i]; s.Ranks {
			id := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
			fmt.Fprintf(b, " \\\n    X(%s, %q, %q, %q, %q)", id, s.Name, s.Env(), s.Shown(s.Default), s.Summary)
		}
	}
	b.WriteString("\n\n#endif\n")
	return nil
}
