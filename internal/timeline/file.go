package timeline

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/plot"
)

// formats are the functions that write a picture, by file name extension.
var formats = map[string]func(*plot.Timeline, io.Writer) error{
	".png": (*plot.Timeline).WritePNG,
	".svg": (*plot.Timeline).WriteSVG,
}

// CheckName returns an error if the extension of a file name is not that of a
// picture.
func CheckName(path string) error {
	if formats[extension(path)] == nil {
		return fmt.Errorf("%s: a picture's name ends in .png or .svg", path)
	}
	return nil
}

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// Write writes a picture to a file, in the format of the file name's extension.
// The file is written whole or not at all.
func Write(path string, picture *plot.Timeline) error {
	if err := CheckName(path); err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return formats[extension(path)](picture, w) })
}
