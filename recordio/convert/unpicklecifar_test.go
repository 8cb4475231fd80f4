package convert

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// cifarBatch returns a batch of two images with these labels, pickled as in the published files of
// Python 2.
func cifarBatch(labels string, shape string, pixels int) []byte {
	return []byte("\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03" + labels +
		"U\x04dataq\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85q\tU\x01bq\n\x87q\x0bRq\x0c" +
		"(K\x01" + shape + "\x86cnumpy\ndtype\nq\rU\x02u1q\x0eK\x00K\x01\x87q\x0fRq\x10(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb" +
		"I00\nT\x00\x18\x00\x00" + strings.Repeat("\x01", cifarImage) + strings.Repeat("\x02", pixels-cifarImage) + "tb" +
		"U\tfilenamesq\x11]q\x12(U\x05a.pngU\x05b.pngeu.")
}

func TestUnpickleCIFAR(t *testing.T) {
	const ten, hundred = "U\x06labels]q\x05(K\x06K\x09e", "U\x0bfine_labels]q\x05(K\x63K\x07eU\x0dcoarse_labels](K\x0bK\x13e"
	const shape = "K\x02M\x00\x0c"
	image := func(pixel int) string {
		row := "[" + strings.TrimSuffix(strings.Repeat(fmt.Sprint(pixel)+",", 32), ",") + "]"
		plane := "[" + strings.TrimSuffix(strings.Repeat(row+",", 32), ",") + "]"
		return `"image":[` + plane + "," + plane + "," + plane + "]}"
	}
	two := []string{`{"label":6,` + image(1), `{"label":9,` + image(2)}
	for _, tt := range []struct {
		name string
		data []byte
		want []string
	}{
		{"cifar10", cifarBatch(ten, shape, 2*cifarImage), two},
		{"cifar100", cifarBatch(hundred, shape, 2*cifarImage),
			[]string{`{"coarse_label":11,"fine_label":99,` + image(1), `{"coarse_label":19,"fine_label":7,` + image(2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkRecords(t, decodeWith(pickleFormat, fileInput("data_batch_1", tt.data), Options{}), tt.want)
			checkRecords(t, decodeWith(pickleFormat, streamInput("data_batch_1", tt.data), Options{}), tt.want)
			checkRecords(t, streamed(tt.data), tt.want)
		})
	}
	for _, name := range []string{"cifar-2", "cifar-4"} { // pickled again by Python 3
		data, err := os.ReadFile("testdata/pickle/" + name + ".pickle")
		if err != nil {
			t.Fatal(err)
		}
		checkRecords(t, decodeWith(pickleFormat, fileInput("a", data), Options{}), two)
		checkRecords(t, decodeWith(pickleFormat, streamInput("a", data), Options{}), two)
	}

	for name, data := range map[string][]byte{
		"labels of one":  cifarBatch("U\x06labels]q\x05(K\x06e", shape, 2*cifarImage),
		"no labels":      cifarBatch("", shape, 2*cifarImage),
		"labels of text": cifarBatch("U\x06labels]q\x05(U\x01aU\x01be", shape, 2*cifarImage),
		"another shape":  cifarBatch(ten, "M\x00\x0cK\x02", 2*cifarImage),
	} {
		d := decodeWith(pickleFormat, fileInput("a", data), Options{})
		if d.err != nil || len(d.records) != 1 {
			t.Errorf("%s: %d records, %v; want the value", name, len(d.records), d.err)
		}
	}
}
