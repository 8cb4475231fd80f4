package convert

import (
	"io"
	"slices"
)

// cifarSamples returns the images of a batch of the Python version of CIFAR, in the form in which
// the formats cifar10 and cifar100 read the binary version; nil if value is not such a batch. A
// batch is a dict of "data", an array of n rows of 3072 bytes, and lists of n labels. The names of
// the files and of the batch are omitted.
func (d *pickleDecoder) cifarSamples(value any) []any {
	dict, ok := value.(*pickleDict)
	if !ok {
		return nil
	}
	pixels, ok := dict.get("data").(*pickleArray)
	if !ok || pixels.fortran || pixels.typ.dtype != Uint8 || len(pixels.shape) != 2 || pixels.shape[1] != cifarImage || pixels.data == nil {
		return nil
	}
	labels := dict.cifarLabels(int(pixels.shape[0]))
	rows := pixels.data.rows(d.at, int(pixels.shape[0]), cifarImage)
	if labels == nil || rows == nil {
		return nil
	}
	keys := []any{}
	for _, l := range labels {
		keys = append(keys, &pickleText{data: []byte(l.name)})
	}
	keys = append(keys, &pickleText{data: []byte("image")})
	samples := make([]any, len(rows))
	for i, row := range rows {
		sample := &pickleDict{keys: keys}
		for _, l := range labels {
			sample.values = append(sample.values, l.items[i])
		}
		sample.values = append(sample.values, &pickleArray{typ: pixels.typ, shape: cifarShape, data: row})
		samples[i] = sample
	}
	return samples
}

// pickleLabels are the labels of a batch, with their name in a record.
type pickleLabels struct {
	name  string
	items []any
}

// cifarLabels returns the lists of n labels of a batch; nil if there are none.
func (d *pickleDict) cifarLabels(n int) []pickleLabels {
	for _, names := range [][][2]string{
		{{"labels", "label"}},
		{{"coarse_labels", "coarse_label"}, {"fine_labels", "fine_label"}},
	} {
		var found []pickleLabels
		for _, name := range names {
			list, ok := d.get(name[0]).(*pickleList)
			if ok && len(list.items) == n && !slices.ContainsFunc(list.items, func(v any) bool { _, is := v.(int64); return !is }) {
				found = append(found, pickleLabels{name[1], list.items})
			}
		}
		if len(found) == len(names) {
			return found
		}
	}
	return nil
}

// get returns the value of a text key, or nil.
func (d *pickleDict) get(key string) any {
	for i, k := range d.keys {
		if isText(k, key) {
			return d.values[i]
		}
	}
	return nil
}

// rows cuts bytes into n rows of a size; nil if their number differs or they cannot be read.
func (t *pickleText) rows(at io.ReaderAt, n, size int) []*pickleText {
	whole := *t
	if whole.latin1 {
		data, err := t.load(at)
		if err != nil {
			return nil
		}
		whole = pickleText{kind: byteText, data: data, length: len(data)}
	}
	length := len(whole.data)
	if whole.far != 0 {
		length = whole.length
	}
	if n <= 0 || length/size != n || length%size != 0 {
		return nil
	}
	rows := make([]*pickleText, n)
	for i := range rows {
		row := &pickleText{kind: byteText, length: size}
		if whole.far != 0 {
			row.far = whole.far + int64(i*size)
		} else {
			row.data = whole.data[i*size : (i+1)*size]
		}
		rows[i] = row
	}
	return rows
}
