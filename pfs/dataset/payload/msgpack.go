package payload

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/recordio/convert"
)

// Walk passes the one value that record is as MessagePack to enc; the caller checks enc.Err. Values
// may be nested depth deep. Arrays as the package msgpack-numpy writes them become tensors; text
// that is not UTF-8 becomes bytes; keys that are not text become text. Extensions and what is not
// MessagePack are ErrMalformed.
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

// signed returns the next n bytes as a signed number.
func (w *walker) signed(n int) (int64, error) {
	v, err := w.number(n)
	shift := 64 - 8*n
	return int64(v<<shift) >> shift, err
}

// value walks one value.
func (w *walker) value(depth int) error {
	if depth == 0 {
		return fmt.Errorf("nested too deeply")
	}
	p, err := w.take(1)
	if err != nil {
		return err
	}
	switch c := p[0]; {
	case c <= 0x7f:
		w.enc.Int(int64(c))
	case c <= 0x8f:
		return w.mapping(uint64(c&0x0f), depth)
	case c <= 0x9f:
		return w.array(uint64(c&0x0f), depth)
	case c <= 0xbf:
		return w.text(uint64(c & 0x1f))
	case c >= 0xe0:
		w.enc.Int(int64(int8(c)))
	default:
		return w.marked(c, depth)
	}
	return nil
}

// marked walks a value that begins with one of the bytes from 0xc0 to 0xdf.
func (w *walker) marked(c byte, depth int) error {
	switch {
	case c == 0xc0:
		w.enc.Nil()
	case c == 0xc2 || c == 0xc3:
		w.enc.Bool(c == 0xc3)
	case 0xc4 <= c && c <= 0xc6:
		return w.sized(1<<(c-0xc4), w.bytes)
	case c == 0xca:
		v, err := w.number(4)
		w.enc.Float32(math.Float32frombits(uint32(v)))
		return err
	case c == 0xcb:
		v, err := w.number(8)
		w.enc.Float64(math.Float64frombits(v))
		return err
	case 0xcc <= c && c <= 0xcf:
		v, err := w.number(1 << (c - 0xcc))
		w.enc.Uint(v)
		return err
	case 0xd0 <= c && c <= 0xd3:
		v, err := w.signed(1 << (c - 0xd0))
		w.enc.Int(v)
		return err
	case 0xd9 <= c && c <= 0xdb:
		return w.sized(1<<(c-0xd9), w.text)
	case c == 0xdc || c == 0xdd:
		return w.sized(2<<(c-0xdc), func(n uint64) error { return w.array(n, depth) })
	case c == 0xde || c == 0xdf:
		return w.sized(2<<(c-0xde), func(n uint64) error { return w.mapping(n, depth) })
	case c == 0xc1:
		return fmt.Errorf("0xc1 begins no value")
	default:
		return fmt.Errorf("extension 0x%x is not supported", c)
	}
	return nil
}

// sized reads a count of n bytes and passes it to next.
func (w *walker) sized(n int, next func(uint64) error) error {
	v, err := w.number(n)
	if err != nil {
		return err
	}
	return next(v)
}

func (w *walker) bytes(n uint64) error {
	p, err := w.take(n)
	if err == nil {
		w.enc.Bytes(p)
	}
	return err
}

func (w *walker) text(n uint64) error {
	p, err := w.take(n)
	switch {
	case err != nil:
	case utf8.Valid(p):
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

// key reads a key. Those of JSON and of most readers are text.
func (w *walker) key() (string, error) {
	p, err := w.take(1)
	if err != nil {
		return "", err
	}
	switch c := p[0]; {
	case c <= 0x7f:
		return strconv.Itoa(int(c)), nil
	case c >= 0xe0:
		return strconv.Itoa(int(int8(c))), nil
	case 0xa0 <= c && c <= 0xbf:
		return w.keyText(uint64(c & 0x1f))
	case 0xc4 <= c && c <= 0xc6:
		return w.sizedKey(1 << (c - 0xc4))
	case 0xd9 <= c && c <= 0xdb:
		return w.sizedKey(1 << (c - 0xd9))
	case 0xcc <= c && c <= 0xcf:
		v, err := w.number(1 << (c - 0xcc))
		return strconv.FormatUint(v, 10), err
	case 0xd0 <= c && c <= 0xd3:
		v, err := w.signed(1 << (c - 0xd0))
		return strconv.FormatInt(v, 10), err
	default:
		return "", fmt.Errorf("a key that is neither text nor an integer (0x%x)", c)
	}
}

// sizedKey reads a key after its length, which takes n bytes.
func (w *walker) sizedKey(n int) (string, error) {
	length, err := w.number(n)
	if err != nil {
		return "", err
	}
	return w.keyText(length)
}

// keyText reads a key of n bytes; one that is not UTF-8 becomes base64.
func (w *walker) keyText(n uint64) (string, error) {
	p, err := w.take(n)
	if err == nil && !utf8.Valid(p) {
		return base64.StdEncoding.EncodeToString(p), nil
	}
	return string(p), err
}
