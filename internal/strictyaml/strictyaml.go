// Package strictyaml parses configuration files: an unknown key is an error that states the file,
// the line and the key probably meant.
package strictyaml

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/paddlecloud/pfs/pfs"
	"go.yaml.in/yaml/v3"
)

// File is the name of a file, for messages.
type File string

// Error is an error in a file, or something missing from it.
type Error struct {
	File string
	Line int // 0 if it concerns the whole file
	Text string
	Kind pfs.Kind // Invalid or NotExist
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Unwrap makes pfs.KindOf return Kind, which Text already expresses.
func (e *Error) Unwrap() error { return e.Kind }

// Errorf returns an Error of Kind Invalid.
func (f File) Errorf(line int, format string, args ...any) error {
	return &Error{File: string(f), Line: line, Text: fmt.Sprintf(format, args...), Kind: pfs.Invalid}
}

// Parse returns the single YAML document of a file, a mapping at its top; nil if the file is empty.
// layout describes the valid keys.
func (f File) Parse(data []byte, layout string) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var root, second yaml.Node
	if err := dec.Decode(&root); err == io.EOF {
		return nil, nil
	} else if err != nil {
		line, text := Syntax(data, err)
		return nil, f.Errorf(line, "%s", text)
	}
	if err := dec.Decode(&second); err != io.EOF {
		return nil, f.Errorf(second.Line, "a second YAML document: only one is read")
	}
	top := root.Content[0]
	if IsNull(top) {
		return nil, nil // only comments
	}
	if top.Kind != yaml.MappingNode {
		return nil, f.Errorf(top.Line, "%s where %s belong", KindName(top), layout)
	}
	return &root, nil
}

// Syntax returns the line of an error of the YAML package, and its text in the terms of a user.
func Syntax(data []byte, err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, reason, ok := strings.Cut(rest, ": "); ok {
			if _, err := strconv.Atoi(number); err == nil {
				text = reason
			}
		}
	}
	n := lineOf(data, err)
	bad := bytes.Split(data, []byte("\n"))[max(0, n-1)]
	indent := bad[:len(bad)-len(bytes.TrimLeft(bad, " \t"))]
	switch {
	case bytes.ContainsRune(indent, '\t'):
		text = "a tab indents this line: YAML allows only spaces there"
	case text == "could not find expected ':'":
		text = "a key and its value are needed, with a colon and a space between them"
	}
	return n, text
}

// lineOf returns the line of a YAML error. The package itself states where the enclosing value
// began, which may be far above; the true line is the last one of the shortest prefix of the file
// with the error.
func lineOf(data []byte, err error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	return sort.Search(len(lines), func(n int) bool {
		got := yaml.Unmarshal(bytes.Join(lines[:n], nil), new(yaml.Node))
		return got != nil && got.Error() == err.Error()
	})
}

// EachPair calls fn for the pairs of the mapping m. Its keys must be unique and, unless known is
// nil, in known. The error lists all problems.
func (f File) EachPair(m *yaml.Node, known []string, fn func(key string, value *yaml.Node) error) error {
	seen := map[string]int{}
	var wrong several
	for i := 0; i+1 < len(m.Content); i += 2 {
		if err := f.pair(m.Content[i], m.Content[i+1], seen, known, fn); err != nil {
			wrong = append(wrong, err)
		}
	}
	switch len(wrong) {
	case 0:
		return nil
	case 1:
		return wrong[0]
	}
	return wrong
}

// EachPairOf is EachPair for the value m of what, which may not be a mapping: then belongs says what
// belongs there.
func (f File) EachPairOf(what string, m *yaml.Node, belongs string, known []string, fn func(key string, value *yaml.Node) error) error {
	if m.Kind != yaml.MappingNode {
		return f.Errorf(m.Line, "%s: %s where %s", what, KindName(m), belongs)
	}
	return f.EachPair(m, known, fn)
}

// pair checks the key k and calls fn for it.
func (f File) pair(k, v *yaml.Node, seen map[string]int, known []string, fn func(key string, value *yaml.Node) error) error {
	if k.Kind != yaml.ScalarNode {
		return f.Errorf(k.Line, "%s where a key belongs", KindName(k))
	}
	if line, twice := seen[k.Value]; twice {
		return f.Errorf(k.Line, "%q again, it is on line %d already", k.Value, line)
	}
	seen[k.Value] = k.Line
	if known != nil && !slices.Contains(known, k.Value) {
		return f.unknown(k, known)
	}
	return fn(k.Value, v)
}

// several holds all errors of one mapping. A program may report them one by one.
type several []error

func (s several) Error() string {
	texts := make([]string, len(s))
	for i, err := range s {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (s several) Unwrap() []error { return s }

func (f File) unknown(k *yaml.Node, known []string) error {
	if near := nearest.Word(k.Value, known); near != "" {
		return f.Errorf(k.Line, "unknown key %q: did you mean %q?", k.Value, near)
	}
	return f.Errorf(k.Line, "unknown key %q: the keys here are %s", k.Value, strings.Join(known, ", "))
}

// Text returns the text of a single value as written, so that a password of digits stays unchanged.
func (f File) Text(key string, v *yaml.Node) (string, error) {
	switch {
	case v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle != 0:
		return "", f.Errorf(v.Line, "%s: a text is needed, and square brackets make a list: leave them out, or put quotes around", key)
	case v.Kind != yaml.ScalarNode:
		return "", f.Errorf(v.Line, "%s: a text is needed, not %s", key, KindName(v))
	case IsNull(v):
		return "", nil
	}
	return v.Value, nil
}

// Flag parses true or false.
func (f File) Flag(key string, v *yaml.Node) (on bool, err error) {
	if v.Kind != yaml.ScalarNode || v.Decode(&on) != nil {
		return false, f.Errorf(v.Line, "%s: true or false is needed", key)
	}
	return on, nil
}

// IsNull reports whether n is an empty value.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// KindName describes n in messages.
func KindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "a single value"
}
