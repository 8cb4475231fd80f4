package wire

import (
	"encoding/binary"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/vmihailenco/msgpack/v5"
)

const (
	// Version is the protocol version that this package defines.
	Version = 1

	// MaxMessage bounds one control message, in bytes. The largest is a page of pfs.MaxPage entries
	// with names of 255 bytes.
	MaxMessage = 4 << 20

	// MaxRequest bounds the message of a request, in bytes: two paths, a digest and some numbers.
	// Only batches may use MaxMessage.
	MaxRequest = 16 << 10

	// MaxLongRequest bounds the messages of set-xattr and concat.
	MaxLongRequest = MaxRequest + MaxXattr

	// maxItems bounds the elements of one array, the longest of which is a page, and maxKeys those
	// of a map.
	maxItems = pfs.MaxPage
	maxKeys  = 64

	// maxValues bounds the values of a message, keys included: an entry of a page has at most 51.
	maxValues = 64 * pfs.MaxPage

	// maxDepth bounds the nesting of a message.
	maxDepth = 8
)

// Encode returns the MessagePack form of a message.
func Encode(message any) []byte {
	b, err := msgpack.Marshal(message)
	if err != nil {
		// The messages of this package can always be encoded.
		panic("wire: " + err.Error())
	}
	return b
}

// Decode decodes b into message. If b is not a well-formed message of at most MaxMessage bytes it
// returns Invalid, before it allocates memory.
func Decode(b []byte, message any) error {
	if len(b) > MaxMessage {
		return pfs.Errorf("wire.Decode", "", pfs.Invalid, "message of %d bytes, the limit is %d", len(b), MaxMessage)
	}
	left := maxValues
	rest, reason := skip(b, maxDepth, &left)
	if reason == "" && len(rest) > 0 {
		reason = "bytes after its end"
	}
	if reason != "" {
		return pfs.Errorf("wire.Decode", "", pfs.Invalid, "malformed message: %s at byte %d of %d", reason, len(b)-len(rest), len(b))
	}
	if err := msgpack.Unmarshal(b, message); err != nil {
		return pfs.Errorf("wire.Decode", "", pfs.Invalid, "malformed message: %w", err)
	}
	return nil
}

// skip skips one MessagePack value and returns the bytes after it, or the malformed bytes and a
// reason. Every element takes at least one byte, so a count larger than the number of remaining
// bytes is refused before anything is allocated for it.
func skip(b []byte, depth int, left *int) (rest []byte, reason string) {
	if len(b) == 0 {
		return b, "cut off"
	}
	if depth == 0 {
		return b, "nested too deep"
	}
	if *left--; *left < 0 {
		return b, "more values than any message has"
	}
	c := b[0]
	switch {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3: // fixint, nil, bool
		return b[1:], ""
	case c <= 0x8f:
		return skipMany(b, 1, 2*int64(c&0x0f), depth, left)
	case c <= 0x9f:
		return skipMany(b, 1, int64(c&0x0f), depth, left)
	case c <= 0xbf:
		return skipBytes(b, 1, int64(c&0x1f))
	}
	switch c {
	case 0xc4, 0xd9: // bin8, str8
		return skipSized(b, 1)
	case 0xc5, 0xda:
		return skipSized(b, 2)
	case 0xc6, 0xdb:
		return skipSized(b, 4)
	case 0xcc, 0xd0:
		return skipBytes(b, 1, 1)
	case 0xcd, 0xd1:
		return skipBytes(b, 1, 2)
	case 0xca, 0xce, 0xd2:
		return skipBytes(b, 1, 4)
	case 0xcb, 0xcf, 0xd3:
		return skipBytes(b, 1, 8)
	case 0xdc, 0xde: // array16, map16
		if len(b) < 3 {
			return b, "cut off"
		}
		return skipCounted(b, 3, int64(binary.BigEndian.Uint16(b[1:])), c == 0xde, depth, left)
	case 0xdd, 0xdf:
		if len(b) < 5 {
			return b, "cut off"
		}
		return skipCounted(b, 5, int64(binary.BigEndian.Uint32(b[1:])), c == 0xdf, depth, left)
	}
	return b, "a type that no message has" // extensions, and 0xc1, which is undefined
}

// skipCounted skips an array of n elements, or a map of n keys with their values.
func skipCounted(b []byte, head int, n int64, isMap bool, depth int, left *int) ([]byte, string) {
	most := int64(maxItems)
	if isMap {
		most = maxKeys
	}
	switch {
	case n > int64(len(b)-head):
		return b, "a count beyond its end"
	case n > most:
		return b, "more elements than any message has"
	case isMap:
		n *= 2
	}
	return skipMany(b, head, n, depth, left)
}

func skipMany(b []byte, head int, n int64, depth int, left *int) ([]byte, string) {
	if n > int64(len(b)-head) {
		return b, "a count beyond its end"
	}
	rest := b[head:]
	for range n {
		var reason string
		if rest, reason = skip(rest, depth-1, left); reason != "" {
			return rest, reason
		}
	}
	return rest, ""
}

func skipBytes(b []byte, head int, n int64) ([]byte, string) {
	if n > int64(len(b)-head) {
		return b, "a length beyond its end"
	}
	return b[int64(head)+n:], ""
}

func skipSized(b []byte, width int) ([]byte, string) {
	if len(b) < 1+width {
		return b, "cut off"
	}
	var n int64
	for _, c := range b[1 : 1+width] {
		n = n<<8 | int64(c)
	}
	return skipBytes(b, 1+width, n)
}

// WriteFrame writes the length of message and message.
func WriteFrame(w io.Writer, message any) error {
	b := Encode(message)
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// ReadFrame reads a length and a message. The end of r before the frame is io.ErrUnexpectedEOF.
func ReadFrame(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return cut(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxMessage {
		return pfs.Errorf("wire.ReadFrame", "", pfs.Invalid, "frame of %d bytes, the limit is %d", n, MaxMessage)
	}
	b, err := ReadMessage(r, int64(n))
	if err != nil {
		return err
	}
	return Decode(b, message)
}

// ReadMessage reads exactly n bytes. Its buffer grows as they arrive, so a false length costs no
// memory.
func ReadMessage(r io.Reader, n int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, n))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < n {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}

func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
