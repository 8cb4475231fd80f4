package convert

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// jsonlFormat reads JSON Lines: one JSON value on each line. Keys keep their order and integers
// their digits; an object with a duplicate key is a bad record.
var jsonlFormat = Format{
	Name:       "jsonl",
	Doc:        "JSON Lines: the value of each line, keys in order, integers exact",
	Extensions: []string{".jsonl", ".ndjson"},
	lines: func(o Options) lineFormat {
		return &jsonLines{depth: o.Limits.withDefaults().Depth, allowNaN: o.AllowNaN, checked: newChecked(o)}
	},
}

type jsonLines struct {
	newlines
	checked  checked
	depth    int
	allowNaN bool
}

func (j *jsonLines) parser() lineParser {
	return &jsonParser{depth: j.depth, allowNaN: j.allowNaN, checked: j.checked}
}

// jsonParser translates JSON text directly into calls of an Encoder, without building values.
type jsonParser struct {
	lineCursor
	checked
	depth    int
	allowNaN bool

	src   []byte // the line
	at    int    // position in src
	enc   Encoder
	plain []byte // a string with its escapes resolved
	keys  keyCache
	open  keyStack
}

func (p *jsonParser) block(data []byte) {
	p.lineCursor.block(data)
	p.check(data)
}

func (p *jsonParser) parse(enc Encoder) (start, end int, err error) {
	for {
		line, start, end, err := p.line()
		if err != nil {
			return start, end, err
		}
		if p.src, p.at = line, 0; p.space() == 0 {
			continue // only spaces
		}
		if err := p.text(line); err != nil {
			return start, end, err
		}
		p.enc, p.open = enc, p.open[:0]
		if err := p.value(p.depth); err != nil {
			return start, end, err
		}
		if p.space() != 0 {
			return start, end, p.wrong("the end of the line")
		}
		return start, end, nil
	}
}

// space skips white space and returns the next character; 0 at the end of the line, and for a NUL,
// which JSON does not allow.
func (p *jsonParser) space() byte {
	for ; p.at < len(p.src); p.at++ {
		if c := p.src[p.at]; c > ' ' || c != ' ' && c != '\t' && c != '\r' {
			return max(c, 1)
		}
	}
	return 0
}

// wrong returns the error for anything other than want.
func (p *jsonParser) wrong(want string) error {
	if p.at >= len(p.src) {
		return faultf(ErrLine, "the line ends at column %d instead of %s", len(p.src)+1, want)
	}
	if name, _ := pythonNumber(p.src[p.at:]); name != "" {
		return faultf(ErrNaN, "%s at column %d, which is Python, not JSON", name, p.at+1)
	}
	return faultf(ErrSyntax, "%s instead of %s at column %d", clip(p.src[p.at:]), want, p.at+1)
}

// pythonNumber returns name and value of the number at the start of p that Python's json.dumps writes and JSON lacks;
// "" if there is none.
func pythonNumber(p []byte) (name string, value float64) {
	for name, value := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)} {
		if bytes.HasPrefix(p, []byte(name)) {
			return name, value
		}
	}
	return "", 0
}

// value parses one value; depth is the nesting allowed inside it.
func (p *jsonParser) value(depth int) error {
	switch c := p.space(); c {
	case '{', '[':
		if depth == 0 {
			return faultf(ErrLimit, "values nest deeper than the limit of %d at column %d", p.depth, p.at+1)
		}
		p.at++
		if c == '{' {
			return p.object(depth - 1)
		}
		return p.array(depth - 1)
	case '"':
		s, err := p.string()
		if err != nil {
			return err
		}
		p.enc.String(s)
		return nil
	case 't', 'f', 'n':
		return p.word(c)
	default:
		return p.number()
	}
}

func (p *jsonParser) object(depth int) error {
	p.enc.Map(-1)
	if p.space() == '}' {
		p.at++
		p.enc.End()
		return nil
	}
	keys := p.open.open()
	defer p.open.close(keys)
	for {
		if p.space() != '"' {
			return p.wrong("a key")
		}
		at := p.at
		text, err := p.string()
		if err != nil {
			return err
		}
		name := p.keys.intern(text)
		if !p.open.add(&keys, name) {
			return faultf(ErrSyntax, "the key %s occurs twice in its object, again at column %d", clip([]byte(name)), at+1)
		}
		p.enc.Key(name)
		if p.space() != ':' {
			return p.wrong(`":"`)
		}
		p.at++
		if err := p.value(depth); err != nil {
			return err
		}
		switch p.space() {
		case ',':
			p.at++
		case '}':
			p.at++
			p.enc.End()
			return nil
		default:
			return p.wrong(`"," or "}"`)
		}
	}
}

// keyCache holds keys as strings, so that the same key on the next line needs no allocation.
type keyCache [256]string

// maxKey is the length of the longest cached key.
const maxKey = 64

func (k *keyCache) intern(name []byte) string {
	n := len(name)
	if n == 0 || n > maxKey {
		return string(name)
	}
	slot := &k[byte(n)*31+name[0]*7+name[n-1]]
	if *slot != string(name) {
		*slot = string(name)
	}
	return *slot
}

func (p *jsonParser) array(depth int) error {
	p.enc.Array(-1)
	if p.space() == ']' {
		p.at++
		p.enc.End()
		return nil
	}
	for {
		if err := p.value(depth); err != nil {
			return err
		}
		switch p.space() {
		case ',':
			p.at++
		case ']':
			p.at++
			p.enc.End()
			return nil
		default:
			return p.wrong(`"," or "]"`)
		}
	}
}

// word parses true, false or null, of which c is the first character.
func (p *jsonParser) word(c byte) error {
	word := "null"
	switch c {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	if !bytes.HasPrefix(p.src[p.at:], []byte(word)) {
		return p.wrong("a value")
	}
	p.at += len(word)
	if c == 'n' {
		p.enc.Nil()
	} else {
		p.enc.Bool(c == 't')
	}
	return nil
}

// number parses a number according to the grammar of JSON.
func (p *jsonParser) number() error {
	text, i := p.src, p.at
	if i < len(text) && text[i] == '-' {
		i++
	}
	first := i
	i = digits(text, i)
	if i == first {
		if name, v := pythonNumber(text[p.at:]); p.allowNaN && name != "" {
			p.enc.Float64(v)
			p.at += len(name)
			return nil
		}
		return p.wrong("a value")
	}
	if text[first] == '0' && i > first+1 {
		return p.wrong("a number without a leading zero")
	}
	ok := true
	if i < len(text) && text[i] == '.' {
		from := i + 1
		i = digits(text, from)
		ok = i > from
	}
	if ok && i < len(text) && text[i]|0x20 == 'e' {
		from := i + 1
		if from < len(text) && (text[from] == '+' || text[from] == '-') {
			from++
		}
		i = digits(text, from)
		ok = i > from
	}
	if !ok {
		return p.wrong("a number")
	}
	p.enc.Number(text[p.at:i])
	p.at = i
	return nil
}

// digits returns the end of the digits of text at i.
func digits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// string parses a string; the result is valid until the next call.
func (p *jsonParser) string() ([]byte, error) {
	text, start := p.src, p.at+1
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			p.at = i + 1
			return text[start:i], nil
		case c == '\\':
			p.plain = append(p.plain[:0], text[start:i]...)
			p.at = i
			return p.escaped()
		case c < ' ':
			p.at = i
			return nil, p.wrong("the rest of a string")
		}
	}
	p.at = len(text)
	return nil, p.wrong("the end of a string")
}

// escaped continues a string with escapes, whose beginning is in plain.
func (p *jsonParser) escaped() ([]byte, error) {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return p.plain, nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, p.wrong("the rest of a string")
		default:
			p.plain = append(p.plain, c)
			p.at++
		}
	}
	return nil, p.wrong("the end of a string")
}

// escapes are the characters after a backslash, and their meanings.
const (
	escapes = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
)

// escape parses one escape and appends its meaning to plain.
func (p *jsonParser) escape() error {
	if p.at+1 >= len(p.src) {
		p.at = len(p.src)
		return p.wrong("the end of a string")
	}
	c := p.src[p.at+1]
	if i := bytes.IndexByte([]byte(escapes), c); i >= 0 {
		p.plain = append(p.plain, meant[i])
		p.at += 2
		return nil
	}
	if c != 'u' {
		return p.wrong("an escape")
	}
	r, ok := hex4(p.src[p.at:])
	if !ok {
		return p.wrong("four digits after \\u")
	}
	n := 6
	if surrogate := r >= 0xd800 && r < 0xe000; surrogate {
		low, ok := hex4(p.src[min(p.at+n, len(p.src)):])
		if r >= 0xdc00 || !ok || low < 0xdc00 || low >= 0xe000 {
			return p.wrong("a whole pair of surrogates")
		}
		r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
		n = 12
	}
	p.plain = utf8.AppendRune(p.plain, r)
	p.at += n
	return nil
}

// hex4 returns the value of the \uXXXX that text begins with.
func hex4(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
