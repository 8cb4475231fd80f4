package convert

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
)

// WithLabels returns a source of the format mnist whose records are maps of "label" and "image":
// item i of both files, which must have the same number of items.
func WithLabels(images, labels Source) Source {
	pair := images
	pair.Open = func(ctx context.Context) (Content, error) { return openIDXFiles(ctx, images, labels) }
	return pair
}

// LabelsOf returns the name of the label file of an MNIST image file, such as
// "train-labels-idx1-ubyte.gz" for "train-images-idx3-ubyte.gz"; false if images is not such a
// name.
func LabelsOf(images string) (labels string, ok bool) {
	return idxRenamed(images, "images", "idx3", "labels", "idx1")
}

// LabelNames returns the possible names of the label file of an image file: either file may be
// compressed. LabelsOf is the first.
func LabelNames(images string) []string {
	labels, ok := LabelsOf(images)
	if !ok {
		return nil
	}
	if plain, ok := cutExtension(labels, ".gz"); ok {
		return []string{labels, plain}
	}
	return []string{labels, labels + ".gz"}
}

// IsLabels reports whether name is that of an MNIST label file.
func IsLabels(name string) bool {
	_, ok := idxRenamed(name, "labels", "idx1", "images", "idx3")
	return ok
}

// idxRenamed replaces a word and the number of axes in an MNIST name.
func idxRenamed(name, word, axes, otherWord, otherAxes string) (string, bool) {
	for _, sep := range []string{"-", "."} { // both occur
		from := word + sep + axes
		if i := strings.LastIndex(name, from); i >= 0 {
			return name[:i] + otherWord + sep + otherAxes + name[i+len(from):], true
		}
	}
	return "", false
}

// idxPairMark begins the joined stream of two files: the headers of labels and images, then label
// and image of each item in turn. No file begins with it.
const idxPairMark = "idx\x00pair"

// openIDXFiles opens both files and joins them to one stream.
func openIDXFiles(ctx context.Context, images, labels Source) (Content, error) {
	i, err := open(ctx, images)
	if err != nil {
		return Content{}, err
	}
	l, err := open(ctx, labels)
	if err != nil {
		i.close() // its error would only follow from err
		return Content{}, fmt.Errorf("the labels, %s: %w", labels.title(), err)
	}
	shut := func() error { return cmp.Or(i.close(), l.close()) }
	stream, err := newIDXStream(i.Input, l.Input)
	if err != nil {
		shut() // as above
		return Content{}, err
	}
	return Content{Reader: stream, Size: -1, Close: shut}, nil
}

// idxStream joins two files to one stream.
type idxStream struct {
	files [2]*idxItems // labels, images
	n     int64        // number of items read from both files
	which int          // the file that has the next item
	rest  []byte       // bytes that Read has not returned yet
}

func newIDXStream(images, labels Input) (*idxStream, error) {
	s := &idxStream{rest: []byte(idxPairMark)}
	for k, in := range []Input{labels, images} {
		items, err := openIDX(newCounter(in.Reader), Limits{}.withDefaults())
		if err == nil {
			err = items.checkSize(in.Size)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		s.files[k] = items
		s.rest = append(s.rest, items.head...)
	}
	if l, i := s.files[0].count, s.files[1].count; l != i {
		return nil, faultf(ErrSyntax, "%s has %d labels for %d images: they make no samples", labels.Name, l, i)
	}
	return s, nil
}

func (s *idxStream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if err := s.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// advance reads the next item.
func (s *idxStream) advance() error {
	file := s.files[s.which]
	if s.n == file.count {
		return s.end()
	}
	var err error
	if s.rest, err = file.next(); err != nil {
		return err
	}
	if s.which++; s.which == len(s.files) {
		s.which = 0
		s.n++
	}
	return nil
}

func (s *idxStream) end() error {
	for _, file := range s.files {
		if err := file.end(); err != io.EOF {
			return err
		}
	}
	return io.EOF
}

// idxPairDecoder gives the items of a joined stream.
type idxPairDecoder struct {
	labels, images *idxItems
	n              int64
}

func openIDXPair(c *counter, limits Limits) (Decoder, error) {
	if err := c.skip(int64(len(idxPairMark)), "the header"); err != nil {
		return nil, err
	}
	labels, err := openIDX(c, limits)
	if err != nil {
		return nil, err
	}
	images, err := openIDX(c, limits)
	if err != nil {
		return nil, err
	}
	return &idxPairDecoder{labels: labels, images: images}, nil
}

func (d *idxPairDecoder) Next(enc Encoder) error {
	if d.n == min(d.labels.count, d.images.count) {
		return d.images.end()
	}
	d.n++
	enc.Map(2)
	enc.Key("label")
	if err := d.labels.encodeNext(enc); err != nil {
		return err
	}
	enc.Key("image")
	if err := d.images.encodeNext(enc); err != nil {
		return err
	}
	enc.End()
	return nil
}
