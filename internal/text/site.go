package text

import (
	"strings"
	"unicode/utf8"
)

// minName is the number of characters of a class or a function that are always
// kept, even if the text becomes too long.
const minName = 4

// Site shortens the label of a call site to a width. A label is
// "ns::Class::function file.cc:12" or, without line numbers,
// "ns::Class::function+0x4b (module)". Site first removes namespaces, the
// outermost first. Then it cuts the ends of the class and the function, then
// the beginning of the file. It always keeps the line, or the offset and the
// module, because they distinguish call sites, and a few characters of each
// name. So the result may be longer than width.
func Site(label string, width int, ascii bool) string {
	if utf8.RuneCountInString(label) <= width {
		return label
	}
	dots := dotsFor(ascii)
	name, place := splitSite(label)
	if name == "" {
		if strings.Contains(place, "+0x") {
			return place
		}
		return lastOf(place, width, dots)
	}
	room := width - utf8.RuneCountInString(place)
	if least := min(minName+utf8.RuneCountInString(dots), utf8.RuneCountInString(name)); room < least && strings.HasPrefix(place, " ") {
		place = " " + lastOf(place[1:], width-least-1, dots)
		room = width - utf8.RuneCountInString(place)
	}
	return shortName(name, room, dots) + place
}

// Last shortens a text to a width by cutting its beginning. The end of a
// communicator's label is a part of its id.
func Last(text string, width int, ascii bool) string { return lastOf(text, width, dotsFor(ascii)) }

// First shortens a text to a number of columns by cutting its end, at a space if one is near. It
// cuts no number and no number from its unit, since the rest would be another value.
func First(text string, width int, ascii bool) string {
	if Columns(text) <= width {
		return text
	}
	dots := dotsFor(ascii)
	room := width - Columns(dots)
	for i, r := range text {
		if room -= Columns(string(r)); room < 0 {
			return cutAt(text, i) + dots
		}
	}
	return text // not reached: the text is wider
}

// FirstBytes returns a text as Line does, shortened like First to a number of bytes. cut reports
// whether it was shortened.
func FirstBytes(text string, limit int) (first string, cut bool) {
	line := Line(text[:min(len(text), limit+1)]) // Line shortens nothing
	if len(line) <= limit {
		return line, false
	}
	dots := dotsFor(false)
	end := max(0, limit-len(dots))
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return cutAt(line, end) + dots, true
}

// cutAt returns at most the first end bytes of a longer text.
func cutAt(text string, end int) string {
	const digits, near = "0123456789.,", 20 // near is in bytes
	cut := text[:end]
	if space := strings.LastIndexByte(text[:end+1], ' '); space >= max(1, end-near) {
		cut = strings.TrimRight(cut[:space], " ")
		if word := cut[strings.LastIndexByte(cut, ' ')+1:]; strings.Trim(word, digits+"(+-±") == "" {
			cut = strings.TrimRight(strings.TrimSuffix(cut, word), " ")
		}
	} else if strings.IndexByte(digits, text[end]) >= 0 {
		cut = strings.TrimRight(cut, digits)
	}
	return cut
}

// dotsFor returns the text that replaces what was cut.
func dotsFor(ascii bool) string {
	if ascii {
		return "..."
	}
	return "…"
}

// splitSite divides a label into the function's name, which may be empty, and
// the place of the call in it.
func splitSite(label string) (name, place string) {
	at := strings.LastIndexByte(label, ' ')
	if at < 0 {
		return "", label
	}
	if strings.HasPrefix(label[at+1:], "(") { // a module: the offset precedes it
		at = max(strings.LastIndex(label[:at], "+0x"), 0)
	}
	return label[:at], label[at:]
}

// shortName shortens the name of a function to the room. It keeps as much of
// the function and its class as fits.
func shortName(name string, room int, dots string) string {
	scopes := scopesOf(name)
	for len(scopes) > 2 && utf8.RuneCountInString(strings.Join(scopes, "::")) > room {
		scopes = scopes[1:]
	}
	name = strings.Join(scopes, "::")
	if utf8.RuneCountInString(name) <= room {
		return name
	}
	function := scopes[len(scopes)-1]
	if len(scopes) == 1 {
		return firstOf(function, room, dots)
	}
	if left := room - utf8.RuneCountInString("::"+function); left >= minName+utf8.RuneCountInString(dots) {
		return firstOf(scopes[0], left, dots) + "::" + function
	}
	class := firstOf(scopes[0], minName+utf8.RuneCountInString(dots), dots) + "::"
	return class + firstOf(function, room-utf8.RuneCountInString(class), dots)
}

// scopesOf divides a name at each "::" that is not in brackets.
func scopesOf(name string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<', '(', '{':
			depth++
		case '>', ')', '}':
			depth--
		case ':':
			if depth <= 0 && strings.HasPrefix(name[i:], "::") {
				out, start = append(out, name[start:i]), i+2
				i++
			}
		}
	}
	return append(out, name[start:])
}

// firstOf cuts the end of a text that is longer than width. It keeps at least
// minName characters.
func firstOf(text string, width int, dots string) string {
	r, cut := []rune(text), utf8.RuneCountInString(dots)
	if len(r) <= max(width, minName+cut) {
		return text
	}
	return string(r[:max(width-cut, minName)]) + dots
}

// lastOf cuts the beginning of a text that is longer than width. It keeps at
// least minName characters.
func lastOf(text string, width int, dots string) string {
	r, cut := []rune(text), utf8.RuneCountInString(dots)
	if len(r) <= max(width, minName+cut) {
		return text
	}
	return dots + string(r[len(r)-max(width-cut, minName):])
}
