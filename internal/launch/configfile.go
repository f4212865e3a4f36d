package launch

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// configFile is a file that holds the sections of a command line, one per line
// (-configfile of MPICH and Intel MPI). Empty lines and lines that start with #
// are ignored. A line may hold several sections, separated by a lone colon.
//
// The launchers split a line into words differently: Intel MPI reads "x y" as
// one word, MPICH as two; some end a line at any #. Therefore a rewritten copy
// has the recorder's words inserted into the lines, and all else unchanged.
type configFile struct {
	arg     int // index in Argv of the option's argument
	text    string
	words   []string // of all lines, with a colon between lines
	offsets []int    // of each word in text, -1 for a colon between lines
}

// Limits of the launchers, in bytes and words. Beyond the first, MPICH splits a
// line and Intel MPI 2021.19 crashes. Beyond the second, MPICH 4.0 starts
// nothing; Intel MPI has no such limit.
const (
	maxConfigFile  = 1 << 20
	maxConfigLine  = 16000
	maxConfigWords = 900
)

// readConfigFile reads the file at path. If quotes is true, double quotes group
// words as in Intel MPI.
func readConfigFile(path string, quotes bool) (*configFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New(path + " is not a regular file") // a pipe can be read only once
	}
	b, err := atomicfile.Read(path, maxConfigFile)
	if err != nil {
		return nil, err
	}
	f := &configFile{text: string(b)}
	at := 0
	for line := range strings.Lines(f.text) {
		f.addLine(line, at, quotes)
		if strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`) {
			return nil, errors.New(path + " has a line that ends in a backslash") // some versions join it with the next
		}
		at += len(line)
	}
	return f, nil
}

// addLine adds the words of a line that starts at an offset of the text.
func (f *configFile) addLine(line string, offset int, quotes bool) {
	const blanks = " \t\r\n\v\f"
	first := strings.TrimLeft(line, blanks)
	if first == "" || first[0] == '#' {
		return
	}
	if len(f.words) > 0 {
		f.words, f.offsets = append(f.words, ":"), append(f.offsets, -1)
	}
	for at := len(line) - len(first); at < len(line); {
		length, word := firstWord(line[at:], quotes)
		f.words, f.offsets = append(f.words, word), append(f.offsets, offset+at)
		at += length
		at += len(line[at:]) - len(strings.TrimLeft(line[at:], blanks))
	}
}

// firstWord returns the word that text starts with, and its length in text.
func firstWord(text string, quotes bool) (length int, word string) {
	if !quotes || text[0] != '"' {
		if length = strings.IndexAny(text, " \t\r\n\v\f"); length < 0 {
			length = len(text)
		}
		return length, text[:length]
	}
	for at := 1; at < len(text); at++ {
		if text[at] == '"' && text[at-1] != '\\' {
			return at + 1, strings.ReplaceAll(text[1:at], `\"`, `"`)
		}
	}
	return len(text), text[1:]
}

// rewrite returns the text with words in front of each program. It returns an
// error if the launcher could not read it.
func (f *configFile) rewrite(programs []Invocation, rank []string, limited bool) (string, error) {
	var out strings.Builder
	from, words := 0, len(f.words)
	for _, p := range programs {
		inserted := p.recorderWords(rank)
		for _, w := range inserted {
			if w == "" || strings.ContainsAny(w, " \t\r\n\v\f\"'\\#") {
				return "", fmt.Errorf("%q cannot be written into the file of -configfile", w)
			}
		}
		at := f.offsets[p.Index]
		out.WriteString(f.text[from:at])
		out.WriteString(strings.Join(inserted, " ") + " ")
		from, words = at, words+len(inserted)
	}
	out.WriteString(f.text[from:])
	for line := range strings.Lines(out.String()) {
		if len(line) > maxConfigLine {
			return "", errors.New("the file of -configfile would have lines that are too long for the launcher")
		}
	}
	if limited && words > maxConfigWords {
		return "", errors.New("the file of -configfile would have more words than some launchers can read")
	}
	return out.String(), nil
}
