package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
	limits := opts.Limits.withDefaults()
	items, err := openIDX(in, limits)
	if err != nil || in.labels == nil {
		return &idxDecoder{items: items}, err
	}
	labels, err := openIDX(*in.labels, limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.labels.Name, err)
	}
	if labels.count != items.count {
		return nil, faultf(ErrSyntax, "%s has %d labels for %d images: they make no samples", in.labels.Name, labels.count, items.count)
	}
	return &idxDecoder{items: items, labels: labels}, nil
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
	buf   []byte
}

// openIDX reads the header of a file: type, number of axes, and the length of each. It compares the
// size that the header implies with that of the file.
func openIDX(in Input, limits Limits) (*idxItems, error) {
	c := newCounter(in.Reader)
	b, err := c.need(nil, 4, "the header")
	if err != nil {
		return nil, err
	}
	dtype, axes := idxTypes[b[2]], int(b[3])
	if b[0] != 0 || b[1] != 0 || dtype == 0 || axes == 0 {
		return nil, faultf(ErrSyntax, "not an idx file: it begins with % x", b)
	}
	if b, err = c.need(b, 4*axes, "the header"); err != nil {
		return nil, err
	}
	h := npyHeader{typ: npyType{kind: 'i', dtype: dtype, size: dtype.Size()}.ordered(true)}
	for ; len(b) > 0; b = b[4:] {
		h.shape = append(h.shape, int64(binary.BigEndian.Uint32(b)))
	}
	size, err := h.rowSize(limits.Record)
	if err != nil {
		return nil, err
	}
	x := &idxItems{c: c, typ: h.typ, count: h.shape[0], shape: h.shape[1:], size: size}
	if left := in.Size - c.off; in.Size >= 0 && size > 0 && x.count > left/int64(size) {
		return nil, faultf(ErrTruncated, "%d items of %d bytes by the header, and only %d bytes are left", x.count, size, left)
	}
	return x, nil
}

// encodeNext gives the next item, which must exist, to enc.
func (x *idxItems) encodeNext(enc Encoder) (err error) {
	if x.buf, err = x.c.need(x.buf, x.size, "an item"); err != nil {
		return err
	}
	return x.typ.encode(enc, x.buf, x.shape)
}

// idxDecoder gives the items of one file, or with labels maps of both.
type idxDecoder struct {
	items, labels *idxItems // labels may be nil
	n             int64
}

func (d *idxDecoder) Next(enc Encoder) error {
	if d.n == d.items.count {
		return d.end()
	}
	d.n++
	if d.labels == nil {
		return d.items.encodeNext(enc)
	}
	enc.Map(2)
	enc.Key("label")
	if err := d.labels.encodeNext(enc); err != nil {
		return err
	}
	enc.Key("image")
	if err := d.items.encodeNext(enc); err != nil {
		return err
	}
	enc.End()
	return nil
}

// end returns io.EOF if each file ends after its last item.
func (d *idxDecoder) end() error {
	for _, file := range []*idxItems{d.labels, d.items} {
		if file == nil {
			continue
		}
		if err := file.c.ended("the last item"); err != nil {
			return err
		}
	}
	return io.EOF
}
