package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/recordio"
)

// previewed returns the preview of a file with the given content, and fails if it takes long.
func (s *site) previewed(t *testing.T, name string, content []byte, query string) string {
	t.Helper()
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Alice), home(name), content)
	began := time.Now()
	page := s.get(t, address("files", home(name))+query).want(t, http.StatusOK)
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("%s: the page took %v", name, took)
	}
	if len(page.body) > 4<<20 {
		t.Errorf("%s: a page of %d bytes", name, len(page.body))
	}
	_, preview, ok := strings.Cut(page.body, `aria-label="Preview">`)
	if !ok {
		t.Fatalf("%s: no preview in\n%.2000s", name, page.body)
	}
	return preview
}

func records(t *testing.T, n int, opts recordio.WriterOptions, record func(i int) string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b, opts)
	for i := range n {
		if err := w.Write([]byte(record(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tags are the elements that a preview may have.
var tags = regexp.MustCompile(`<(/?[a-zA-Z0-9!]+)`)

func TestPreviews(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.login(t, gatewaytest.Alice)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	many := records(t, 1000, recordio.WriterOptions{Compressor: recordio.Snappy, ChunkBytes: 1000}, func(i int) string {
		return fmt.Sprintf(`{"id": %d, "name": "n%d"}`, i, i)
	})
	damaged := bytes.Clone(many)
	damaged[len(damaged)/2] ^= 0xff
	set := manifest.Manifest{
		Format: manifest.Format, Version: 1, Name: "set", Payload: "json", Source: "csv", Inputs: []manifest.Input{}, Options: []string{},
		Columns: []manifest.Column{{Name: "id", Type: "int"}},
		Shards:  []manifest.Shard{{Name: "set-00000-of-00001", Records: 3, RecordBytes: 9, Bytes: 100, Digest: "blake3:" + strings.Repeat("0", 64)}},
	}
	set.Sum()
	text, err := manifest.Encode(&set)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"empty", "", []string{"The file is empty"}},
		{"text.txt", "hello\n<b>&\u202e", []string{"<h2>Text", "hello\n&lt;b&gt;&amp;\\u202e"}},
		{"page.html", "<script>alert(1)</script>", []string{"<h2>Text", "&lt;script&gt;"}},
		{"picture.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, []string{"<h2>Text", "&lt;svg"}},
		{"latin1.txt", strings.Repeat("a line\n", 100) + "caf\xe9 and more", []string{"Line 101 (byte 703): this is not text in UTF-8."}},
		{"binary", "\x00\x01\x02", []string{"Not text", "00 01 02"}},
		{"long.txt", strings.Repeat("é", 100000), []string{"The first 64 KiB of 195 KiB"}},
		{"table.csv", "a,b\n1,\"x <i>\"\n2,y\n", []string{"<h2>Table", `<th scope="col">a</th>`, "<td>x &lt;i&gt;</td>"}},
		{"bad.csv", "a,b\n1,\"x\n2,y\n", []string{"Line 3, column 5: "}},
		{"ragged.csv", "a,b\n1,2\n1,2,3\n", []string{"Line 3 has 3 fields, and the first line 2."}},
		{"long.csv", "a,b\n" + strings.Repeat("1,2\n", 100000), []string{"The first 100 rows."}},
		{"one.json", `{"a":[1,2],"b":"<x>"}`, []string{"<h2>JSON", "&#34;a&#34;: [\n    1,"}},
		{"bad.json", "{\n\"a\": 1,\n\"b\": }\n", []string{"Line 3 (byte 15): invalid character"}},
		{"short.json", "[1,", []string{"<h2>JSON", "unexpected end"}},
		{"picture", picture.String(), []string{"<h2>Image", "30 × 20", `src="` + address("image", home("picture")) + `"`}},
		{"cut.png", picture.String()[:20], []string{"This image cannot be shown"}},
		{"many", string(many), []string{"<h2>RecordIO", "<dd>1\u202f000</dd>", "snappy", "Record 0 ", "Record 9 ", "&#34;id&#34;: 0", "<dt>Field name</dt><dd>text</dd>", "json, as the record looks", "record=10#records"}},
		{"damaged", string(damaged), []string{"<h2>RecordIO", "Record 0 "}},
		{"cut", string(many[:len(many)-5]), []string{"<h2>RecordIO", "chunk ", " at byte ", "Record 0 "}},
		{".set.manifest", string(text), []string{"<h2>Dataset", "Column 1</dt><dd>id: int", `href="` + address("files", home("set-00000-of-00001"))}},
		{"set-00000-of-00001", string(records(t, 3, recordio.WriterOptions{}, func(int) string { return "{}" })), []string{"<dt>Dataset</dt><dd>set", "id: int", "Record 2 "}},
		{".other.manifest", "{\n\"format\": \"x\"}", []string{"This manifest is not valid"}},
		{"raw", string(records(t, 2, recordio.WriterOptions{}, func(i int) string { return []string{"some text", "\x00\xff"}[i] })), []string{"some text", "00 ff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			preview := s.previewed(t, c.name, []byte(c.content), "")
			for _, want := range c.want {
				if !strings.Contains(preview, want) {
					t.Errorf("no %q in\n%.3000s", want, preview)
				}
			}
			for _, tag := range tags.FindAllStringSubmatch(preview, -1) {
				if name := strings.TrimPrefix(tag[1], "/"); !strings.Contains(" section h2 h3 p ul li dl div dt dd img table thead tbody tr th td a pre form label input button span nav main body html ", " "+name+" ") {
					t.Errorf("the element %s is in the page", tag[1])
				}
			}
		})
	}
	at := s.previewed(t, "many", many, "?record=995")
	if !strings.Contains(at, "Record 995 ") || !strings.Contains(at, "Record 999 ") || !strings.Contains(at, "record=985") || strings.Contains(at, "Later") {
		t.Errorf("records from 995 on:\n%.3000s", at)
	}
	if at := s.previewed(t, "many", many, "?record=99999999999999999999"); !strings.Contains(at, "Record 0 ") {
		t.Errorf("a number that is none:\n%.3000s", at)
	}
	var where string
	for i := 0; i < 1000; i += 10 { // the page that has the damage tells its place
		if at := s.previewed(t, "damaged", damaged, fmt.Sprint("?record=", i)); strings.Contains(at, `role="alert"`) {
			where = at
		}
	}
	if !strings.Contains(where, " at byte ") {
		t.Errorf("no page says where the file is damaged:\n%.2000s", where)
	}
	got := s.get(t, address("image", home("picture"))).want(t, http.StatusOK)
	if got.Header.Get("Content-Type") != "image/png" || !strings.HasPrefix(got.Header.Get("Content-Security-Policy"), "sandbox") || got.body != picture.String() {
		t.Errorf("the image: %v", got.Header)
	}
	for _, name := range []string{"page.html", "picture.svg", "cut.png"} {
		s.get(t, address("image", home(name))).want(t, http.StatusBadRequest)
	}
}

// TestManyChunks: a file whose chunks cannot all be found within the bounds shows its first records, and any with an index beside it.
func TestManyChunks(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	content := records(t, 300, recordio.WriterOptions{ChunkBytes: 10}, func(i int) string { return fmt.Sprint("record ", i) })
	alice := s.tree(t, gatewaytest.Alice)
	pfstest.WriteFile(t, alice, home("many"), content)
	show := func(left int64) *preview {
		t.Helper()
		v := &visit{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?record=290", nil), session: s.Session(t, gatewaytest.Alice, "web")}
		r, err := v.reading(home("many"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		r.left.Store(left)
		p, err := r.records(v)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := show(100); p.Records.Total != -1 || len(p.Records.Records) != recordsShown || p.Problem != "" || !strings.Contains(p.Note, "index") {
		t.Errorf("without an index: %+v", p)
	}
	x, err := recordio.BuildIndex(bytes.NewReader(content), recordio.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if err := recordio.WriteIndex(&index, x); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, alice, home(recordio.IndexName("many")), index.Bytes())
	if p := show(previewBytes); p.Records.First != 290 || p.Records.Total != 300 || p.Records.Records[9].Text != "record 299" || strings.Contains(fmt.Sprint(p.Facts), "msgpack") || !strings.Contains(fmt.Sprint(p.Facts), "{Index yes}") {
		t.Errorf("with an index: %+v", p)
	}
	for _, bad := range [][]byte{index.Bytes()[:index.Len()/2], []byte("x"), nil} {
		pfstest.WriteFile(t, alice, home(recordio.IndexName("many")), bad)
		if p := show(previewBytes); p.Records.First != 290 || strings.Contains(fmt.Sprint(p.Facts), "Index") {
			t.Errorf("with a damaged index: %+v", p)
		}
	}
	pfstest.WriteFile(t, alice, home(recordio.IndexName("many")), index.Bytes())
	pfstest.WriteFile(t, alice, home("many"), append(content, content...))
	if p := show(previewBytes); p.Records.Total != 600 {
		t.Errorf("with an index of another file: %+v", p)
	}
}

// chunk returns a RecordIO chunk with any payload.
func chunk(compressor, records uint32, payload []byte) []byte {
	var b []byte
	for _, v := range []uint32{0x01020304, crc32.ChecksumIEEE(payload), compressor, uint32(len(payload)), records} {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return append(b, payload...)
}

func TestHostilePreviews(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.login(t, gatewaytest.Alice)
	var bomb bytes.Buffer // expands to 200 MiB
	w := snappy.NewBufferedWriter(&bomb)
	zeros := make([]byte, 1<<20)
	n := 200
	if testing.Short() {
		n = 60
	}
	for range n {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	msgpack := append(bytes.Repeat([]byte{0x91}, 100000), 0xc0)
	large := append(picture(1<<16, 1<<16), make([]byte, 100)...)
	for name, content := range map[string][]byte{
		"deep.json":       []byte(strings.Repeat("[", 100000)),
		"deep valid.json": []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
		"wide.json":       []byte("[" + strings.Repeat("1,", 100000) + "1]"),
		"wide.csv":        []byte(strings.Repeat("a,", 30000) + "\n" + strings.Repeat("1,", 1000)),
		"quote.csv":       []byte("\"" + strings.Repeat("x\n", 30000)),
		"bomb":            chunk(1, 1, bomb.Bytes()),
		"lying snappy":    chunk(1, 1, []byte("\xff\x06\x00\x00sNaPpY\x00\xff\xff\xff\xff\xff\xff\xff\xff\x0f")),
		"not snappy":      chunk(1, 1<<31, []byte("xxxxxxxxxxxxxxxxxxxxxx")),
		"lying lengths":   chunk(0, 1<<31, bytes.Repeat([]byte{0xff}, 100)),
		"lying size":      append(chunk(0, 1, nil)[:12], 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0),
		"only a header":   chunk(0, 1<<31, nil),
		"headers":         bytes.Repeat(chunk(0, 0, nil), 50000),
		"magic":           {4, 3, 2, 1},
		"deep msgpack":    records(t, 1, recordio.WriterOptions{}, func(int) string { return string(msgpack) }),
		"large.png":       large,
		"\u202egnp.exe":   []byte("x"),
		"<img src=x>":     []byte("<img src=x onerror=alert(1)>"),
	} {
		t.Run(name, func(t *testing.T) {
			preview := s.previewed(t, name, content, "")
			if strings.Contains(preview, "<img src=x") || strings.Contains(preview, "<script") {
				t.Errorf("%.2000s", preview)
			}
		})
	}
	s.get(t, address("image", home("large.png"))).want(t, http.StatusBadRequest)
}

// picture returns the beginning of a PNG that claims a size.
func picture(width, height uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	be := func(v uint32) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }
	head := append([]byte("IHDR"), append(append(be(width), be(height)...), 8, 0, 0, 0, 0)...)
	b = append(b, be(13)...)
	b = append(b, head...)
	return append(b, be(crc32.ChecksumIEEE(head))...)
}

func FuzzPreview(f *testing.F) {
	f.Add([]byte(`{"a": [1]}`), uint8(0))
	f.Add([]byte("a,b\n1,2\n"), uint8(1))
	f.Add(chunk(0, 1, []byte{1, 0, 0, 0, 'x'}), uint8(2))
	f.Fuzz(func(t *testing.T, p []byte, kind uint8) {
		if kind%2 == 0 {
			out, err := indented(p)
			if err == nil && (len(out) > 4*maxJSONShown+len(p) || !json.Valid(out)) {
				t.Errorf("%d bytes become %d", len(p), len(out))
			}
			return
		}
		if at := notText(p); at > len(p) || strings.ContainsRune(visible(p), 0) {
			t.Errorf("%q", p)
		}
	})
}

// TestImageIsATransfer checks that images, which are files in transit, wait when the user has too many of these.
func TestImageIsATransfer(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Alice), home("picture"), picture.Bytes())
	s.login(t, gatewaytest.Alice)
	session := s.Session(t, gatewaytest.Alice, "test")
	var ends []func()
	for range 64 {
		end, err := session.Transfer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	time.AfterFunc(300*time.Millisecond, ends[0])
	began := time.Now()
	s.get(t, address("image", home("picture"))).want(t, http.StatusOK)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the image came after %v, before a place was free", took)
	}
	for _, end := range ends[1:] {
		end()
	}
}
