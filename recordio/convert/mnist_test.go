package convert

import (
	"bytes"
	"fmt"
	"testing"
)

// Two images of 2 x 2 pixels and their labels, as http://yann.lecun.com/exdb/mnist has the format.
const (
	idxImages = "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02" + "\x00\x01\x02\x03\xfc\xfd\xfe\xff"
	idxLabels = "\x00\x00\x08\x01\x00\x00\x00\x02" + "\x07\x09"
)

func TestMNIST(t *testing.T) {
	tests := []struct {
		name, data string
		want       []string
	}{
		{"images", idxImages, []string{`[[0,1],[2,3]]`, `[[252,253],[254,255]]`}},
		{"labels", idxLabels, []string{`7`, `9`}},
		{"signed", "\x00\x00\x09\x01\x00\x00\x00\x01\xff", []string{`-1`}},
		{"short", "\x00\x00\x0b\x02\x00\x00\x00\x01\x00\x00\x00\x02\xff\xfe\x01\x00", []string{`[-2,256]`}},
		{"int", "\x00\x00\x0c\x01\x00\x00\x00\x01\x00\x00\x01\x00", []string{`256`}},
		{"float", "\x00\x00\x0d\x01\x00\x00\x00\x01\x3f\x00\x00\x00", []string{`0.5`}},
		{"double", "\x00\x00\x0e\x01\x00\x00\x00\x01\x3f\xe0\x00\x00\x00\x00\x00\x00", []string{`0.5`}},
		{"none", "\x00\x00\x08\x01\x00\x00\x00\x00", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkRecords(t, decodeWith(mnistFormat, fileInput("a", []byte(tt.data)), Options{}), tt.want)
			if f, err := Sniff([]byte(tt.data), "x"); err != nil || f.Name != "mnist" {
				t.Errorf("Sniff finds %v, %v", f, err)
			}
		})
	}
}

func TestMNISTErrors(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"nothing", "", "the input ends at offset 0, in the middle of the header"},
		{"text", "text", "not an idx file: it begins with 74 65 78 74"},
		{"truncated", idxImages[:20], "2 items of 4 bytes by the header, and only 4 bytes are left"},
		{"more", idxLabels + "x", "the input continues after the end of the last item, at offset 10"},
		{"hostile", "\x00\x00\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
			"rows of shape [4294967295 4294967295 4294967295] of 1 bytes each are over the limit of 67108864 bytes for a record"},
		{"empty", "\x00\x00\x08\x02\xff\xff\xff\xff\x00\x00\x00\x00",
			"an array of shape [4294967295 0] whose rows have no bytes; at most 1024 elements are read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMemory(t, 4<<20, func() {
				checkMessage(t, decodeWith(mnistFormat, fileInput("a", []byte(tt.data)), Options{}), tt.want)
			})
		})
	}
}

func TestWithLabels(t *testing.T) {
	images := memorySource("train-images-idx3-ubyte.gz", gzipped(t, []byte(idxImages)))
	got, stats, err := payloads(t, Options{Encoding: "json"}, WithLabels(images, memorySource("labels", []byte(idxLabels))))
	want := []string{`{"label":7,"image":[[0,1],[2,3]]}`, `{"label":9,"image":[[252,253],[254,255]]}`}
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || stats.Format != "mnist" {
		t.Errorf("got %s of format %s, want %s", got, stats.Format, want)
	}

	for _, tt := range []struct{ name, labels, want string }{
		{"count", "\x00\x00\x08\x01\x00\x00\x00\x03\x07\x09\x01", "train-images-idx3-ubyte.gz: labels has 3 labels for 2 images: they make no samples"},
		{"short", idxLabels[:9], "train-images-idx3-ubyte.gz: labels: 2 items of 1 bytes by the header, and only 1 bytes are left"},
		{"long", idxLabels + "x", "train-images-idx3-ubyte.gz: the input continues after the end of the last item, at offset 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := payloads(t, Options{Encoding: "json"}, WithLabels(images, memorySource("labels", []byte(tt.labels))))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestLabelsOf(t *testing.T) {
	for images, want := range map[string]string{
		"d/train-images-idx3-ubyte.gz": "d/train-labels-idx1-ubyte.gz",
		"t10k-images.idx3-ubyte":       "t10k-labels.idx1-ubyte",
		"train-labels-idx1-ubyte":      "",
	} {
		if got, ok := LabelsOf(images); got != want || ok != (want != "") {
			t.Errorf("LabelsOf(%q) is %q, %v; want %q", images, got, ok, want)
		}
	}
}

func TestLabelNames(t *testing.T) {
	for images, want := range map[string]string{
		"train-images-idx3-ubyte.gz": "[train-labels-idx1-ubyte.gz train-labels-idx1-ubyte]",
		"t10k-images.idx3-ubyte":     "[t10k-labels.idx1-ubyte t10k-labels.idx1-ubyte.gz]",
		"train-labels-idx1-ubyte":    "[]",
	} {
		if got := fmt.Sprint(LabelNames(images)); got != want {
			t.Errorf("LabelNames(%q) is %s, want %s", images, got, want)
		}
	}
}

// cifarFile makes images whose pixels are all their number.
func cifarFile(labels ...[]byte) []byte {
	var b bytes.Buffer
	for i, l := range labels {
		b.Write(l)
		b.Write(bytes.Repeat([]byte{byte(i)}, cifarImage))
	}
	return b.Bytes()
}

func TestCIFAR(t *testing.T) {
	tests := []struct {
		name   string
		format Format
		data   []byte
		labels []string
		bad    string
	}{
		{"cifar10", cifar10Format, cifarFile([]byte{0}, []byte{9}), []string{`"label":0`, `"label":9`}, ""},
		{"cifar100", cifar100Format, cifarFile([]byte{19, 99}, []byte{0, 1}),
			[]string{`"coarse_label":19,"fine_label":99`, `"coarse_label":0,"fine_label":1`}, ""},
		{"class", cifar10Format, cifarFile([]byte{3}, []byte{10}, []byte{4}), []string{`"label":3`, `"label":4`},
			"record 2, offset 3073: label is 10 of 10 classes: damaged, or another format"},
		{"truncated", cifar10Format, cifarFile([]byte{3}, []byte{4})[:6000], []string{`"label":3`},
			"the input ends at offset 6000, in the middle of an image"},
		{"nothing", cifar100Format, nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decodeWith(tt.format, fileInput("a.bin", tt.data), Options{})
			checkMessage(t, d, tt.bad)
			for i, label := range tt.labels {
				want := "{" + label + `,"image":[[[`
				if i >= len(d.records) || d.records[i][:len(want)] != want {
					t.Errorf("record %d of %d does not begin with %s", i, len(d.records), want)
				}
			}
		})
	}
}

func FuzzMNIST(f *testing.F) {
	f.Add([]byte(idxImages))
	f.Add([]byte(idxLabels))
	f.Add([]byte(idxPairMark + idxLabels[:8] + idxImages[:16] + "\x07\x00\x01\x02\x03\x09\xfc\xfd\xfe\xff"))
	fuzzFormats(f, nil, mnistFormat, cifar10Format, cifar100Format)
}
