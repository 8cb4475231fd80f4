package convert

import (
	"bytes"
	"io"
)

// imagesFormat reads one image an input. The bytes are passed through untouched; its headers are
// checked, its pixels are not decoded. The record is a map:
//
//	name    the input's name
//	label   the name of its class, and
//	class   the number of it; both only where the input has a label
//	format  "png", "jpeg", "gif", "bmp" or "webp", by content
//	width   in pixels
//	height  in pixels
//	data    the file
var imagesFormat = Format{
	Name:       "images",
	Doc:        "one image (PNG, JPEG, GIF, BMP, WebP) a file, untouched, with the name of its folder as label",
	Extensions: []string{".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"},
	Sniff:      func(head []byte) bool { return imageKindOf(head) != nil },
	open: func(in Input, opts Options) (Decoder, error) {
		if opts.Labelled && in.Label == "" {
			return nil, faultf(ErrUnlabelled, "the image has no label")
		}
		return &imageDecoder{in: in, limit: opts.Limits.withDefaults().Record}, nil
	},
}

// maxPixels is the size of the largest accepted image: 268 megapixels.
const maxPixels = 1 << 28

// imageSize is the size that an image's headers state.
type imageSize struct{ width, height int64 }

// imageKind is a format of images.
type imageKind struct {
	name string
	mark func(head []byte) bool
	// check follows the structure of a whole file and returns the size that it declares.
	check func(data []byte) (imageSize, error)
}

var imageKinds = []imageKind{
	{"png", func(b []byte) bool { return bytes.HasPrefix(b, []byte(pngMark)) }, checkPNG},
	{"jpeg", func(b []byte) bool { return bytes.HasPrefix(b, []byte("\xff\xd8\xff")) }, checkJPEG},
	{"gif", func(b []byte) bool {
		return bytes.HasPrefix(b, []byte("GIF87a")) || bytes.HasPrefix(b, []byte("GIF89a"))
	}, checkGIF},
	{"webp", func(b []byte) bool {
		return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP"
	}, checkWebP},
	{"bmp", isBMP, checkBMP},
}

// imageKindOf returns the kind of image that head begins, or nil.
func imageKindOf(head []byte) *imageKind {
	for i := range imageKinds {
		if imageKinds[i].mark(head) {
			return &imageKinds[i]
		}
	}
	return nil
}

// checkImage returns the kind and the size of an image.
func checkImage(data []byte) (*imageKind, imageSize, error) {
	kind := imageKindOf(data)
	if kind == nil {
		return nil, imageSize{}, faultf(ErrSyntax, "not an image: it begins with %.16q", data)
	}
	size, err := kind.check(data)
	if err != nil {
		return nil, imageSize{}, err
	}
	if size.width <= 0 || size.height <= 0 {
		return nil, imageSize{}, faultf(ErrSyntax, "%s of %d x %d pixels", kind.name, size.width, size.height)
	}
	if size.width > maxPixels/size.height {
		return nil, imageSize{}, faultf(ErrLimit, "%s of %d x %d pixels; at most %d in all are taken for an image",
			kind.name, size.width, size.height, maxPixels)
	}
	return kind, size, nil
}

// imageDecoder returns the one image of an input.
type imageDecoder struct {
	in    Input
	limit int
	done  bool
}

func (d *imageDecoder) Next(enc Encoder) error {
	if d.done {
		return io.EOF
	}
	d.done = true
	data, err := d.read()
	if err != nil {
		return err
	}
	kind, size, err := checkImage(data)
	if err != nil {
		return d.bad(err)
	}
	d.encode(enc, kind.name, size, data)
	return nil
}

// read returns the whole input.
func (d *imageDecoder) read() ([]byte, error) {
	c := newCounter(d.in.Reader)
	if d.in.Size > int64(d.limit) {
		return nil, d.tooLarge()
	}
	if d.in.Size >= 0 {
		return c.need(nil, int(d.in.Size), "the image")
	}
	data, err := io.ReadAll(io.LimitReader(c, int64(d.limit)+1))
	if err != nil {
		return nil, c.failed(err, "the image")
	}
	if len(data) > d.limit {
		return nil, d.tooLarge()
	}
	return data, nil
}

func (d *imageDecoder) tooLarge() error {
	return d.bad(faultf(ErrLimit, "larger than the limit of %d bytes for a record", d.limit))
}

func (d *imageDecoder) bad(err error) error { return &RecordError{Row: 1, Offset: 0, Err: err} }

func (d *imageDecoder) encode(enc Encoder, format string, size imageSize, data []byte) {
	enc.Map(-1)
	enc.Key("name")
	enc.String(validUTF8(d.in.Name))
	if d.in.Label != "" {
		enc.Key("label")
		enc.String(validUTF8(d.in.Label))
		enc.Key("class")
		enc.Int(int64(d.in.Class))
	}
	enc.Key("format")
	enc.String([]byte(format))
	enc.Key("width")
	enc.Int(size.width)
	enc.Key("height")
	enc.Int(size.height)
	enc.Key("data")
	enc.Bytes(data)
	enc.End()
}

// validUTF8 returns a file name as text, since names may be arbitrary bytes.
func validUTF8(name string) []byte { return bytes.ToValidUTF8([]byte(name), []byte("\ufffd")) }
