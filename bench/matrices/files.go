package matrices

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// link creates a directory anew, with hard links to the files of another. Links
// are enough, as nothing writes to the files.
func link(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// sameMatrices returns an error unless two directories hold matrices with the
// same names and contents.
func sameMatrices(a, b string) error {
	inA, err := matrices(a)
	if err != nil {
		return err
	}
	inB, err := matrices(b)
	if err != nil {
		return err
	}
	if len(inA) == 0 || !slices.Equal(inA, inB) {
		return fmt.Errorf("%s holds %v, %s holds %v", a, inA, b, inB)
	}
	for _, name := range inA {
		if err := sameBytes(filepath.Join(a, name), filepath.Join(b, name)); err != nil {
			return err
		}
	}
	return nil
}

func matrices(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.mat"))
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths, err
}

// sameBytes compares two files without reading them into memory.
func sameBytes(a, b string) error {
	inA, err := os.Open(a)
	if err != nil {
		return err
	}
	defer inA.Close()
	inB, err := os.Open(b)
	if err != nil {
		return err
	}
	defer inB.Close()
	readA, readB := bufio.NewReader(inA), bufio.NewReader(inB)
	for at := 0; ; at++ {
		byteA, errA := readA.ReadByte()
		byteB, errB := readB.ReadByte()
		switch {
		case errA == io.EOF && errB == io.EOF:
			return nil
		case errA == io.EOF || errB == io.EOF || byteA != byteB:
			return fmt.Errorf("%s and %s differ from byte %d on", a, b, at)
		case errA != nil || errB != nil:
			return errors.Join(errA, errB)
		}
	}
}
