package convert

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestWebDataset(t *testing.T) {
	png := readFile(t, "testdata/images/cat/a.png")
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf(`{"__key__":"train/%04d","cls":"%s","json":"%s","left.txt":"%s","png":"%s"}`, i,
			b64(fmt.Sprint(i)), b64(fmt.Sprintf(`{"id": %d, "seg.txt": "s"}`, i)), b64(fmt.Sprintf("l%d", i)), b64(string(png[:40+i]))))
	}
	data := readFile(t, "testdata/webdataset/samples.tar")
	checkRecords(t, decodeWith(webdatasetFormat, streamInput("a.tar", data), Options{}), want)
	if f, err := Sniff(data, "x"); err != nil || f.Name != "webdataset" {
		t.Errorf("Sniff finds %v, %v", f, err)
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// tarOf returns an archive of files, whose content is their name or the value in kind.
func tarOf(t *testing.T, kind map[string]byte, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(name)), Mode: 0o644}
		if k, ok := kind[name]; ok {
			h.Typeflag, h.Size, h.Linkname = k, 0, "x"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// keys returns the records without the content of their files.
func keys(records []string) string {
	var out []string
	for _, r := range records {
		var names []string
		for i, part := range strings.Split(r, `"`) {
			if i%4 == 1 || i == 3 {
				names = append(names, part)
			}
		}
		out = append(out, strings.Join(names[1:], " "))
	}
	return strings.Join(out, ", ")
}

func TestWebDatasetGroups(t *testing.T) {
	link := map[string]byte{"d/": tar.TypeDir, "a.lnk": tar.TypeLink}
	tests := []struct {
		names      []string
		keys, want string
	}{
		{[]string{"d/", "a.x", "a.Y", "b.x"}, "a x y, b x", ""},
		{[]string{"d.1/a.x", "d.1/a.y.z", "d.2/a.x"}, "d.1/a x y.z, d.2/a x", ""},
		{[]string{"a.x", "b.x", "a.y"}, "a x, b x, a y", ""},
		{[]string{".hidden", "._a.x", "a.x"}, "a x", ""},
		{[]string{"a.x", "README", "a.y", "b.x"}, "a x y, b x", `record 2, offset 1536: file "README" in the archive has no extension, so that it belongs to no sample`},
		{[]string{"a.x", "a.X", "b.x"}, "b x", `record 1, offset 512: two files "x" of sample "a"`},
		{[]string{"a.x", "a.lnk", "b.x"}, "a x, b x", `record 2, offset 1536: file "a.lnk" in the archive is a link or special, and has no content`},
		{[]string{"a.__key__", "b.x"}, "b x", `record 1, offset 512: file "a.__key__" in the archive has an extension that is the name of the key`},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.names, " "), func(t *testing.T) {
			d := decodeWith(webdatasetFormat, streamInput("a.tar", tarOf(t, link, tt.names...)), Options{})
			checkMessage(t, d, tt.want)
			if got := keys(d.records); got != tt.keys {
				t.Errorf("samples are %q, want %q", got, tt.keys)
			}
		})
	}
}

func TestWebDatasetErrors(t *testing.T) {
	data := tarOf(t, nil, "a.x", "b.x")
	edited := bytes.Clone(data)
	edited[1024] ^= 1
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "the archive ends at offset 0, in the middle of a file"},
		{"text", bytes.Repeat([]byte("text"), 200), "not a tar archive, or one that is damaged at its beginning"},
		{"no end", data[:len(data)-1024], ""},
		{"padding", data[:len(data)-1025], "the archive ends at offset 2047, in the middle of a file"},
		{"in a file", data[:1537], "the input ends at offset 1537, in the middle of the archive"},
		{"in a head", data[:1100], "the input ends at offset 1100, in the middle of the archive"},
		{"header", edited, "the archive is damaged before offset 1536"},
		{"two", append(bytes.Clone(data), data...), "something follows the end of the archive, at offset 3072; pass concatenated archives as separate inputs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMessage(t, decodeWith(webdatasetFormat, streamInput("a.tar", tt.data), Options{}), tt.want)
		})
	}
	d := decodeWith(webdatasetFormat, streamInput("a.tar", tarOf(t, nil, "a.x", "a.yyyyyyyyyyyyyyyyyyyy", "b.x")), Options{Limits: Limits{Record: 30}})
	checkMessage(t, d, `record 1, offset 512: sample "a" is larger than the limit of 30 bytes for a record`)
	if got := keys(d.records); got != "b x" {
		t.Errorf("samples behind it are %q, want b", got)
	}
}

// A file of 8 TiB by its header takes no memory.
func TestWebDatasetHostile(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "a.x", Typeflag: tar.TypeReg, Size: 8 << 40}); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, 4<<20, func() {
		d := decodeWith(webdatasetFormat, streamInput("a.tar", b.Bytes()), Options{})
		checkMessage(t, d, "the input ends at offset 1536, in the middle of the archive")
	})
}

func TestWebDatasetDamage(t *testing.T) {
	checkDamage(t, webdatasetFormat, readFile(t, "testdata/webdataset/samples.tar"))
}

func FuzzWebDataset(f *testing.F) {
	fuzzFormats(f, []string{"testdata/webdataset/samples.tar"}, webdatasetFormat)
}

// cutTar makes an archive of two files a sample, whose names need a header of their own, and
// returns it with where its samples, their files, and all of them end.
func cutTar(t *testing.T, format tar.Format) (data []byte, files []int, end int) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range 6 {
		h := &tar.Header{Name: fmt.Sprintf("%s/%d.%c", strings.Repeat("d", 120), i/2, 'x'+i%2), Typeflag: tar.TypeReg, Size: int64(300 * i), Mode: 0o644, Format: format}
		if format == tar.FormatPAX {
			h.PAXRecords = map[string]string{"note.text": strings.Repeat("n", 600)}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte{byte(i)}, 300*i)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		files = append(files, b.Len())
	}
	end = b.Len()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), files, end
}

// TestWebDatasetCut cuts archives at the end of every block and beside it. Only a cut after a whole
// file may be the end of an archive, which is reported; in a compressed archive it never is.
func TestWebDatasetCut(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatPAX, tar.FormatGNU} {
		data, files, end := cutTar(t, format)
		for at := 0; at <= len(data); at += 512 {
			for _, cut := range []int{at - 511, at - 100, at - 1, at, at + 1} {
				if cut < 0 || cut > len(data) {
					continue
				}
				d := newTarDecoder(streamInput("a.tar", data[:cut]), 1<<20)
				var err error
				records := 0
				for enc := newJSON(Limits{}); err == nil; enc.Reset() {
					if err = d.Next(enc); err == nil {
						records++
					}
				}
				whole := slices.Contains(files, cut)
				switch {
				case whole || cut == end+512 || cut == len(data):
					if err != io.EOF || records != (slices.Index(append(files, cut), min(cut, end))+2)/2 || len(d.notes().take()) > 0 != whole {
						t.Errorf("%v: cut at %d of %d: %d records, %v", format, cut, len(data), records, err)
					}
				case !errors.Is(err, ErrTruncated):
					t.Errorf("%v: cut at %d of %d: %d records, %v", format, cut, len(data), records, err)
				}
			}
		}
	}
}

// TestWebDatasetUnended reads archives without end blocks, also compressed ones, and checks the
// note.
func TestWebDatasetUnended(t *testing.T) {
	data, _, end := cutTar(t, tar.FormatPAX)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(data[:end])
	z.Close()
	_, stats, err := payloads(t, Options{}, memorySource("a.tar", data[:end]), memorySource("b.tar", data), memorySource("c.tar.gz", packed.Bytes()))
	const want = "[a.tar, and 1 more: the archive lacks the blocks of zeros at its end: files may be missing after the last one]"
	if got := fmt.Sprint(stats.Notes); err != nil || got != want || stats.Records != 9 {
		t.Errorf("%d records, %v, %s", stats.Records, err, got)
	}
}
