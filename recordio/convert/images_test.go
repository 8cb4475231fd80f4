package convert

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// decodeImage returns the record of one image.
func decodeImage(t *testing.T, in Input) map[string]any {
	t.Helper()
	d := decodeWith(imagesFormat, in, Options{})
	if d.err != nil || len(d.bad) > 0 || len(d.records) != 1 {
		t.Fatalf("%d records, bad %q, error %v; want one record", len(d.records), d.bad, d.err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(d.records[0]), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// The photograph has 30 x 20 pixels in every format, and its bytes pass untouched.
func TestImages(t *testing.T) {
	tests := []struct{ path, format string }{
		{"cat/a.png", "png"}, {"cat/b.jpg", "jpeg"}, {"cat/deep/c.jpeg", "jpeg"},
		{"dog/d.gif", "gif"}, {"dog/e.bmp", "bmp"},
		{"dog/f.webp", "webp"}, {"dog/g.webp", "webp"}, {"dog/h.webp", "webp"}, // lossy, lossless, extended
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			data := readFile(t, "testdata/images/"+tt.path)
			in := fileInput(tt.path, data)
			in.Label, in.Class = "cat", 3
			want := map[string]any{"name": tt.path, "label": "cat", "class": 3.0, "format": tt.format,
				"width": 30.0, "height": 20.0, "data": base64.StdEncoding.EncodeToString(data)}
			got := decodeImage(t, in)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if f, err := Sniff(data, "x"); err != nil || f.Name != "images" {
				t.Errorf("Sniff finds %v, %v", f, err)
			}
			checkImageCut(t, data)
		})
	}
}

// checkImageCut cuts the image off at each length: none of these is an image.
func checkImageCut(t *testing.T, data []byte) {
	t.Helper()
	for n := range data {
		if _, _, err := checkImage(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes pass for an image", n, len(data))
		}
	}
}

// Without a label, the record has no label field.
func TestImagesNoLabel(t *testing.T) {
	got := decodeImage(t, streamInput("a\xff.png", readFile(t, "testdata/images/cat/a.png")))
	if _, ok := got["label"]; ok || got["name"] != "a\ufffd.png" {
		t.Errorf("got name %q and label %v", got["name"], got["label"])
	}
}

func TestImagesErrors(t *testing.T) {
	png := readFile(t, "testdata/images/cat/a.png")
	edit := func(data []byte, at int, with string) []byte {
		data = bytes.Clone(data)
		copy(data[at:], with)
		return data
	}
	jpeg := readFile(t, "testdata/images/cat/b.jpg")
	bmp := readFile(t, "testdata/images/dog/e.bmp")
	webp := readFile(t, "testdata/images/dog/h.webp")
	frame := bytes.Index(jpeg, []byte("\xff\xc0"))
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"html", readFile(t, "testdata/images/dog/broken.png"), `not an image: it begins with "<html>404 not fo"`},
		{"nothing", nil, `not an image: it begins with ""`},
		{"png mark", png[:8], "png: ends without an IEND chunk"},
		{"png width", edit(png, 16, "\x7f"), `png: chunk "IHDR" does not match its checksum`},
		{"png chunk", edit(png, 33, "\xff\xff\xff\xff"), `png: chunk "IDAT" of 4294967295 bytes, and only 1448 are left`},
		{"png pixel", edit(png, 60, "?"), `png: chunk "IDAT" does not match its checksum`},
		{"jpeg size", edit(jpeg, frame+5, "\xff\xff\xff\xff"), "jpeg of 65535 x 65535 pixels; at most 268435456 in all are taken for an image"},
		{"jpeg height", edit(jpeg, frame+5, "\x00\x00"), "jpeg of 30 x 0 pixels"},
		{"jpeg segment", edit(jpeg, 20, "\x00"), "jpeg: byte 0x00 where a marker should be"},
		{"gif block", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00x"), "gif: unknown block 0x78"},
		{"gif empty", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), "gif: no image"},
		{"bmp size", edit(bmp, 18, "\xff\xff\xff\x0f\xff\xff\xff\x7f"), "bmp: 2147483647 lines of 805306368 bytes, and only 1840 bytes of pixels"},
		{"bmp offset", edit(bmp, 10, "\xff\xff"), "bmp: pixels at offset 65535 of 1894 bytes"},
		{"webp canvas", edit(webp, 24, "\xff\xff\xff\xff\xff\xff"), "webp of 16777216 x 16777216 pixels; at most 268435456 in all are taken for an image"},
		{"webp length", edit(webp, 4, "\xff\xff\xff\xff"), "webp: 4294967295 bytes by its header, and only 358 are left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMessage(t, decodeWith(imagesFormat, fileInput("a.png", tt.data), Options{}), "record 1, offset 0: "+tt.want)
		})
	}
}

// A file that is larger than a record may be is not read, or only up to that.
func TestImagesLimit(t *testing.T) {
	opts := Options{Limits: Limits{Record: 1000}}
	want := "record 1, offset 0: larger than the limit of 1000 bytes for a record"
	endless := io.LimitReader(zeros{}, 1<<40)
	checkMemory(t, 4<<20, func() {
		checkMessage(t, decodeWith(imagesFormat, Input{Reader: endless, Size: 1 << 40}, opts), want)
		checkMessage(t, decodeWith(imagesFormat, Input{Reader: endless, Size: -1}, opts), want)
		checkMessage(t, decodeWith(imagesFormat, Input{Reader: strings.NewReader("GIF"), Size: 500}, opts), "the input ends at offset 3, in the middle of the image")
	})
}

// zeros reads as zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestImagesDamage(t *testing.T) {
	for _, name := range imageFiles(t) {
		checkDamage(t, imagesFormat, readFile(t, name))
	}
}

func imageFiles(t testing.TB) []string {
	return slices.Concat(glob(t, "testdata/images/cat/*.*"), glob(t, "testdata/images/cat/deep/*"), glob(t, "testdata/images/dog/*"))
}

func FuzzImages(f *testing.F) { fuzzFormats(f, imageFiles(f), imagesFormat) }
