package text

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOnlyTerminalsShow(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if StartProgress(new(bytes.Buffer), "reading", 10) != nil || StartProgress(file, "reading", 10) != nil {
		t.Error("a bar where there is no terminal")
	}
	var none *Progress
	none.Step()
	none.Done()
}

func TestShortWorkShowsNothing(t *testing.T) {
	var w bytes.Buffer
	b := newProgress(&delayed{w: &w, from: time.Now().Add(time.Minute)}, "reading", 100)
	for range 100 {
		b.Step()
	}
	b.Done()
	if w.Len() > 0 {
		t.Errorf("wrote %q", &w)
	}
}

func TestLongWork(t *testing.T) {
	var w bytes.Buffer
	b := newProgress(&delayed{w: &w}, "reading", 100)
	for range 40 {
		b.Step()
	}
	time.Sleep(150 * time.Millisecond) // longer than the bar's throttle interval
	b.Step()
	if text := w.String(); !strings.Contains(text, "reading") || !strings.Contains(text, "41%") || !strings.Contains(text, "41/100") ||
		!strings.Contains(text, "it/s") || !strings.Contains(text, ":") {
		t.Errorf("wrote %q", text)
	}
	b.Done()
	if text := w.String(); !strings.HasSuffix(strings.TrimRight(text, " "), "\r") {
		t.Errorf("the bar is left: %q", text)
	}
}
