package dataset

import (
	"context"
	"path"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// mnistPairs are the files among the inputs that are called as those of MNIST are:
// images, and the labels that lie beside them.
type mnistPairs struct {
	labels map[transfer.End]transfer.End // by their images
	taken  map[transfer.End]bool         // labels that go with images which are given
	loose  map[transfer.End]string       // labels that are given, and what messages call them
	alone  string                        // images without labels: what messages call them
}

func newMNISTPairs() *mnistPairs {
	return &mnistPairs{labels: map[transfer.End]transfer.End{}, taken: map[transfer.End]bool{}, loose: map[transfer.End]string{}}
}

// add looks at the name of one input.
func (m *mnistPairs) add(ctx context.Context, images transfer.End, title string) {
	name := images.Path.Base()
	if convert.IsLabels(name) {
		m.loose[images] = title
		return
	}
	if _, ok := convert.LabelsOf(name); !ok {
		return
	}
	labels, ok := labelsBeside(ctx, images)
	if !ok {
		m.alone = title
		return
	}
	m.labels[images], m.taken[labels] = labels, true
}

// labelsBeside returns the labels of a file of images, if they are there, compressed or
// not.
func labelsBeside(ctx context.Context, images transfer.End) (transfer.End, bool) {
	dir, name := path.Split(string(images.Path))
	for _, spelled := range convert.LabelNames(name) {
		labels := transfer.End{FS: images.FS, Path: pfs.Path(dir + spelled)}
		exists, err := pfs.Exists(ctx, labels.FS, labels.Path)
		if exists || err != nil { // opening them says what is wrong
			return labels, true
		}
	}
	return transfer.End{}, false
}

// check refuses what would put samples of images and labels beside bare ones.
func (m *mnistPairs) check() error {
	if len(m.labels) == 0 {
		return nil
	}
	if m.alone != "" {
		return invalid("%s: its labels do not lie beside it, those of other images do: the records would be of two kinds", m.alone)
	}
	for labels, title := range m.loose {
		if !m.taken[labels] {
			return invalid("%s: its images are not given, those of other labels are: the records would be of two kinds", title)
		}
	}
	return nil
}
