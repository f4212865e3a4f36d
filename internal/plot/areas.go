package plot

import (
	"fmt"
	"image"
	"image/color"
	"io"
)

// area is a rectangle of one colour.
type area struct {
	left, top, width, height int
	index                    uint8
}

// maxAreas is how many rectangles are drawn as such: some 300 KB.
const maxAreas = 20_000

// areasOf takes an image apart, but for its paper; nil if it takes more than
// that many.
func areasOf(img *image.Paletted, most int) []area {
	size := img.Bounds().Size()
	areas := []area{}
	above := make([]int, size.X) // the area that begins in a column and ends above, from 1
	next := make([]int, size.X)
	for y := range size.Y {
		clear(next)
		line := img.Pix[y*img.Stride:][:size.X]
		for x := 0; x < size.X; {
			end := x + 1
			for end < size.X && line[end] == line[x] {
				end++
			}
			if line[x] != paperIndex {
				if i := above[x]; i > 0 && areas[i-1].index == line[x] && areas[i-1].width == end-x {
					areas[i-1].height++
					next[x] = i
				} else if areas = append(areas, area{x, y, end - x, 1, line[x]}); len(areas) > most {
					return nil
				} else {
					next[x] = len(areas)
				}
			}
			x = end
		}
		above, next = next, above
	}
	return areas
}

// vectorAreas writes one path for each colour: edges that touch would blend
// with what is below where they are smoothed.
func vectorAreas(w io.Writer, img *image.Paletted, areas []area, left, top int) {
	fmt.Fprintln(w, `<g shape-rendering="crispEdges">`)
	byColor := make([][]area, len(img.Palette))
	for _, a := range areas {
		byColor[a.index] = append(byColor[a.index], a)
	}
	for index, of := range byColor {
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(w, `<path fill="%s" d="`, hex(img.Palette[index].(color.RGBA)))
		for _, a := range of {
			fmt.Fprintf(w, "M%d %dh%dv%dh-%dz", left+a.left, top+a.top, a.width, a.height, a.width)
		}
		fmt.Fprintln(w, `"/>`)
	}
	fmt.Fprintln(w, "</g>")
}
