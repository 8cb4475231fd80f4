package convert

import (
	"context"
	"fmt"
	"strings"
)

// WithLabels returns a source of the format mnist whose records are maps of "label" and "image":
// item i of both files, which must have the same number of items.
func WithLabels(images, labels Source) Source {
	pair := images
	pair.Open = func(ctx context.Context) (Content, error) {
		c, err := images.Open(ctx)
		if err != nil {
			return Content{}, err
		}
		if c.labels, err = open(ctx, labels); err != nil {
			if c.Close != nil {
				c.Close() // its error would only follow from err
			}
			return Content{}, fmt.Errorf("the labels, %s: %w", labels.title(), err)
		}
		return c, nil
	}
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

// idxPairMark replaces the first bytes of images with labels. No file begins with it.
const idxPairMark = "idx\x00pair"
