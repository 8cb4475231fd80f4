package convert

import (
	"bytes"
	"unicode/utf8"
)

// findFormat returns the format of a name.
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

// Sniff finds the format of an input by its first bytes (SniffLen of them, or all)
// and its name, both without a compression: first by content that can be nothing
// else, then by the ending of the name, then by the looks of JSON and of text. It
// answers ErrUnsupported for what none of this fits, and for what may be two things.
func Sniff(head []byte, name string) (*Format, error) {
	for i := range Formats {
		if f := &Formats[i]; f.Sniff != nil && f.Sniff(head) {
			return f, nil
		}
	}
	for i := range Formats {
		for _, ext := range Formats[i].Extensions {
			if _, ok := cutExtension(name, ext); ok {
				return &Formats[i], nil
			}
		}
	}
	switch {
	case looksLikeJSON(head):
		return findFormat(jsonlFormat.Name)
	case looksLikeArray(head):
		return nil, faultf(ErrUnsupported, "it begins as an array of JSON does: name the format jsonl if each line is a value; jq -c '.[]' makes lines of an array")
	case looksLikeTable(head):
		return nil, faultf(ErrUnsupported, "it may be a table or lines of text: name the format, csv, tsv or text")
	case looksLikeText(head):
		return findFormat(textFormat.Name)
	}
	return nil, faultf(ErrUnsupported, "neither its content nor its name tell the format: name it")
}

// looksLikeJSON reports whether the first line begins as an object does.
func looksLikeJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t")
	if len(head) == 0 || head[0] != '{' {
		return false
	}
	head = bytes.TrimLeft(head[1:], " \t")
	return len(head) > 0 && (head[0] == '"' || head[0] == '}')
}

// looksLikeArray reports whether an array begins, which may go on over many lines.
func looksLikeArray(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '[' {
		return false
	}
	head = bytes.TrimLeft(head[1:], " \t\r\n")
	return len(head) > 0 && bytes.IndexByte([]byte("{[]\"-0123456789tfn"), head[0]) >= 0
}

// looksLikeTable reports whether the first lines have as many commas as each other, or
// tabs. The last line may be cut off.
func looksLikeTable(head []byte) bool {
	lines := bytes.Split(bytes.TrimSuffix(head, newline), newline)
	if len(head) >= SniffLen && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	for _, comma := range []string{",", "\t", ";"} {
		n, same := bytes.Count(lines[0], []byte(comma)), true
		for _, line := range lines[1:] {
			same = same && bytes.Count(line, []byte(comma)) == n
		}
		if n > 0 && same {
			return true
		}
	}
	return false
}

// looksLikeText reports whether head is UTF-8 without control characters. The last
// character may be cut off.
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
