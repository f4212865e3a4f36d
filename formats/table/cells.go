package table

// cells collects the values of a column for a block of rows, and writes them as texts.
type cells[T any] struct {
	batchColumn[T, uint64]
	isText bool
	texts  dictionary
	quote  func(string) string
	quoted []string // by code
	null   string

	// The last number and its text. Neighboring rows often have the same number, and
	// copying its text is faster than formatting it again.
	last   uint64
	number []byte
}

// maxTexts limits how many texts of a column are kept in their written form.
const maxTexts = 64 << 10

// cellsOf returns the columns of a table whose texts are written by quote.
func cellsOf[T any](cols []Column[T], null string, quote func(string) string) []cells[T] {
	out := make([]cells[T], len(cols))
	for i := range cols {
		c := &out[i]
		c.of, c.get, c.isText, c.quote, c.null = &cols[i], cols[i].Number, cols[i].isText(), quote, null
		if c.isText {
			c.get = cols[i].codes(&c.texts)
		}
	}
	return out
}

// set replaces the rows.
func (c *cells[T]) set(rows []T) {
	if len(c.texts.words) > maxTexts {
		c.texts.clear()
		c.quoted = c.quoted[:0]
	}
	c.empty()
	c.add(rows)
	for code := len(c.quoted); code < len(c.texts.words); code++ {
		c.quoted = append(c.quoted, c.quote(c.texts.words[code]))
	}
}

// append appends the text of a row.
func (c *cells[T]) append(to []byte, row int) []byte {
	v := c.values[row]
	switch {
	case !c.has(row):
		return append(to, c.null...)
	case c.isText:
		return append(to, c.quoted[v]...)
	case v != c.last || len(c.number) == 0:
		c.last, c.number = v, appendNumber(c.number[:0], c.of.Type, v)
	}
	return append(to, c.number...)
}
