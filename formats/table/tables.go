package table

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Names of the tables of a run, in the metadata of their files.
const (
	tableProfile = "profile"
	tableComms   = "communicators"
	tableRanks   = "ranks"
	tablePvars   = "pvars"
	tableWaits   = "waits"
	tableVectors = "vectors"
)

// FormatVersion changes when an older reader would misread a newer file.
// Version 2, in which all times were exact, can still be read.
const (
	FormatVersion    = "3"
	oldFormatVersion = "2"
)

// metadataOf returns the metadata of a table of a run.
func metadataOf[T any](name string, cols []Column[T]) map[string]string {
	return map[string]string{KeyFormat: FormatVersion, KeyTool: Tool, KeyTable: name, KeyPandas: Pandas(cols)}
}

// WriteProfile writes profile.arrow: the rows of all profiles, in the order of
// the source and of each profile. It iterates over the source twice.
func WriteProfile(w io.Writer, src profile.Source) error { return writeTable(src, newProfileTable(w)) }

// WriteParquet writes the rows of WriteProfile as Parquet. Like WriteCSV and
// WriteJSON, it iterates over the source once.
func WriteParquet(w io.Writer, src profile.Source) error {
	return writeParquet(w, src, groupRows)
}

func writeParquet(w io.Writer, src profile.Source, groupRows int) error {
	out, err := NewParquetWriter(w, ProfileColumns,
		Options[Fact]{Metadata: metadataOf(tableProfile, ProfileColumns), GroupRows: groupRows})
	if err != nil {
		return fmt.Errorf("write parquet table: %w", err)
	}
	var settings Settings
	return writeFacts("parquet", src, &settings, out.Add, func() error { return out.Close(settings.Metadata()) })
}

// WriteCSV writes the rows of WriteProfile as CSV.
func WriteCSV(w io.Writer, src profile.Source) error {
	out, err := NewCSVWriter(w, ProfileColumns, Options[Fact]{})
	if err != nil {
		return fmt.Errorf("write csv table: %w", err)
	}
	return writeFacts("csv", src, new(Settings), out.Add, out.Close)
}

// WriteJSON writes the rows of WriteProfile as JSON lines.
func WriteJSON(w io.Writer, src profile.Source) error {
	out := NewJSONWriter(w, ProfileColumns)
	return writeFacts("json", src, new(Settings), out.Add, out.Close)
}

func writeFacts(format string, src profile.Source, settings *Settings, add func(iter.Seq[Fact]) error, end func() error) error {
	err := src.Each(func(p *profile.Profile) error {
		settings.Note(p)
		return add(Facts(p))
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return fmt.Errorf("write %s table: %w", format, err)
	}
	return nil
}

// output is a table that is made from profiles.
type output interface {
	note(*profile.Profile) error // called for every profile before start
	start() error
	add(*profile.Profile) error
	close() error
}

func writeTable(src profile.Source, t output) error {
	for _, step := range []func() error{
		func() error { return src.Each(t.note) },
		t.start,
		func() error { return src.Each(t.add) },
		t.close,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("write arrow table: %w", err)
		}
	}
	return nil
}

// arrowTable writes a table to an Arrow file.
type arrowTable[T any] struct {
	name     string
	settings Settings // for the schema's metadata
	head     header
	seal     *sealer
	arrow    *arrowWriter[T]
}

func newArrowTable[T any](w io.Writer, name string, cols []Column[T]) arrowTable[T] {
	seal := newSealer(w)
	return arrowTable[T]{name: name, seal: seal, arrow: newArrowWriter(seal, cols, metadataOf(name, cols))}
}

func (t *arrowTable[T]) start() error { return t.arrow.start(t.settings.Metadata()) }

func (t *arrowTable[T]) close() error {
	if err := t.arrow.finish(); err != nil {
		return err
	}
	return t.seal.Close(&t.head, t.name, t.arrow.out.Close)
}

// rowTable is an arrowTable in which each profile has its own rows.
type rowTable[T any] struct {
	arrowTable[T]
	rows func(*profile.Profile) iter.Seq[T]
}

func (t *rowTable[T]) note(p *profile.Profile) error {
	t.settings.Note(p)
	return t.arrow.note(t.rows(p))
}

func (t *rowTable[T]) add(p *profile.Profile) error { return t.arrow.add(t.rows(p)) }

// profileTable writes profile.arrow.
type profileTable struct{ rowTable[Fact] }

func newProfileTable(w io.Writer) *profileTable {
	return &profileTable{rowTable[Fact]{newArrowTable(w, tableProfile, ProfileColumns), Facts}}
}

func (t *profileTable) add(p *profile.Profile) error {
	if err := t.rowTable.add(p); err != nil {
		return err
	}
	return t.head.Add(p)
}

// Settings collects how processes were recorded, for the metadata of tables.
type Settings struct{ timing, receives []string }

// Note adds the settings of a process.
func (s *Settings) Note(p *profile.Profile) {
	noteWord(&s.timing, p.Timing.String())
	noteWord(&s.receives, profile.ReceivesText(p.Unfollowed))
}

func noteWord(words *[]string, word string) {
	if i, known := slices.BinarySearch(*words, word); !known {
		*words = slices.Insert(*words, i, word)
	}
}

// Metadata returns the settings by key. If processes differ, a setting lists
// all their values. It returns nil if there were no processes.
func (s *Settings) Metadata() map[string]string {
	if s.timing == nil {
		return nil
	}
	return map[string]string{"mpitrace.timing": strings.Join(s.timing, ","), "mpitrace.receives": strings.Join(s.receives, ",")}
}
