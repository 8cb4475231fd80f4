package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// findFormat returns the format with the given name.
func findFormat(name string) (*Format, error) {
	names := make([]string, len(Formats))
	for i := range Formats {
		if Formats[i].Name == name {
			return &Formats[i], nil
		}
		names[i] = Formats[i].Name
	}
	return nil, unknown("format", name, names)
}

// FormatOfName returns the format implied by the extension of name, ignoring the extension of a
// compression; nil if there is none.
func FormatOfName(name string) *Format {
	for _, z := range compressions {
		name = trimCompression(name, z)
	}
	return formatOfEnding(name)
}

// formatOfEnding is FormatOfName for a name without the extension of a compression. A few whole
// names imply a format, too.
func formatOfEnding(name string) *Format {
	base := strings.ToLower(path.Base(name))
	for i := range Formats {
		if slices.Contains(Formats[i].Names, base) {
			return &Formats[i]
		}
		for _, ext := range Formats[i].Extensions {
			if _, ok := cutExtension(name, ext); ok {
				return &Formats[i]
			}
		}
	}
	return nil
}

// Sniff detects the format of an input from its first bytes (SniffLen of them, or all) and its
// name, both without a compression: first by unambiguous content, then by the extension, then by
// the appearance of JSON and of text. It returns ErrFormat if nothing matches or the result is
// ambiguous.
func Sniff(head []byte, name string) (*Format, error) {
	for i := range Formats {
		if f := &Formats[i]; f.Sniff != nil && f.Sniff(head) {
			return f, nil
		}
	}
	if text := elsewhere(head); text != "" {
		return nil, faultf(ErrFormat, "%s", text)
	}
	if f := formatOfEnding(name); f != nil {
		return f, nil
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x04\x03\x02\x01")):
		return nil, faultf(ErrFormat, "it is RecordIO already: name the format recordio")
	case isWorkbook(head):
		return nil, faultf(ErrFormat, "it is a workbook or document of an office program: save each sheet as CSV")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, faultf(ErrFormat, "it is a zip archive: unpack it, or name the format npz if numpy wrote it")
	case looksLikeJSON(head):
		return findFormat(jsonlFormat.Name)
	case looksLikeObject(head):
		return nil, faultf(ErrFormat, "it begins as an object of JSON over many lines: jq -c . makes one line of it, and jq -c '.images[]' a line of each item of a list inside")
	case looksLikeArray(head):
		return nil, faultf(ErrFormat, "it begins as an array of JSON does: name the format jsonl if each line is a value; jq -c '.[]' makes lines of an array")
	case looksLikeLIBSVM(head):
		return findFormat(libsvmFormat.Name)
	case looksLikeTable(head):
		return nil, faultf(ErrFormat, "it may be a table or lines of text: name the format, csv, tsv or text")
	case looksLikeNumbers(head):
		return nil, faultf(ErrFormat, "it may be a table with blanks between its columns, or lines of text: name the format csv and the delimiter space, or the format text")
	case looksLikeText(head):
		return findFormat(textFormat.Name)
	}
	for _, z := range compressions {
		if z.is(head) {
			return nil, faultf(ErrFormat, "it is compressed twice, inside with %s: decompress it first", z.name)
		}
	}
	if looksLikeCIFAR(head) {
		return nil, faultf(ErrFormat, "it may be images of CIFAR: name the format cifar10 or cifar100")
	}
	return nil, faultf(ErrFormat, "neither its content nor its name tells the format: name it")
}

// elsewhere recognizes formats that only Python reads, and returns the program that converts a file.
func elsewhere(head []byte) string {
	const savez = "numpy.savez('x.npz', **%s)"
	text := func(what, program string) string { return "it is " + what + "; convert it with Python: " + program }
	switch {
	case bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")):
		return text("HDF5", "import h5py, numpy; f = h5py.File('x.h5'); "+fmt.Sprintf(savez, "{k: f[k][:] for k in f}"))
	case isTorch(head):
		return text("a file of PyTorch", "import numpy, torch; t = torch.load('x.pt', weights_only=True); "+fmt.Sprintf(savez, "{k: v.numpy() for k, v in t.items()}"))
	case isSafetensors(head):
		return text("safetensors", "import numpy; from safetensors.numpy import load_file; "+fmt.Sprintf(savez, "load_file('x.safetensors')"))
	case bytes.HasPrefix(head, []byte("FEA1")):
		return text("Feather of version 1", "import pyarrow.feather as f; f.write_feather(f.read_table('x.feather'), 'y.feather')")
	}
	return ""
}

// isTorch recognizes what torch.save writes: a zip archive whose first file is NAME/data.pkl.
func isTorch(head []byte) bool {
	const sizeAt, nameAt = 26, 30
	if !bytes.HasPrefix(head, []byte("PK\x03\x04")) || len(head) < nameAt {
		return false
	}
	name := head[nameAt:][:min(int(binary.LittleEndian.Uint16(head[sizeAt:])), len(head)-nameAt)]
	return bytes.HasSuffix(name, []byte("/data.pkl"))
}

// isSafetensors recognizes the length of a header and a header, which is an object of JSON.
func isSafetensors(head []byte) bool {
	const lengthSize = 8
	return len(head) > lengthSize+2 && binary.LittleEndian.Uint64(head) < 100<<20 && bytes.HasPrefix(head[lengthSize:], []byte(`{"`))
}

// isWorkbook recognizes Excel files, old and new, and OpenDocument files.
func isWorkbook(head []byte) bool {
	const nameAt = 30 // offset of the first file name in a zip archive
	if !bytes.HasPrefix(head, []byte("PK\x03\x04")) || len(head) < nameAt {
		return bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
	}
	for _, name := range []string{"[Content_Types].xml", "_rels/", "docProps/", "xl/", "mimetypeapplication/vnd.oasis"} {
		if bytes.HasPrefix(head[nameAt:], []byte(name)) {
			return true
		}
	}
	return false
}

// looksLikeJSON reports whether the first line begins like an object, and does not end where an
// object must continue.
func looksLikeJSON(head []byte) bool {
	line, _, whole := bytes.Cut(head, newline)
	line = bytes.Trim(line, " \t\r")
	if len(line) == 0 || line[0] != '{' || whole && openEnd(line) {
		return false
	}
	line = bytes.TrimLeft(line[1:], " \t")
	return len(line) > 0 && (line[0] == '"' || line[0] == '}')
}

// openEnd reports whether a JSON value must continue after line.
func openEnd(line []byte) bool { return bytes.IndexByte([]byte("{[,:"), line[len(line)-1]) >= 0 }

// looksLikeObject reports whether head begins an object, which may have many lines.
func looksLikeObject(head []byte) bool { return beginsWith(head, '{', "\"") }

// looksLikeArray reports whether head begins an array, which may have many lines.
func looksLikeArray(head []byte) bool { return beginsWith(head, '[', "{[\"-0123456789tfn") }

// beginsWith reports whether the first two characters of head, without white space, are first and
// one of second.
func beginsWith(head []byte, first byte, second string) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != first {
		return false
	}
	head = bytes.TrimLeft(head[1:], " \t\r\n")
	return len(head) > 0 && strings.IndexByte(second, head[0]) >= 0
}

// looksLikeText reports whether head is UTF-8 without control characters. The last character may be
// incomplete.
func looksLikeText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' {
			return false
		}
		head = head[n:]
	}
	return true
}
