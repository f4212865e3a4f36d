package recording_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// Read the recording of a rank, and add up what it sent point-to-point.
func ExampleReadFile() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// A run directory has such files in recordings/. This one is of rank 1 of four,
	// which sent 50 messages of 4097 bytes to the next rank.
	path := filepath.Join(dir, "1.rec")
	if err := recordingtest.WriteFile(path, synth.NewRing(4).Profile(1)); err != nil {
		log.Fatal(err)
	}

	p, err := recording.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var messages, bytes uint64
	for _, row := range p.Rows {
		if row.Class == profile.P2P && row.Direction == profile.Send {
			messages, bytes = messages+row.Messages, bytes+row.Bytes
		}
	}
	fmt.Printf("rank %d of %d sent %d messages with %d bytes\n", p.Rank, p.Size, messages, bytes)
	// Output:
	// rank 1 of 4 sent 50 messages with 204850 bytes
}
