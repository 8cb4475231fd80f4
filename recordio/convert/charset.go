package convert

import (
	"bufio"
	"slices"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// charset is an encoding of text.
type charset struct {
	name string
	code encoding.Encoding // nil for UTF-8, which needs no conversion
}

const utf8Name = "utf-8"

var charsets = []charset{
	{utf8Name, nil},
	{"utf-16", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
	{"utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{"utf-16be", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{"latin1", charmap.ISO8859_1},
	{"latin9", charmap.ISO8859_15},
	{"windows-1250", charmap.Windows1250},
	{"windows-1251", charmap.Windows1251},
	{"windows-1252", charmap.Windows1252},
	{"koi8-r", charmap.KOI8R},
	{"gb18030", simplifiedchinese.GB18030},
	{"gbk", simplifiedchinese.GBK},
	{"big5", traditionalchinese.Big5},
	{"shift-jis", japanese.ShiftJIS},
	{"euc-jp", japanese.EUCJP},
	{"euc-kr", korean.EUCKR},
}

// Charsets lists the valid values of Options.Charset.
func Charsets() []string {
	names := make([]string, len(charsets))
	for i, c := range charsets {
		names[i] = c.name
	}
	return names
}

// findCharset returns the encoding with the given name; nil for UTF-8 and for "".
func findCharset(name string) (encoding.Encoding, error) {
	i := slices.IndexFunc(charsets, func(c charset) bool { return c.name == name })
	if i < 0 && name != "" {
		return nil, unknown("encoding of text", name, Charsets())
	}
	if i < 0 {
		return nil, nil
	}
	return charsets[i].code, nil
}

// recode converts o to UTF-8. Invalid bytes become U+FFFD, which makes their record bad.
func (o *opened) recode(code encoding.Encoding) (err error) {
	o.ReaderAt, o.Size = nil, -1
	b := bufio.NewReaderSize(transform.NewReader(o.Reader, code.NewDecoder()), 64<<10)
	o.head, err = peek(b)
	o.Reader = b
	return err
}
