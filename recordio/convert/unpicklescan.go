package convert

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"strconv"
)

// farBytes is the length from which bytes stay in a file with random access until they are encoded.
const farBytes = 4 << 10

// pickleEvent is one opcode with its argument.
type pickleEvent struct {
	code   byte
	offset int64
	number int64   // of the numeric arguments
	float  float64 // of argF8
	text   []byte  // of the lines and bytes; freshly allocated
	second []byte  // the second of argLines
	far    int64   // offset of bytes left in the file; otherwise 0
	length int     // length of the bytes, wherever they are
}

func (e *pickleEvent) name() string { return opcodes[e.code].name }

// pickleScanner splits pickles into events. It executes nothing and builds no values.
type pickleScanner struct {
	c     *counter
	limit int  // maximum length of a line or of bytes
	far   bool // leave long bytes in the file
}

func newPickleScanner(r io.Reader, limit int, far bool) *pickleScanner {
	return &pickleScanner{c: newCounter(r), limit: limit, far: far}
}

// next reads the next event. It returns io.EOF only if the input ends before the event.
func (s *pickleScanner) next(e *pickleEvent) error {
	*e = pickleEvent{offset: s.c.off}
	var err error
	if e.code, err = s.c.ReadByte(); err != nil {
		if err != io.EOF {
			err = s.c.failed(err, "the pickle")
		}
		return err
	}
	if e.name() == "" {
		return faultf(ErrSyntax, "offset %d: %#02x is not a pickle opcode", e.offset, e.code)
	}
	return s.argument(e)
}

func (s *pickleScanner) argument(e *pickleEvent) (err error) {
	switch arg := opcodes[e.code].arg; arg {
	case argNone:
	case argF8:
		var bits uint64
		bits, err = s.fixed(e, 8, binary.BigEndian)
		e.float = math.Float64frombits(bits)
	case argLine:
		e.text, err = s.line(e)
	case argDigits:
		e.number, err = s.digits(e)
	case argLines:
		if e.text, err = s.line(e); err == nil {
			e.second, err = s.line(e)
		}
	case argU1, argU2, argU4, argU8, argI4:
		e.number, err = s.number(e, arg)
	default:
		err = s.bytes(e, arg&^argBytes)
	}
	return err
}

// fixed reads n bytes as a number.
func (s *pickleScanner) fixed(e *pickleEvent, n int, order binary.ByteOrder) (uint64, error) {
	var b [8]byte
	at := b[:n]
	if order == binary.BigEndian {
		at = b[8-n:]
	}
	if _, err := io.ReadFull(s.c, at); err != nil {
		return 0, s.c.failed(err, e.name())
	}
	return order.Uint64(b[:]), nil
}

// widths are the sizes of the numeric arguments in bytes.
var widths = [...]int{argU1: 1, argU2: 2, argU4: 4, argU8: 8, argI4: 4}

func (s *pickleScanner) number(e *pickleEvent, arg argument) (int64, error) {
	v, err := s.fixed(e, widths[arg], binary.LittleEndian)
	switch {
	case err != nil:
		return 0, err
	case arg == argI4:
		return int64(int32(v)), nil
	case v > math.MaxInt64:
		return 0, faultf(ErrLimit, "offset %d: %s %d", e.offset, e.name(), v)
	}
	return int64(v), nil
}

// line reads up to the end of the line and returns the text before it.
func (s *pickleScanner) line(e *pickleEvent) ([]byte, error) {
	var line []byte
	for {
		b, err := s.c.r.ReadSlice('\n')
		s.c.off += int64(len(b))
		if line = append(line, b...); len(line) > s.limit {
			return nil, faultf(ErrLimit, "offset %d: %s of more than %d bytes", e.offset, e.name(), s.limit)
		}
		switch err {
		case nil:
			return line[:len(line)-1], nil
		case bufio.ErrBufferFull:
		default:
			return nil, s.c.failed(err, e.name())
		}
	}
}

func (s *pickleScanner) digits(e *pickleEvent) (int64, error) {
	line, err := s.line(e)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(line), 10, 63)
	if err != nil {
		return 0, faultf(ErrSyntax, "offset %d: %s %.20q is not a number", e.offset, e.name(), line)
	}
	return int64(n), nil
}

// bytes reads or skips bytes preceded by their number.
func (s *pickleScanner) bytes(e *pickleEvent, arg argument) error {
	n, err := s.number(e, arg)
	switch {
	case err != nil:
		return err
	case n < 0:
		return faultf(ErrSyntax, "offset %d: %s of %d bytes", e.offset, e.name(), n)
	case n > int64(s.limit):
		return faultf(ErrLimit, "offset %d: %s of %d bytes is over the limit of %d for a record", e.offset, e.name(), n, s.limit)
	}
	e.length = int(n)
	if s.far && n >= farBytes {
		e.far = s.c.off
		return s.c.skip(n, e.name())
	}
	e.text, err = s.c.need(nil, int(n), e.name())
	return err
}
