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
	tableCauses  = "causes"
	tableVectors = "vectors"
	tableFlows   = "flows"
)

// FormatVersion changes when an older reader would misread a newer file.
const FormatVersion = "3"

// metadataOf returns the metadata of a table of a run.
func metadataOf[T any](name string, cols []Column[T]) map[string]string {
	return map[string]string{KeyFormat: FormatVersion, KeyTool: Tool, KeyTable: name, KeyPandas: Pandas(cols)}
}

// WriteProfile writes profile.arrow: the rows of all profiles, in the order of
// the source and of each profile. Like WriteParquet, WriteCSV and WriteJSON, it
// iterates over the source once.
func WriteProfile(w io.Writer, src profile.Source) error {
	return writeProfile("arrow", src, NewArrowWriter(w, ProfileColumns, Options[Fact]{Metadata: metadataOf(tableProfile, ProfileColumns)}))
}

// WriteParquet writes the rows of WriteProfile as Parquet.
func WriteParquet(w io.Writer, src profile.Source) error {
	return writeParquet(w, src, groupRows)
}

func writeParquet(w io.Writer, src profile.Source, groupRows int) error {
	o := Options[Fact]{Metadata: metadataOf(tableProfile, ProfileColumns), GroupRows: groupRows}
	return writeProfile("parquet", src, NewParquetWriter(w, ProfileColumns, o))
}

// WriteCSV writes the rows of WriteProfile as CSV.
func WriteCSV(w io.Writer, src profile.Source) error {
	return writeProfile("csv", src, NewCSVWriter(w, ProfileColumns, Options[Fact]{}))
}

// WriteJSON writes the rows of WriteProfile as JSON lines.
func WriteJSON(w io.Writer, src profile.Source) error {
	return writeProfile("json", src, NewJSONWriter(w, ProfileColumns))
}

func writeProfile(format string, src profile.Source, out Encoder[Fact]) error {
	t := rowTable[Fact]{out: out, rows: Facts}
	err := src.Each(t.Add)
	if err == nil {
		err = t.Close()
	}
	if err != nil {
		return fmt.Errorf("write %s table: %w", format, err)
	}
	return nil
}

// Encoder writes the rows of a table in one format. Close ends the table, with
// additional metadata.
type Encoder[T any] interface {
	Add(rows iter.Seq[T]) error
	Close(metadata map[string]string) error
}

// WriteAll writes all rows of a table and ends it.
func WriteAll[T any](out Encoder[T], rows iter.Seq[T]) error {
	if err := out.Add(rows); err != nil {
		return err
	}
	return out.Close(nil)
}

// rowTable is a table in which each profile has its own rows.
type rowTable[T any] struct {
	out      Encoder[T]
	rows     func(*profile.Profile) iter.Seq[T]
	settings Settings // for the metadata
}

// Add writes the rows of a profile.
func (t *rowTable[T]) Add(p *profile.Profile) error {
	t.settings.Note(p)
	return t.out.Add(t.rows(p))
}

// Close ends the table.
func (t *rowTable[T]) Close() error { return t.out.Close(t.settings.Metadata()) }

// Settings collects how processes were recorded and what was damaged, for the metadata of
// tables.
type Settings struct {
	timing, receives []string
	lost             []string // in the order in which the damage was found
}

// Note adds the settings and the damage of a process.
func (s *Settings) Note(p *profile.Profile) {
	noteWord(&s.timing, p.Timing.String())
	noteWord(&s.receives, profile.ReceivesText(p.Unfollowed))
	s.lost = append(s.lost, p.Lost...)
	if damage := p.Damage(); damage != "" {
		s.lost = append(s.lost, damage)
	}
}

func noteWord(words *[]string, word string) {
	if i, known := slices.BinarySearch(*words, word); !known {
		*words = slices.Insert(*words, i, word)
	}
}

// Metadata returns the settings and the damage by key. If processes differ, a setting
// lists all their values. It returns nil if there were no processes.
func (s *Settings) Metadata() map[string]string {
	if s.timing == nil {
		return nil
	}
	out := map[string]string{"mpitrace.timing": strings.Join(s.timing, ","), "mpitrace.receives": strings.Join(s.receives, ",")}
	if text, some := lines(s.lost); some {
		out[KeyLost] = text
	}
	return out
}
