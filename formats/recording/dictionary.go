package recording

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Recordings of a job are much alike: they have the same strings, modules and rows, with other
// times. A zstd dictionary holds parts of some of the recordings, and statistics about others.
const (
	fewestLearnt = 4  // a container with fewer recordings has no dictionary
	perLearnt    = 32 // the dictionary is made from one in this many recordings
	mostLearnt   = 16
	statistics   = 16 // recordings of which the statistics are
)

// LongestSample is the size in bytes of the longest recording that is used to make a dictionary.
const LongestSample = 1 << 20

// zeroRun is the length of the longest run of zeros in a dictionary.
const zeroRun = 64

// Learn makes a dictionary from some of n recordings, and writes it. read returns recording i, nil
// if it cannot be read. Learn must be called before recordings are added.
func (w *ContainerWriter) Learn(n int, read func(i int) []byte) error {
	if n < fewestLearnt {
		return nil
	}
	var history []byte
	learnt := min((n+perLearnt-1)/perLearnt, mostLearnt)
	for i := range learnt {
		columns := columnsOf(read((2*i + 1) * n / (2 * learnt)))
		if len(history)+len(columns) < maxDictionary/2 {
			history = append(history, columns...)
		}
	}
	var others [][]byte
	for i := range min(n, statistics) {
		if columns := columnsOf(read(i * n / min(n, statistics))); columns != nil {
			others = append(others, columns)
		}
	}
	dictionary, err := buildDictionary(history, others)
	if err != nil {
		return nil // recordings are packed without one
	}
	w.dictionary, w.written.dictionary = dictionary, dictionary
	w.packer = newPacker(zstd.WithEncoderDict(dictionary))
	_, err = w.section(dictionaryFrame, dictionary)
	return err
}

// columnsOf returns a recording as it is before compression, with runs of zeros shortened.
func columnsOf(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > LongestSample {
		return nil
	}
	f := newFile(bytes.NewReader(raw), int64(len(raw)))
	f.ahead, f.headOnly = raw, true
	if f.open() != nil {
		return nil
	}
	columns := appendColumns(nil, raw, f.rowBlocks())
	out := columns[:0]
	zeros := 0
	for _, b := range columns {
		if zeros++; b != 0 {
			zeros = 0
		}
		if zeros <= zeroRun {
			out = append(out, b)
		}
	}
	return out
}

// buildDictionary returns a dictionary that a decoder accepts.
func buildDictionary(history []byte, contents [][]byte) (dictionary []byte, err error) {
	defer func() {
		if trouble := recover(); trouble != nil { // BuildDict is not made for contents without any pattern
			err = fmt.Errorf("%v", trouble)
		}
	}()
	dictionary, err = zstd.BuildDict(zstd.BuildDictOptions{ID: 1, Contents: contents, History: history,
		Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedBetterCompression})
	if err != nil {
		return nil, err
	}
	_, err = zstd.NewReader(nil, zstd.WithDecoderDicts(dictionary), zstd.WithDecoderConcurrency(1))
	return dictionary, err
}
