package convert

import (
	"bytes"
	"unicode/utf8"
)

// textFormat reads lines of text: a record is the line, without its end.
var textFormat = Format{
	Name:       "text",
	Doc:        "one line a record, empty lines included; UTF-8",
	Extensions: []string{".txt", ".text"},
	lines:      func(o Options) lineFormat { return &textLines{checked: newChecked(o)} },
}

type textLines struct {
	newlines
	checked checked
}

// blank implements lineFormat: an empty line is a line.
func (t *textLines) blank([]byte) bool { return false }

func (t *textLines) parser() lineParser { return &textParser{checked: t.checked} }

type textParser struct {
	lineCursor
	checked
}

func (p *textParser) block(data []byte) {
	p.lineCursor.block(data)
	p.check(data)
}

func (p *textParser) parse(enc Encoder) (start, end int, err error) {
	line, start, end, err := p.line()
	if err != nil {
		return start, end, err
	}
	if err := p.text(line); err != nil {
		return start, end, err
	}
	enc.String(line)
	return start, end, nil
}

// checked records whether a whole block is UTF-8, so that its parts need no check.
type checked struct {
	valid   bool
	recoded bool // U+FFFD marks bytes that were invalid in the charset
}

func newChecked(o Options) checked { return checked{recoded: o.Charset != "" && o.Charset != utf8Name} }

func (c *checked) check(block []byte) { c.valid = c.good(block) }

func (c *checked) good(text []byte) bool {
	return utf8.Valid(text) && !(c.recoded && bytes.ContainsRune(text, utf8.RuneError))
}

// text returns an error unless part, which was cut out of the block at ASCII characters, is UTF-8.
func (c *checked) text(part []byte) error {
	if c.valid || c.good(part) {
		return nil
	}
	at := bytes.IndexFunc(part, func(r rune) bool { return r == utf8.RuneError })
	if c.recoded {
		return faultf(ErrCharset, "not of the encoding that was named, at position %d of %s", at+1, clip(part))
	}
	return faultf(ErrCharset, "not UTF-8: byte 0x%02x at position %d of %s; name its encoding, such as latin1; the payload raw takes any bytes",
		part[at], at+1, clip(part))
}
