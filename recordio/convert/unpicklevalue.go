package convert

import (
	"bytes"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The values of the machine are nil, bool, int64, *big.Int, float64, complex128, and the types
// below. Mutable values are pointers, so that all references see changes.

// pickleText is a Python str, unicode, bytes or bytearray.
type pickleText struct {
	kind   textKind
	data   []byte
	far    int64 // offset of the length bytes in the file, if not 0
	length int
	latin1 bool // the code points of data are the bytes
	array  bool // it is a bytearray

	decimal bool // it is a Decimal
}

type textKind uint8

const (
	// unicodeText is text.
	unicodeText textKind = iota
	// byteText is bytes.
	byteText
	// oldText is a Python 2 str, which is text if it is UTF-8 and bytes otherwise.
	oldText
)

type pickleTuple []any

// pickleList is a list, or a set.
type pickleList struct {
	items []any
	set   bool
	given bool // its items were returned as samples and are gone
}

// pickleDict keeps the order of its pairs.
type pickleDict struct {
	keys, values []any
	ordered      bool // it is an OrderedDict
	defaults     bool // it is a defaultdict
}

// callable is a function or class that a pickle names. It is never called: data classes are known
// by name.
type callable struct{ name string }

// pickleDType is a numpy.dtype.
type pickleDType struct {
	typ   npyType
	shape []int64 // of a field that is an array
}

// pickleArray is a numpy.ndarray, or with an empty shape a numpy scalar.
type pickleArray struct {
	typ     npyType
	shape   []int64
	fortran bool
	data    *pickleText
}

// isText reports whether v is the text s, in any kind of string.
func isText(v any, s string) bool {
	t, ok := v.(*pickleText)
	return ok && t.far == 0 && string(t.data) == s
}

// load returns the bytes of t, reading them from at if they are not in memory.
func (t *pickleText) load(at io.ReaderAt) ([]byte, error) {
	data := t.data
	if t.far != 0 {
		data = make([]byte, t.length)
		if n, err := at.ReadAt(data, t.far); n < len(data) {
			if err == io.EOF {
				err = faultf(ErrTruncated, "the input ends in the middle of %d bytes at offset %d", t.length, t.far)
			}
			return nil, err
		}
	}
	if t.latin1 {
		return latin1Bytes(data)
	}
	return data, nil
}

// latin1Bytes encodes text as Latin-1.
func latin1Bytes(text []byte) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r > 0xff || r == utf8.RuneError {
			return nil, faultf(ErrSyntax, "character %q is not a byte in Latin-1", r)
		}
		out, text = append(out, byte(r)), text[n:]
	}
	return out, nil
}

// parsePickleInt parses the argument of INT and LONG. INT also encodes booleans, as 00 and 01.
func parsePickleInt(e *pickleEvent) (any, error) {
	text := string(e.text)
	if e.code == opInt && (text == "00" || text == "01") {
		return text == "01", nil
	}
	text = strings.TrimSuffix(text, "L")
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if len(text) > maxDigits {
		return nil, faultf(ErrLimit, "offset %d: an integer of more than %d digits", e.offset, maxDigits)
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, faultf(ErrSyntax, "offset %d: %q is not an integer", e.offset, text)
	}
	return n, nil
}

// parsePickleLong parses the argument of LONG1 and LONG4: two's complement, little-endian.
func parsePickleLong(e *pickleEvent) (any, error) {
	const most = maxDigits * 5 / 12 // bytes; log2(10)/8 is 0.415
	if e.length > most {
		return nil, faultf(ErrLimit, "offset %d: an integer of %d bytes; at most %d are read", e.offset, e.length, most)
	}
	b := bytes.Clone(e.text)
	slices.Reverse(b)
	n := twosComplement(b)
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

// parsePickleFloat parses the argument of FLOAT.
func parsePickleFloat(e *pickleEvent) (any, error) {
	v, err := strconv.ParseFloat(string(e.text), 64)
	if err != nil && v == 0 { // infinite if out of range, as in Python
		return nil, faultf(ErrSyntax, "offset %d: %.40q is not a number", e.offset, e.text)
	}
	return v, nil
}

// unquotePickle parses the argument of STRING: the repr of a Python 2 str.
func unquotePickle(e *pickleEvent) ([]byte, error) {
	text := e.text
	if len(text) < 2 || text[0] != text[len(text)-1] || text[0] != '\'' && text[0] != '"' {
		return nil, faultf(ErrSyntax, "offset %d: %.20q is not a Python string", e.offset, text)
	}
	text = text[1 : len(text)-1]
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] != '\\' || len(text) == 1 {
			out, text = append(out, text[0]), text[1:]
			continue
		}
		var err error
		if out, text, err = unescape(out, text[1:]); err != nil {
			return nil, faultf(ErrSyntax, "offset %d: %v", e.offset, err)
		}
	}
	return out, nil
}

// unescape parses the text after a backslash.
func unescape(out, text []byte) (longer, rest []byte, err error) {
	const letters, meanings = `\'"abfnrtv`, "\\'\"\a\b\f\n\r\t\v"
	if i := strings.IndexByte(letters, text[0]); i >= 0 {
		return append(out, meanings[i]), text[1:], nil
	}
	if text[0] == 'x' {
		if len(text) >= 3 {
			if v, err := strconv.ParseUint(string(text[1:3]), 16, 8); err == nil {
				return append(out, byte(v)), text[3:], nil
			}
		}
		return nil, nil, faultf(ErrSyntax, `\x without two digits`)
	}
	n := 0
	for n < min(3, len(text)) && text[n] >= '0' && text[n] <= '7' {
		n++
	}
	if n == 0 { // Python keeps a backslash without meaning
		return append(out, '\\', text[0]), text[1:], nil
	}
	v, _ := strconv.ParseUint(string(text[:n]), 8, 16)
	return append(out, byte(v)), text[n:], nil
}

// decodeRawUnicode decodes the argument of UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX. Python 2
// writes characters beyond U+FFFF as two surrogates.
func decodeRawUnicode(e *pickleEvent) ([]byte, error) {
	out := make([]byte, 0, len(e.text))
	high := rune(0) // a pending high surrogate
	for text := e.text; len(text) > 0; {
		r, n := rawRune(text)
		text = text[n:]
		if high != 0 {
			if r = utf16.DecodeRune(high, r); r == utf8.RuneError {
				return nil, faultf(ErrSyntax, "offset %d: half of a character", e.offset)
			}
			high = 0
		} else if utf16.IsSurrogate(r) {
			high = r
			continue
		}
		if !utf8.ValidRune(r) {
			return nil, faultf(ErrSyntax, "offset %d: U+%04X is not a character", e.offset, r)
		}
		out = utf8.AppendRune(out, r)
	}
	if high != 0 {
		return nil, faultf(ErrSyntax, "offset %d: half of a character", e.offset)
	}
	return out, nil
}

// rawRune returns the first character of text and its length in text.
func rawRune(text []byte) (r rune, n int) {
	if text[0] == '\\' && len(text) > 1 {
		digits := map[byte]int{'u': 4, 'U': 8}[text[1]]
		if digits > 0 && len(text) >= 2+digits {
			if v, err := strconv.ParseUint(string(text[2:2+digits]), 16, 31); err == nil {
				return rune(v), 2 + digits
			}
		}
	}
	return rune(text[0]), 1
}
