package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
)

// topFlag is the value of --top: how many entries of a list are printed,
// negative for all.
type topFlag int

// addTop adds the flag --top. usage describes it with the word `number`.
func addTop(cmd *cobra.Command, top *topFlag, usage string) {
	*top = 10
	cmd.Flags().Var(top, "top", usage)
	commandline.CompleteFlag(cmd, "top", "all")
}

func (t *topFlag) String() string {
	if *t < 0 {
		return "all"
	}
	return strconv.Itoa(int(*t))
}

func (t *topFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "all":
		n = -1
	case err != nil || n < 0:
		return errors.New("it can be a number or all")
	}
	*t = topFlag(n)
	return nil
}

func (t *topFlag) Type() string { return "number" }

// wordFlag is a flag that takes one of several words.
type wordFlag[T ~string] struct {
	value *T
	words []T
}

// addWord adds a flag whose first word is the default. Shells complete it.
func addWord[T ~string](cmd *cobra.Command, value *T, name, usage string, words ...T) {
	*value = words[0]
	f := &wordFlag[T]{value, words}
	cmd.Flags().Var(f, name, usage)
	commandline.CompleteFlag(cmd, name, f.names()...)
}

func (f *wordFlag[T]) names() []string {
	var names []string
	for _, word := range f.words {
		names = append(names, string(word))
	}
	return names
}

func (f *wordFlag[T]) String() string { return string(*f.value) }

func (f *wordFlag[T]) Set(text string) error {
	if !slices.Contains(f.words, T(text)) {
		names := f.names()
		last := len(names) - 1
		return fmt.Errorf("it can be %s or %s", strings.Join(names[:last], ", "), names[last])
	}
	*f.value = T(text)
	return nil
}

func (f *wordFlag[T]) Type() string { return "string" }
