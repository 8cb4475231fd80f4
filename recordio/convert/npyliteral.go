package convert

import (
	"strconv"
	"strings"
)

// maxLiteralDepth is how deep the literal of a header may nest.
const maxLiteralDepth = 32

// literal parses the Python literals that occur in headers of arrays: strings, decimal integers,
// True, False, None, tuples, lists, and dicts with strings as keys.
type literal struct {
	rest  string
	depth int
}

// parseLiteral returns the value of text: string, int64, bool, nil, []any for tuples and lists, or
// map[string]any.
func parseLiteral(text string) (any, error) {
	p := literal{rest: text}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, p.wrong()
	}
	return v, nil
}

func (p *literal) wrong() error {
	if p.rest == "" {
		return faultf(ErrSyntax, "the header of the array ends too early")
	}
	return faultf(ErrSyntax, "the header of the array is not understood from %.20q on", p.rest)
}

func (p *literal) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// accept consumes s if it comes next.
func (p *literal) accept(s string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *literal) value() (any, error) {
	if p.depth++; p.depth > maxLiteralDepth {
		return nil, faultf(ErrLimit, "the header of the array nests deeper than %d", maxLiteralDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("True"):
		return true, nil
	case p.accept("False"):
		return false, nil
	case p.accept("None"):
		return nil, nil
	case p.accept("("):
		return p.items(")")
	case p.accept("["):
		return p.items("]")
	case p.accept("{"):
		return p.pairs()
	}
	if p.rest != "" && strings.IndexByte("-0123456789", p.rest[0]) >= 0 {
		return p.integer()
	}
	return p.text()
}

func (p *literal) integer() (any, error) {
	end := 1
	for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(p.rest[:end], 10, 64)
	if err != nil {
		return nil, p.wrong()
	}
	p.rest = strings.TrimPrefix(p.rest[end:], "L") // the form of long integers in Python 2
	return n, nil
}

// text parses a string. Of escapes it knows only quotes and backslashes, since field names hardly
// ever need others.
func (p *literal) text() (any, error) {
	quote := ""
	for _, q := range []string{"'", `"`, "b'", "u'"} {
		if p.accept(q) {
			quote = q[len(q)-1:]
			break
		}
	}
	if quote == "" {
		return nil, p.wrong()
	}
	var b strings.Builder
	for {
		i := strings.IndexAny(p.rest, quote+`\`)
		if i < 0 || p.rest[i] == '\\' && (i+1 == len(p.rest) || strings.IndexByte(`'"\`, p.rest[i+1]) < 0) {
			return nil, p.wrong()
		}
		b.WriteString(p.rest[:i])
		if p.rest[i] == quote[0] {
			p.rest = p.rest[i+1:]
			return b.String(), nil
		}
		b.WriteByte(p.rest[i+1])
		p.rest = p.rest[i+2:]
	}
}

// items parses up to the bracket that closes a tuple or list.
func (p *literal) items(end string) (any, error) {
	items := []any{}
	for !p.accept(end) {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		if !p.accept(",") {
			if !p.accept(end) {
				return nil, p.wrong()
			}
			break
		}
	}
	return items, nil
}

// pairs parses up to the brace that closes a dict.
func (p *literal) pairs() (any, error) {
	dict := map[string]any{}
	for !p.accept("}") {
		p.space()
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if !p.accept(":") {
			return nil, p.wrong()
		}
		if dict[key.(string)], err = p.value(); err != nil {
			return nil, err
		}
		if !p.accept(",") {
			if !p.accept("}") {
				return nil, p.wrong()
			}
			break
		}
	}
	return dict, nil
}
