package convert

import (
	"bytes"
	"encoding/binary"
	"io"
)

// mnistFormat reads the idx files of MNIST and its relatives. The record is item i along the first
// axis: an image as a tensor, a label as a number. MNIST keeps images and labels in two files;
// WithLabels combines them into one source.
var mnistFormat = Format{
	Name:       "mnist",
	Doc:        "MNIST idx: item i, an image or a label; of images with their labels, a map of both",
	Extensions: []string{"-ubyte"},
	Sniff:      func(head []byte) bool { return isIDX(head) || bytes.HasPrefix(head, []byte(idxPairMark)) },
	open:       openMNIST,
}

func openMNIST(in Input, opts Options) (Decoder, error) {
	c, limits := newCounter(in.Reader), opts.Limits.withDefaults()
	if mark, _ := c.r.Peek(len(idxPairMark)); string(mark) == idxPairMark {
		return openIDXPair(c, limits)
	}
	items, err := openIDX(c, limits)
	if err != nil {
		return nil, err
	}
	return &idxDecoder{items: items}, items.checkSize(in.Size)
}

// idxTypes maps the third byte of a file to the type of its elements.
var idxTypes = map[byte]DType{
	0x08: Uint8, 0x09: Int8, 0x0b: Int16, 0x0c: Int32, 0x0d: Float32, 0x0e: Float64,
}

// isIDX recognizes files with one to four axes. Other files may begin with two zeros, but not
// followed by a type and a number of axes.
func isIDX(head []byte) bool {
	return len(head) >= 8 && head[0] == 0 && head[1] == 0 && idxTypes[head[2]] != 0 && head[3] >= 1 && head[3] <= 4
}

// idxItems reads an idx file item by item.
type idxItems struct {
	c     *counter
	typ   npyType
	count int64
	shape []int64 // of an item
	size  int     // of an item in bytes
	head  []byte  // of the file, up to the first item
	buf   []byte
}

// openIDX reads the header of a file: type, number of axes, and the length of each.
func openIDX(c *counter, limits Limits) (*idxItems, error) {
	b, err := c.need(nil, 4, "the header")
	if err != nil {
		return nil, err
	}
	dtype, axes := idxTypes[b[2]], int(b[3])
	if b[0] != 0 || b[1] != 0 || dtype == 0 || axes == 0 {
		return nil, faultf(ErrSyntax, "not an idx file: it begins with % x", b)
	}
	head := append([]byte(nil), b...)
	if b, err = c.need(b, 4*axes, "the header"); err != nil {
		return nil, err
	}
	head = append(head, b...)
	h := npyHeader{typ: npyType{kind: 'i', dtype: dtype, size: dtype.Size()}.ordered(true)}
	for ; len(b) > 0; b = b[4:] {
		h.shape = append(h.shape, int64(binary.BigEndian.Uint32(b)))
	}
	size, err := h.rowSize(limits.Record)
	if err != nil {
		return nil, err
	}
	return &idxItems{c: c, typ: h.typ, count: h.shape[0], shape: h.shape[1:], size: size, head: head}, nil
}

// checkSize compares the size that the header implies with that of the file.
func (x *idxItems) checkSize(size int64) error {
	left := size - x.c.off
	if size >= 0 && x.size > 0 && x.count > left/int64(x.size) {
		return faultf(ErrTruncated, "%d items of %d bytes by the header, and only %d bytes are left", x.count, x.size, left)
	}
	return nil
}

// next returns the bytes of the next item, which must exist.
func (x *idxItems) next() ([]byte, error) {
	var err error
	x.buf, err = x.c.need(x.buf, x.size, "an item")
	return x.buf, err
}

// encodeNext gives the next item to enc.
func (x *idxItems) encodeNext(enc Encoder) error {
	item, err := x.next()
	if err != nil {
		return err
	}
	return x.typ.encode(enc, item, x.shape)
}

// end returns io.EOF if the file ends after its last item.
func (x *idxItems) end() error {
	if err := x.c.ended("the last item"); err != nil {
		return err
	}
	return io.EOF
}

// idxDecoder gives the items of one file.
type idxDecoder struct {
	items *idxItems
	n     int64
}

func (d *idxDecoder) Next(enc Encoder) error {
	if d.n == d.items.count {
		return d.items.end()
	}
	d.n++
	return d.items.encodeNext(enc)
}
