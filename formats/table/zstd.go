package table

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Packer returns a function that returns an encoder with these options, always
// the same one.
func Packer(o ...zstd.EOption) func() *zstd.Encoder {
	return sync.OnceValue(func() *zstd.Encoder { return must(zstd.NewWriter(nil, o...)) })
}

// Unpacker returns a function that returns a decoder with these options, always the same one.
func Unpacker(o ...zstd.DOption) func() *zstd.Decoder {
	return sync.OnceValue(func() *zstd.Decoder { return must(zstd.NewReader(nil, o...)) })
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // impossible: the options are constants
	}
	return v
}
