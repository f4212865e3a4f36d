package plot

import (
	"fmt"
	"image"
	"image/color"
	"io"
)

// area is a rectangle of one colour in an image, in pixels.
type area struct {
	left, top, width, height int
	index                    uint8
}

// maxAreas is the largest number of areas that an SVG file holds as paths,
// about 300 KB. A picture with more areas is embedded as an image.
const maxAreas = 20_000

// areasOf divides the image into rectangles of one colour, without the
// background. It returns nil if there are more than most.
func areasOf(img *image.Paletted, most int) []area {
	size := img.Bounds().Size()
	areas := []area{}
	above := make([]int, size.X) // index+1 of the area that starts in a column and ends on the line above; 0 is none
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

// vectorAreas writes one path for each colour. Viewers smooth the edges of
// separate rectangles, and the background would show between rectangles that
// touch.
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
		fmt.Fprintf(w, `<path fill="%s" d="`, Hex(img.Palette[index].(color.RGBA)))
		for _, a := range of {
			fmt.Fprintf(w, "M%d %dh%dv%dh-%dz", left+a.left, top+a.top, a.width, a.height, a.width)
		}
		fmt.Fprintln(w, `"/>`)
	}
	fmt.Fprintln(w, "</g>")
}
