package payload

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/recordio/convert"
)

// Walk decodes record, which is one MessagePack value, and passes it to enc; the caller checks
// enc.Err. Values may be nested depth deep. Arrays in the encoding of the package msgpack-numpy
// become tensors; text that is not UTF-8 becomes bytes; keys that are not text become text.
// Extensions and other bytes return ErrMalformed.
func Walk(record []byte, enc convert.Encoder, depth int) error {
	w := &walker{b: record, enc: enc}
	if err := w.value(depth); err != nil {
		return fmt.Errorf("%w: byte %d: %w", ErrMalformed, w.at, err)
	}
	if w.at < len(w.b) {
		return fmt.Errorf("%w: %d bytes follow the value", ErrMalformed, len(w.b)-w.at)
	}
	return nil
}

// walker is the position of a walk.
type walker struct {
	b   []byte
	at  int
	enc convert.Encoder
}

// take returns the next n bytes.
func (w *walker) take(n uint64) ([]byte, error) {
	if left := uint64(len(w.b) - w.at); n > left {
		return nil, fmt.Errorf("%d bytes are needed and %d left", n, left)
	}
	p := w.b[w.at : w.at+int(n)]
	w.at += int(n)
	return p, nil
}

// number returns the next n bytes as an unsigned number.
func (w *walker) number(n int) (uint64, error) {
	p, err := w.take(uint64(n))
	v := uint64(0)
	for _, c := range p {
		v = v<<8 | uint64(c)
	}
	return v, err
}

// The kinds of values that begin with the bytes from 0xc0 to 0xdf, and how many bytes their number,
// length or count takes. "?" is not supported.
const (
	kinds  = "n?bbBBB???fdUUUUIIII?????TTTAAMM"
	widths = "00001240004812481248000001242424"
)

// token returns the kind of the next value, a letter of kinds, and the bits of the number, the length
// or the count that it begins with.
func (w *walker) token() (kind byte, n uint64, err error) {
	p, err := w.take(1)
	if err != nil {
		return 0, 0, err
	}
	switch c := p[0]; {
	case c <= 0x7f, c >= 0xe0:
		return 'I', uint64(int8(c)), nil
	case c <= 0x8f:
		return 'M', uint64(c & 0x0f), nil
	case c <= 0x9f:
		return 'A', uint64(c & 0x0f), nil
	case c <= 0xbf:
		return 'T', uint64(c & 0x1f), nil
	case c == 0xc1:
		return 0, 0, fmt.Errorf("0xc1 begins no value")
	case c == 0xc2 || c == 0xc3:
		return 'b', uint64(c & 1), nil
	default:
		kind, width := kinds[c-0xc0], int(widths[c-0xc0]-'0')
		if kind == '?' {
			return 0, 0, fmt.Errorf("extension 0x%x is not supported", c)
		}
		n, err = w.number(width)
		if shift := 64 - 8*width; kind == 'I' {
			n = uint64(int64(n<<shift) >> shift)
		}
		return kind, n, err
	}
}

// value walks one value.
func (w *walker) value(depth int) error {
	if depth == 0 {
		return fmt.Errorf("nested too deeply")
	}
	kind, n, err := w.token()
	if err != nil {
		return err
	}
	switch kind {
	case 'n':
		w.enc.Nil()
	case 'b':
		w.enc.Bool(n == 1)
	case 'I':
		w.enc.Int(int64(n))
	case 'U':
		w.enc.Uint(n)
	case 'f':
		w.enc.Float32(math.Float32frombits(uint32(n)))
	case 'd':
		w.enc.Float64(math.Float64frombits(n))
	case 'A':
		return w.array(n, depth)
	case 'M':
		return w.mapping(n, depth)
	default:
		return w.text(kind, n)
	}
	return nil
}

// text walks n bytes of bytes ('B') or text ('T').
func (w *walker) text(kind byte, n uint64) error {
	p, err := w.take(n)
	switch {
	case err != nil:
	case kind == 'T' && utf8.Valid(p):
		w.enc.String(p)
	default:
		w.enc.Bytes(p)
	}
	return err
}

// array walks n values, each of which has at least one byte.
func (w *walker) array(n uint64, depth int) error {
	if left := len(w.b) - w.at; n > uint64(left) {
		return fmt.Errorf("an array of %d values in %d bytes", n, left)
	}
	w.enc.Array(int(n))
	for range n {
		if err := w.value(depth - 1); err != nil {
			return err
		}
	}
	w.enc.End()
	return nil
}

// mapping walks n pairs.
func (w *walker) mapping(n uint64, depth int) error {
	if left := len(w.b) - w.at; n > uint64(left)/2 {
		return fmt.Errorf("a map of %d pairs in %d bytes", n, left)
	}
	if done, err := w.tensor(n); done || err != nil {
		return err
	}
	w.enc.Map(int(n))
	for range n {
		key, err := w.key()
		if err != nil {
			return err
		}
		w.enc.Key(key)
		if err := w.value(depth - 1); err != nil {
			return err
		}
	}
	w.enc.End()
	return nil
}

// key reads a key and returns it as text, because JSON and most readers know only such keys. Text
// that is not UTF-8 becomes base64.
func (w *walker) key() (string, error) {
	at := w.at
	kind, n, err := w.token()
	if err != nil {
		return "", err
	}
	switch kind {
	case 'I':
		return strconv.FormatInt(int64(n), 10), nil
	case 'U':
		return strconv.FormatUint(n, 10), nil
	case 'B', 'T':
		p, err := w.take(n)
		if err == nil && !utf8.Valid(p) {
			return base64.StdEncoding.EncodeToString(p), nil
		}
		return string(p), err
	}
	return "", fmt.Errorf("a key that is neither text nor an integer (0x%x)", w.b[at])
}
