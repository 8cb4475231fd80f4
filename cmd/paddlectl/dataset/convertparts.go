package dataset

import (
	"slices"
	"strings"
)

// dataParts are what directories are called that hold parts of a data set, and no classes.
var dataParts = []string{"dev", "test", "testing", "train", "training", "val", "valid", "validation"}

// partFiles are the files below directories that hold the training and the test data of
// MNIST and CIFAR: of each part the first, as messages call it.
type partFiles struct{ train, test string }

// add notes a file.
func (p *partFiles) add(base, said, title string) {
	var first *string
	switch mnist := said == mnistName; {
	case mnist && strings.Contains(base, "train-"), strings.HasPrefix(base, "data_batch_"):
		first = &p.train
	case mnist && strings.Contains(base, "t10k-"), mnist && strings.Contains(base, "test-"), base == "test_batch", base == "test_batch.bin":
		first = &p.test
	default:
		return
	}
	if *first == "" || title < *first {
		*first = title
	}
}

// tellParts warns of what is seldom meant: training and test data in one dataset, and the
// names of the parts of a data set as classes.
func (in *datasetInputs) tellParts() {
	if p := in.parts; p.train != "" && p.test != "" {
		in.a.Message("training and test data make one dataset, as %s and %s: --include or --exclude chooses", p.train, p.test)
	}
	noPart := func(label string) bool { return !slices.Contains(dataParts, strings.ToLower(label)) }
	images := in.strays.kept == imagesName || in.strays.kept == noEnding
	if images && in.from == LabelFromTop && len(in.labels) > 0 && !slices.ContainsFunc(in.labels, noPart) {
		in.a.Message("the labels are %s: --label-from dir takes the directories that the images are in, --include train/ a part of the data", strings.Join(in.labels, ", "))
	}
}
