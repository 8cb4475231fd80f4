package convert

// cifarImage is one image of CIFAR: the red, green and blue planes of 32 x 32 pixels.
const cifarImage = 3 * 32 * 32

var cifarShape = []int64{3, 32, 32}

// cifarLabel is a byte in front of the image.
type cifarLabel struct {
	name    string
	classes byte
}

// cifar10Format and cifar100Format read the binary versions of the two data sets. They
// have no mark of their own: the format has to be named.
var (
	cifar10Format  = cifarFormat("cifar10", "CIFAR-10 binary: label and image of 3 x 32 x 32", cifarLabel{"label", 10})
	cifar100Format = cifarFormat("cifar100", "CIFAR-100 binary: coarse and fine label, and image of 3 x 32 x 32",
		cifarLabel{"coarse_label", 20}, cifarLabel{"fine_label", 100})
)

func cifarFormat(name, doc string, labels ...cifarLabel) Format {
	return Format{Name: name, Doc: doc, open: func(in Input, _ Options) (Decoder, error) {
		return &cifarDecoder{c: newCounter(in.Reader), labels: labels}, nil
	}}
}

// cifarDecoder gives the images of one file.
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
