package dataset

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// survey counts the files below directories by what their names indicate: the name of a format,
// else the extension, or noEnding. The whole tree determines its format, because its first file may
// only be about the data.
type survey map[string]tally

type tally struct{ files, bytes int64 }

const (
	noEnding    = "."
	otherEnding = ".*" // for unlikely extensions, which would be too many keys
	besideData  = "./" // a file that comes with a data set and has none of its records
	imagesName  = "images"
	mnistName   = "mnist"
)

// saidBy returns what a name indicates.
func saidBy(name string) string {
	if convert.IsBesideCIFAR(name) {
		return besideData
	}
	if f := convert.FormatOfName(name); f != nil {
		return f.Name
	}
	const longest = 12
	switch ending := strings.ToLower(path.Ext(name)); {
	case len(ending) > longest:
		return otherEnding
	case len(ending) > 1:
		return ending
	}
	return noEnding
}

// isFormat reports whether what a name indicates is a format.
func isFormat(said string) bool { return !strings.HasPrefix(said, ".") }

func (s survey) add(said string, size int64) {
	t := s[said]
	s[said] = tally{t.files + 1, t.bytes + size}
}

// kept returns which files are data, by what their names indicate; "" if all are. All are unless
// the data are images, or half of the files have names of one format.
func (s survey) kept(format string) string {
	switch format {
	case imagesName:
		for _, said := range []string{imagesName, noEnding} {
			if s[said].files > 0 {
				return said
			}
		}
	case "":
		if s.areImages() {
			return imagesName
		}
		return s.most()
	}
	return ""
}

// areImages reports whether there are at least as many images as files of any other kind, and not
// just a few: each image may have a file beside it that describes it.
func (s survey) areImages() bool {
	images, all := s[imagesName].files, int64(0)
	for _, t := range s {
		if t.files > images {
			return false
		}
		all += t.files
	}
	return images > 0 && 3*images >= all
}

// most returns the format of at least half of the names, if they are more than those of any other
// kind; else "".
func (s survey) most() string {
	all, most, by := int64(0), int64(0), ""
	for said, t := range s {
		all += t.files
		switch {
		case t.files > most:
			most, by = t.files, said
		case t.files == most:
			by = noEnding // nothing, unless another has more
		}
	}
	if 2*most < all || !isFormat(by) {
		return ""
	}
	return by
}

// isStray reports whether a file is left out if the files of kept are data: beside images anything
// else, beside other formats what may not be data. Another check refuses files of other formats.
func isStray(said, kept string) bool {
	if said == besideData {
		return true
	}
	if kept == "" || said == "" || said == kept {
		return false
	}
	return kept == imagesName || kept == noEnding || !isFormat(said)
}

// strays are the files that were left out.
type strays struct {
	kept  string
	count int64
	first []string
}

const mostStrays = 10 // whose names are reported

func (s *strays) add(f pfs.Info) {
	if s.count++; len(s.first) < mostStrays {
		s.first = append(s.first, f.Target)
	}
}

// text names the first of them; "" if there are none.
func (s *strays) text() string {
	if s.count == 0 {
		return ""
	}
	kind := s.kept
	switch kind {
	case "":
		kind = "data"
	case noEnding:
		kind = imagesName
	}
	text := strings.Join(s.first, ", ")
	if more := s.count - int64(len(s.first)); more > 0 {
		text += ", and " + count(more, "more", "more")
	}
	return "left out as no " + kind + ", by their names: " + text
}

// chooseData decides which of the files below directories are data, when all are found.
func (in *inputs) chooseData(format string) {
	all := survey{}
	for _, g := range in.groups {
		for said, t := range g.below {
			all[said] = tally{all[said].files + t.files, all[said].bytes + t.bytes}
		}
	}
	delete(all, besideData)
	in.strays.kept = all.kept(format)
	for _, g := range in.groups {
		for said, t := range g.below {
			if !isStray(said, in.strays.kept) {
				continue
			}
			g.files, g.bytes, in.files = g.files-t.files, g.bytes-t.bytes, in.files-t.files
			if in.bytes >= 0 {
				in.bytes -= t.bytes
			}
		}
	}
	in.listLabels()
}

// dataParts are names of directories that hold parts of a data set, and are not classes.
var dataParts = []string{"dev", "test", "testing", "train", "training", "val", "valid", "validation"}

// partFiles are the first files, below directories, of the training and of the test data of MNIST
// and CIFAR, by their names in messages.
type partFiles struct{ train, test string }

// add records a file.
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

// tellParts warns of probable mistakes: training and test data in one dataset, and the parts of a
// data set as classes.
func (in *inputs) tellParts() {
	if p := in.parts; p.train != "" && p.test != "" {
		in.o.Tell(fmt.Sprintf("training and test data become one dataset, as %s and %s: choose with --include or --exclude", p.train, p.test))
	}
	noPart := func(label string) bool { return !slices.Contains(dataParts, strings.ToLower(label)) }
	images := in.strays.kept == imagesName || in.strays.kept == noEnding
	if images && in.o.label == labelFromTop && len(in.labels) > 0 && !slices.ContainsFunc(in.labels, noPart) {
		in.o.Tell("the labels are " + strings.Join(in.labels, ", ") + ": --label-from dir takes the directories that the images are in, --include train/ a part of the data")
	}
}

// mnistPairs are the inputs with names of MNIST files: images, and the labels beside them.
type mnistPairs struct {
	labels map[transfer.End]transfer.End // by their images
	taken  map[transfer.End]bool         // labels whose images are given
	loose  map[transfer.End]string       // labels that are given, by their names in messages
	alone  string                        // images without labels: their name in messages
}

func newMNISTPairs() *mnistPairs {
	return &mnistPairs{labels: map[transfer.End]transfer.End{}, taken: map[transfer.End]bool{}, loose: map[transfer.End]string{}}
}

// add checks the name of one input.
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

// labelsBeside returns the labels of a file of images, if they exist, compressed or not.
func labelsBeside(ctx context.Context, images transfer.End) (transfer.End, bool) {
	dir, name := path.Split(string(images.Path))
	for _, spelled := range convert.LabelNames(name) {
		labels := transfer.End{FS: images.FS, Path: pfs.Path(dir + spelled)}
		exists, err := pfs.Exists(ctx, labels.FS, labels.Path)
		if exists || err != nil { // opening them reports the error
			return labels, true
		}
	}
	return transfer.End{}, false
}

// check refuses a mixture of images with labels and images or labels alone.
func (m *mnistPairs) check() error {
	if len(m.labels) == 0 {
		return nil
	}
	if m.alone != "" {
		return invalid("%s: its labels are not beside it, but those of other images are: the records would be of two kinds", m.alone)
	}
	for labels, title := range m.loose {
		if !m.taken[labels] {
			return invalid("%s: its images are not given, but those of other labels are: the records would be of two kinds", title)
		}
	}
	return nil
}
