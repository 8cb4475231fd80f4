package convert

import (
	"slices"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

func TestCharsets(t *testing.T) {
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("a,é\n1,北京\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		charset, name, data string
		want                []string
		err                 string
	}{
		{"latin1", "a.csv", "a,\xe9\n1,\xfc\n", []string{`{"a":1,"é":"ü"}`}, ""},
		{"windows-1252", "a.csv", "a\n\x80\n", []string{`{"a":"€"}`}, ""},
		{"gbk", "a.jsonl", "{\"a\":\"\xb1\xb1\xbe\xa9\"}\n", []string{`{"a":"北京"}`}, ""},
		{"gbk", "a.txt.gz", string(gzipped(t, []byte("\xb1\xb1\xbe\xa9\n"))), []string{`"北京"`}, ""},
		{"utf-16", "a.csv", wide, []string{`{"a":1,"é":"北京"}`}, ""},
		{"utf-16le", "a.csv", "a\x00,\x00b\x00\n\x001\x00,\x00x\x00\n\x00", []string{`{"a":1,"b":"x"}`}, ""},
		{"utf-16be", "a.csv", "\x00a\x00,\x00b\x00\n\x001\x00,\x00x\x00\n", []string{`{"a":1,"b":"x"}`}, ""},
		{"", "a.csv", "\x00a\x00,\x00b\x00\n\x001\x00,\x00x\x00\n", nil, "a.csv: the text has a NUL in every second byte, as UTF-16 has: name its encoding, such as utf-16be"},
		{"", "a.csv", "a\x00,\x00b\x00\n\x001\x00,\x00x\x00\n\x00", nil, "a.csv: the text has a NUL in every second byte, as UTF-16 has: name its encoding, such as utf-16le"},
		{"utf-8", "a.csv", "a\x00,\x00b\x00\n\x001\x00,\x00x\x00\n", []string{`{"a\u0000":"\u00001\u0000","\u0000b\u0000":"\u0000x\u0000"}`}, ""},
		{"utf-8", "a.txt", "é\ufffd\n", []string{"\"é\ufffd\""}, ""},
		{"gbk", "a.txt", "x\ny\xff\n", []string{`"x"`}, "a.txt, line 2, offset 2: not of the encoding that was named, at position 2 of \"y�\""},
		{"windows-1252", "a.csv", "a,\x81\n1,2\n", nil, "a.csv: the header: column 2 is not of the encoding that was named, at position 1 of \"�\""},
		{"latin1", "a.npy", "\x93NUMPY", nil, "a.npy: npy is not text: it has no encoding such as latin1"},
		{"klingon", "a.txt", "x", nil, `encoding of text "klingon": there are utf-8, utf-16, utf-16le, utf-16be, latin1, latin9, windows-1250, windows-1251, windows-1252, koi8-r, gb18030, gbk, big5, shift-jis, euc-jp, euc-kr`},
	} {
		got, err := asJSON(t, Options{Charset: c.charset}, c.name, c.data)
		if msg := messageOf(err); msg != c.err || !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: got %q, %s\nwant %q, %s", c.name, c.charset, got, msg, c.want, c.err)
		}
	}
	if _, _, err := payloads(t, Options{Charset: "gbk", Encoding: "raw"}, memorySource("a.txt", []byte("y\xff\n"))); err == nil {
		t.Error("raw: what is not of the encoding was taken")
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
