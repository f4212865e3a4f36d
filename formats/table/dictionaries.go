package table

import (
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/profile"
)

// Dictionaries holds what the tables of a run need to know of all processes
// before the first row is written: the words of columns, and what processes
// share. With it, several programs can each write the rows of some processes
// (see UnitWriter).
type Dictionaries struct {
	Profile, Ranks, Pvars ColumnWords
	Timing, Receives      []string          // as in Settings
	About                 map[string]string // descriptions of performance variables, as metadata
	Began                 map[string]int64  // earliest start of a process, by job; Unix ns
	Programs              []program
	Files                 []moduleFile
	Comms                 []communicator
	Places                []place
}

// ColumnWords are the words of a table, by column; none for a column that has no
// words. The words of the column source are left out.
type ColumnWords struct {
	Columns [][]string

	once  sync.Once
	codes []map[string]int32
}

// codesOf returns the codes of a column's words.
func (w *ColumnWords) codesOf(column int) map[string]int32 {
	w.once.Do(func() {
		w.codes = make([]map[string]int32, len(w.Columns))
		for i, words := range w.Columns {
			w.codes[i] = make(map[string]int32, len(words))
			for code, word := range words {
				w.codes[i][word] = int32(code)
			}
		}
	})
	return w.codes[column]
}

// A Vocabulary collects Dictionaries. Call NoteProcess for all processes, then
// Note for those that a Reducer kept. All must have their final names.
type Vocabulary struct {
	profile *profileTable
	ranks   *rowTable[*profile.Profile]
	pvars   *pvarTable
	head    header
}

// NewVocabulary returns an empty Vocabulary.
func NewVocabulary() *Vocabulary {
	return &Vocabulary{profile: newProfileTable(io.Discard), ranks: newRankTable(io.Discard), pvars: newPvarTable(io.Discard)}
}

// NoteProcess adds what processes do not share: p needs only the job, the
// program, its command and MPI, and the start.
func (v *Vocabulary) NoteProcess(p *profile.Profile) {
	v.head.program(p)
	v.pvars.noteStart(p)
	noteRun(v.profile.arrow, p.Run)
	noteRun(v.ranks.arrow, p.Run)
	noteRun(v.pvars.arrow, p.Run)
}

func noteRun[T any](t *arrowWriter[T], run string) {
	for i := range t.of {
		if t.of[i].Name == runColumn {
			t.cols[i].(*wordColumn[T]).noteWord(run)
		}
	}
}

// Note adds what is in a profile.
func (v *Vocabulary) Note(p *profile.Profile) error {
	v.head.note(p)
	for _, t := range []output{v.profile, v.ranks, v.pvars} {
		if err := t.note(p); err != nil {
			return err
		}
	}
	return nil
}

// Dictionaries returns what was collected.
func (v *Vocabulary) Dictionaries() *Dictionaries {
	d := &Dictionaries{Timing: v.profile.settings.timing, Receives: v.profile.settings.receives, Began: v.pvars.began, About: map[string]string{}}
	d.Profile.Columns, d.Ranks.Columns, d.Pvars.Columns = wordsOf(v.profile.arrow), wordsOf(v.ranks.arrow), wordsOf(v.pvars.arrow)
	for key, text := range v.pvars.arrow.metadata {
		if strings.HasPrefix(key, keyPvar) {
			d.About[key] = text
		}
	}
	d.Places = v.head.places()
	d.Programs, d.Files, d.Comms = v.head.programs.all, v.head.files.all, v.head.comms.all
	return d
}

func wordsOf[T any](t *arrowWriter[T]) [][]string {
	out := make([][]string, len(t.cols))
	for i, c := range t.cols {
		if c, ok := c.(*wordColumn[T]); ok && c.of.Name != sourceColumn {
			out[i] = make([]string, len(c.codes))
			for word, code := range c.codes {
				out[i][code] = word
			}
		}
	}
	return out
}

// metadata returns the metadata of a table's schema.
func (d *Dictionaries) metadata(name string, fixed map[string]string) map[string]string {
	out := maps.Clone(fixed)
	settings := Settings{d.Timing, d.Receives}
	maps.Copy(out, settings.Metadata())
	if name == tablePvars {
		maps.Copy(out, d.About)
	}
	return out
}

// header returns a header with all that processes share.
func (d *Dictionaries) header() header {
	var h header
	for _, p := range d.Programs {
		h.programs.of(p.key(), p)
	}
	for _, f := range d.Files {
		h.files.of(f, f)
	}
	for _, c := range d.Comms {
		h.comms.of(c.key(), c)
	}
	return h
}

// useWords gives the columns of a table their words. They are complete:
// arrowWriter.add returns an error for any other.
func useWords[T any](t *arrowWriter[T], words *ColumnWords) {
	for i, c := range t.cols {
		if c, ok := c.(*wordColumn[T]); ok && c.of.Name != sourceColumn {
			c.codes = words.codesOf(i)
		}
	}
}
