package jobfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Left is a field that a translation leaves out.
type Left struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Field  string `json:"field"`
	Text   string `json:"text"`

	format Format
}

// Place returns FILE:LINE:COLUMN.
func (l Left) Place() string {
	if l.Line == 0 {
		return l.File
	}
	return fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Column)
}

func (l Left) String() string { return fmt.Sprintf("%s: %s: %s", l.Place(), l.Field, l.Text) }

// left returns what there is to say about a field of the document.
func (d *document) left(field, format string, args ...any) Left {
	at := d.at(field)
	return Left{d.file.Name, at.Line, at.Column, field, fmt.Sprintf(format, args...), d.format}
}

// take returns a value and clears it, since it is carried.
func take[T any](p *T) T {
	v := *p
	*p = *new(T)
	return v
}

// clone returns a deep copy.
func clone[T any](v *T) *T {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types hold what JSON can
	}
	c := new(T)
	if err := json.Unmarshal(text, c); err != nil {
		panic(err)
	}
	return c
}

// remaining returns the fields of rest that are set, as far up as nothing of them was taken from all.
func remaining(all, rest any) []string {
	var fields []string
	differ(treeOf(all), treeOf(rest), "", &fields)
	return fields
}

func differ(all, rest any, field string, fields *[]string) {
	if isEmpty(rest) {
		return
	}
	if field != "" && reflect.DeepEqual(all, rest) {
		*fields = append(*fields, field)
		return
	}
	switch rest := rest.(type) {
	case map[string]any:
		of, _ := all.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(rest)) {
			differ(of[key], rest[key], child(field, key), fields)
		}
	case []any:
		of, _ := all.([]any)
		for i := range rest {
			var was any
			if i < len(of) {
				was = of[i]
			}
			differ(was, rest[i], fmt.Sprintf("%s[%d]", field, i), fields)
		}
	default:
		*fields = append(*fields, field)
	}
}

func treeOf(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	return tree
}

// isEmpty reports whether a tree has no value. 0, false and an empty list are values: the types omit them where they are not given.
func isEmpty(tree any) bool {
	switch v := tree.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for key, e := range v {
			if !isEmpty(e) || key == "emptyDir" {
				return false
			}
		}
		return true
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { return !isEmpty(e) })
	}
	return false
}

// source returns the field of the file that the field of a Job comes from.
func (j *Job) source(field string) string {
	for prefix := field; prefix != ""; prefix = parent(prefix) {
		if at, ok := j.origins[prefix]; ok {
			return at + strings.TrimPrefix(field, prefix)
		}
	}
	return field
}
