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
	lines:      func(Options) lineFormat { return &textLines{} },
}

type textLines struct{ newlines }

func (*textLines) parser() lineParser { return &textParser{} }

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

// checked knows whether a block is UTF-8 as a whole, so that its parts need not be
// looked at one by one.
type checked struct{ valid bool }

func (c *checked) check(block []byte) { c.valid = utf8.Valid(block) }

// text returns an error unless part, which was cut out of the block at ASCII
// characters, is UTF-8.
func (c *checked) text(part []byte) error {
	if c.valid || utf8.Valid(part) {
		return nil
	}
	at := len(part) - len(bytes.TrimLeftFunc(part, func(r rune) bool { return r != utf8.RuneError }))
	return faultf(ErrSyntax, "not UTF-8: byte 0x%02x at position %d of %s; the payload raw takes any bytes",
		part[at], at+1, clip(part))
}
