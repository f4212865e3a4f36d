package table

import (
	"io"

	"github.com/mpitrace/mpitrace/profile"
)

// These write one table of a source, as a PartWriter writes it.

func WriteComms(w io.Writer, src profile.Source) error {
	var comms Comms
	err := src.Each(func(p *profile.Profile) error {
		comms.Note(p)
		return nil
	})
	if err != nil {
		return err
	}
	return comms.Write(w)
}

func WriteRanks(w io.Writer, src profile.Source) error { return writePart(w, src, tableRanks) }

func WritePvars(w io.Writer, src profile.Source) error { return writePart(w, src, tablePvars) }

func writePart(w io.Writer, src profile.Source, file string) error {
	part := &PartWriter{Starts: map[string]int64{}, Only: []string{file}, Create: func(string, int) (io.WriteCloser, error) {
		return unclosed{w}, nil
	}}
	err := src.Each(func(p *profile.Profile) error {
		if known, ok := part.Starts[p.Run]; p.Start != 0 && (!ok || p.Start < known) {
			part.Starts[p.Run] = p.Start
		}
		return nil
	})
	if err == nil {
		err = src.Each(part.Add)
	}
	if err != nil {
		return err
	}
	return part.Close()
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
