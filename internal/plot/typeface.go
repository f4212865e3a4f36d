package plot

import (
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
)

// typeface is the font of all pictures: Liberation Sans. Arial and Helvetica
// have the same widths, and may replace it in SVG.
type typeface struct {
	font *opentype.Font
}

// sans is parsed on first use, because most runs of a command draw nothing.
var sans = sync.OnceValue(func() *typeface {
	f, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // cannot happen: the font is compiled in
	}
	return &typeface{f}
})

func (f *typeface) face(size float64) font.Face {
	return font.Face{
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Length(size)},
		Face: f.font,
	}
}

// width returns the width of a text in pixels.
func (f *typeface) width(text string, size float64) float64 {
	face := f.face(size)
	return float64(face.Width(text))
}

func (f *typeface) widest(texts []string, size float64) float64 {
	w := 0.0
	for _, text := range texts {
		w = max(w, f.width(text, size))
	}
	return w
}

// maxLetters is a number of letters for which no place in a picture has room.
const maxLetters = 400

// fit shortens a text that is wider than room by removing its middle: hosts'
// names differ at either end.
func (f *typeface) fit(text string, size, room float64) string {
	letters := []rune(text)
	kept := len(letters)
	if kept > maxLetters {
		kept = maxLetters
		text = elide(letters, kept)
	}
	for f.width(text, size) > room && kept > 2 {
		kept--
		text = elide(letters, kept)
	}
	return text
}

// elide keeps as many letters as kept says, and replaces the middle with an ellipsis.
func elide(letters []rune, kept int) string {
	return string(letters[:kept-kept/2]) + "…" + string(letters[len(letters)-kept/2:])
}

// shortHosts removes the domain from names of hosts if all have the same domain.
func shortHosts(names []string) []string {
	if len(names) == 0 {
		return names
	}
	_, domain, _ := strings.Cut(names[0], ".")
	if domain == "" || isDigit(domain[len(domain)-1]) { // an IP address has no domain
		return names
	}
	short := make([]string, len(names))
	for i, name := range names {
		cut, is := strings.CutSuffix(name, "."+domain)
		if !is || cut == "" || strings.Contains(cut, ".") {
			return names
		}
		short[i] = cut
	}
	return short
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// printable replaces characters that are invalid in XML or invisible in a
// picture.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
