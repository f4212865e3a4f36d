package mpit

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// printCategories draws categories as trees, each category below those that contain it. If width is
// not 0, longer lines are cut.
func printCategories(w io.Writer, all []Category, width int) {
	t := categoryTree{w: w, width: width, of: map[int]*Category{}, drawn: map[int]bool{}}
	child := map[int]bool{}
	for i := range all {
		t.of[all[i].Index] = &all[i]
	}
	for i := range all {
		for _, index := range all[i].Categories {
			child[index] = index != all[i].Index
		}
	}
	for i := range all {
		if !child[all[i].Index] {
			t.draw(&all[i], "", "")
		}
	}
	for i := range all { // categories that contain each other, and are in no other
		if !t.drawn[all[i].Index] {
			t.draw(&all[i], "", "")
		}
	}
}

type categoryTree struct {
	w     io.Writer
	width int
	of    map[int]*Category
	drawn map[int]bool
}

// draw prints a category, and below it the categories that it contains. It draws each category
// once, because a library may have cycles.
func (t *categoryTree) draw(c *Category, first, others string) {
	t.drawn[c.Index] = true
	text := first + oneLine(c.Name)
	if counts := countsOf(c); counts != "" {
		text += " (" + counts + ")"
	}
	if c.Description != "" {
		text += ": " + oneLine(c.Description)
	}
	if t.width > 0 && utf8.RuneCountInString(text) > t.width {
		text = string([]rune(text)[:t.width-1]) + "…"
	}
	fmt.Fprintln(t.w, text)
	for {
		children := slices.DeleteFunc(slices.Clone(c.Categories), func(i int) bool { return t.of[i] == nil || t.drawn[i] })
		if len(children) == 0 {
			return
		}
		if len(children) == 1 {
			t.draw(t.of[children[0]], others+"└── ", others+"    ")
		} else {
			t.draw(t.of[children[0]], others+"├── ", others+"│   ")
		}
	}
}

func countsOf(c *Category) string {
	var counts []string
	for _, kind := range []struct {
		n    int
		name string
	}{{len(c.CVars), "control"}, {len(c.PVars), "performance"}, {len(c.Events), "events"}} {
		if kind.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", kind.n, kind.name))
		}
	}
	return strings.Join(counts, ", ")
}
