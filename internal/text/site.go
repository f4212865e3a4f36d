package text

import (
	"strings"
	"unicode/utf8"
)

// minName is how many characters of a class or a function are kept before the
// text gets longer than it should be.
const minName = 4

// Site shortens the label of a call site to a width: "ns::Class::function
// file.cc:12" or, without line numbers, "ns::Class::function+0x4b (module)".
// Namespaces go first, the outermost before the others; then the class and the
// function lose their ends, then a file its beginning. The line, the offset and
// the module are always kept, as they are what tells two call sites apart, and so
// are a few characters of the names: the result may be longer than width.
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

// Last keeps the end of a text that is longer than a width: of a communicator, that is
// the part of its id.
func Last(text string, width int, ascii bool) string { return lastOf(text, width, dotsFor(ascii)) }

// dotsFor stands for what was cut.
func dotsFor(ascii bool) string {
	if ascii {
		return "..."
	}
	return "…"
}

// splitSite divides a label into the function's name, which may be empty, and
// where in it the call is.
func splitSite(label string) (name, place string) {
	at := strings.LastIndexByte(label, ' ')
	if at < 0 {
		return "", label
	}
	if strings.HasPrefix(label[at+1:], "(") { // a module: the offset is in front of it
		at = max(strings.LastIndex(label[:at], "+0x"), 0)
	}
	return label[:at], label[at:]
}

// shortName keeps a function and its class as far as there is room.
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

// firstOf keeps the beginning of a text, and minName characters in any case.
func firstOf(text string, width int, dots string) string {
	r, cut := []rune(text), utf8.RuneCountInString(dots)
	if len(r) <= max(width, minName+cut) {
		return text
	}
	return string(r[:max(width-cut, minName)]) + dots
}

// lastOf keeps the end of a text.
func lastOf(text string, width int, dots string) string {
	r, cut := []rune(text), utf8.RuneCountInString(dots)
	if len(r) <= max(width, minName+cut) {
		return text
	}
	return dots + string(r[len(r)-max(width-cut, minName):])
}
