package convert

import "bytes"

// cifarImage is the size of a CIFAR image: the red, green and blue planes of 32 x 32 pixels.
const cifarImage = 3 * 32 * 32

var cifarShape = []int64{3, 32, 32}

// cifarLabel is a byte before the image.
type cifarLabel struct {
	name    string
	classes byte
}

// cifar10Format and cifar100Format read the binary versions of the two data sets. The files have no
// signature. Those of CIFAR-10 are recognized by their names. Those of CIFAR-100 have the common
// names train.bin and test.bin, so their format must be named.
var (
	cifar10Format = cifarFormat("cifar10", "CIFAR-10 binary: label and image of 3 x 32 x 32", []string{"data_batch_1.bin",
		"data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}, cifarLabel{"label", 10})
	cifar100Format = cifarFormat("cifar100", "CIFAR-100 binary: coarse and fine label, and image of 3 x 32 x 32", nil,
		cifarLabel{"coarse_label", 20}, cifarLabel{"fine_label", 100})
)

// IsBesideCIFAR reports whether name is that of a CIFAR file without images.
func IsBesideCIFAR(name string) bool {
	switch name {
	case "batches.meta", "batches.meta.txt", "fine_label_names.txt", "coarse_label_names.txt", "readme.html":
		return true
	}
	return false
}

// looksLikeCIFAR reports whether head, which is not all zeros, may begin with two labelled images.
func looksLikeCIFAR(head []byte) bool {
	if len(bytes.TrimLeft(head, "\x00")) == 0 {
		return false
	}
	for _, labels := range [][]byte{{10}, {20, 100}} {
		if second := len(labels) + cifarImage; len(head) > second+1 && areBelow(head, labels) && areBelow(head[second:], labels) {
			return true
		}
	}
	return false
}

// areBelow reports whether the first bytes of p are below those of most.
func areBelow(p, most []byte) bool {
	for i, m := range most {
		if p[i] >= m {
			return false
		}
	}
	return true
}

func cifarFormat(name, doc string, names []string, labels ...cifarLabel) Format {
	return Format{Name: name, Doc: doc, Names: names, open: func(in Input, _ Options) (Decoder, error) {
		return &cifarDecoder{c: newCounter(in.Reader), labels: labels}, nil
	}}
}

// cifarDecoder decodes the images of one file.
type cifarDecoder struct {
	c      *counter
	labels []cifarLabel
	buf    []byte
	n      int64
}

func (d *cifarDecoder) Next(enc Encoder) error {
	start := d.c.off
	var err error
	if d.buf, err = d.c.take(d.buf, len(d.labels)+cifarImage, "an image"); err != nil {
		return err
	}
	d.n++
	enc.Map(len(d.labels) + 1)
	for i, l := range d.labels {
		if d.buf[i] >= l.classes {
			return &RecordError{Row: d.n, Offset: start,
				Err: faultf(ErrSyntax, "%s is %d of %d classes: damaged, or another format", l.name, d.buf[i], l.classes)}
		}
		enc.Key(l.name)
		enc.Uint(uint64(d.buf[i]))
	}
	enc.Key("image")
	enc.Tensor(Uint8, cifarShape, d.buf[len(d.labels):])
	enc.End()
	return nil
}
