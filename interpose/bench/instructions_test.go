package main

import (
	"slices"
	"strings"
	"testing"
)

const part = `# callgrind format
version: 1
part: 3

desc: Trigger: --dump-after=loop_Send

positions: line
events: Ir
summary: 770210

fn=(1) loop_Send
`

func TestParsePart(t *testing.T) {
	got, err := parsePart(strings.NewReader(part))
	if err != nil || got != (loop{"Send", 770210}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParsePartRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an empty file":          "",
		"a torn file":            part[:strings.Index(part, "summary")],
		"a part of another kind": strings.Replace(part, "--dump-after=loop_Send", "Program termination", 1),
		"a malformed total":      strings.Replace(part, "770210", "many", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parsePart(strings.NewReader(text)); err == nil {
				t.Errorf("it was read as %+v", got)
			}
		})
	}
}

// Send executes 70 instructions a call and 200 a loop, Allreduce 250 and 300; the process had
// executed 33 million before the first loop.
func TestPerCall(t *testing.T) {
	got, err := perCall([]loop{
		{"Send", 33e6 + 200 + warmCalls*70}, {"Send", 200 + fewCalls*70}, {"Send", 200 + manyCalls*70},
		{"Allreduce", 300 + warmCalls*250}, {"Allreduce", 300 + fewCalls*250}, {"Allreduce", 300 + manyCalls*250},
	})
	want := []loop{{"Send", 70}, {"Allreduce", 250}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestPerCallRefuses(t *testing.T) {
	for name, loops := range map[string][]loop{
		"no loops":             nil,
		"a missing loop":       {{"Send", 1}, {"Send", 2}},
		"loops in other order": {{"Send", 1}, {"Send", 2}, {"Allreduce", 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := perCall(loops); err == nil {
				t.Errorf("they were taken as %v", got)
			}
		})
	}
}
