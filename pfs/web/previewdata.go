package web

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
)

const (
	maxJSONDepth    = 64
	maxJSONShown    = 1 << 20 // with the indentation
	maxManifest     = 4 << 20
	maxManifestRows = 200
)

// table shows the first rows of a file of comma-separated values.
func (r *reading) table(p []byte, comma rune) (*preview, error) {
	whole := int64(len(p)) == r.info.Size
	if !whole {
		p = p[:bytes.LastIndexByte(p, '\n')+1] // the last line may be cut
	}
	if len(p) == 0 || notText(p) >= 0 {
		p, err := r.head(previewText)
		if err != nil {
			return nil, err
		}
		return r.text(p), nil
	}
	shown := &preview{Heading: "Table"}
	in := csv.NewReader(bytes.NewReader(p))
	in.Comma, in.FieldsPerRecord, in.LazyQuotes = comma, -1, false
	for len(shown.Rows) < previewLines {
		fields, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			var wrong *csv.ParseError
			if errors.As(err, &wrong) {
				shown.Problem = fmt.Sprintf("Line %d, column %d: %v.", wrong.Line, wrong.Column, wrong.Err)
			} else {
				shown.Problem = err.Error()
			}
			break
		}
		line, _ := in.FieldPos(0)
		row := make([]cell, 0, min(len(fields), previewLines))
		for _, f := range fields[:min(len(fields), previewLines)] {
			row = append(row, cell{Text: short(visible([]byte(f)), previewCell)})
		}
		if shown.Columns == nil {
			for _, c := range row {
				shown.Columns = append(shown.Columns, c.Text)
			}
			continue
		}
		if len(fields) != len(shown.Columns) && len(shown.Columns) < previewLines && shown.Problem == "" {
			shown.Problem = fmt.Sprintf("Line %d has %d fields, and the first line %d.", line, len(fields), len(shown.Columns))
		}
		shown.Rows = append(shown.Rows, row)
	}
	shown.Note = fmt.Sprintf("The first %d rows.", len(shown.Rows))
	if whole && in.InputOffset() == r.info.Size {
		shown.Note = ""
	}
	return shown, nil
}

// json shows a JSON file, indented.
func (r *reading) json() (*preview, error) {
	p, err := r.head(previewJSON)
	if err != nil {
		return nil, err
	}
	if int64(len(p)) < r.info.Size {
		return r.text(p[:min(len(p), previewText)]), nil
	}
	shown, err := indented(p)
	var wrong *json.SyntaxError
	switch {
	case err == nil:
		return &preview{Heading: "JSON", Text: visible(shown)}, nil
	case errors.As(err, &wrong):
		at := min(max(0, wrong.Offset-1), int64(len(p)))
		q := r.text(p[:min(len(p), previewText)])
		q.Heading, q.Problem = "JSON", fmt.Sprintf("Line %d (byte %d): %v.", bytes.Count(p[:at], []byte("\n"))+1, at, wrong)
		return q, nil
	}
	q := r.text(p[:min(len(p), previewText)])
	q.Note = "It is nested deeply, and so shown as it is."
	return q, nil
}

// errNotIndented is the error of a JSON text that is shown as it is, because indented it would be too large.
var errNotIndented = errors.New("nested too deeply")

// indented returns JSON with each value on a line of its own.
func indented(p []byte) ([]byte, error) {
	if !json.Valid(p) {
		var v struct{}
		err := json.Unmarshal(p, &v)
		if wrong := new(json.SyntaxError); !errors.As(err, &wrong) {
			err = errNotIndented
		}
		return nil, err
	}
	depth, text := 0, false
	lines := 0 // of indentation
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			depth++
			lines += 2 * depth
		case c == '}', c == ']':
			depth--
			lines += 2 * depth
		case c == ',':
			lines += 2 * depth
		}
		if depth > maxJSONDepth || lines > maxJSONShown {
			return nil, errNotIndented
		}
	}
	var out bytes.Buffer
	if err := json.Indent(&out, p, "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// manifest shows the manifest of a dataset.
func (r *reading) manifest() (*preview, error) {
	p, err := r.head(maxManifest + 1)
	if err != nil {
		return nil, err
	}
	if len(p) > maxManifest {
		q := r.text(p[:previewText])
		q.Note = fmt.Sprintf("The manifest is longer than %s. %s", size(maxManifest), q.Note)
		return q, nil
	}
	m, err := manifest.Decode(p)
	if err != nil {
		q := r.text(p[:min(len(p), previewText)])
		q.Heading, q.Problem = "Manifest of a dataset", "This manifest is not valid: "+visible([]byte(err.Error()))
		return q, nil
	}
	q := &preview{Heading: "Dataset", Columns: []string{"Shard", "Records", "Size", "Digest"}}
	q.Facts = []fact{
		{"Name", visible([]byte(m.Name))}, {"Records", grouped(m.Records)}, {"Size", size(m.Bytes)}, {"Shards", grouped(int64(len(m.Shards)))},
		{"Payload", visible([]byte(m.Payload))}, {"Made of", visible([]byte(m.Source))},
	}
	if len(m.Classes) > 0 {
		q.Facts = append(q.Facts, fact{"Classes", strconv.Itoa(len(m.Classes))})
	}
	if m.Bad > 0 {
		q.Facts = append(q.Facts, fact{"Left out", grouped(m.Bad) + " malformed records"})
	}
	for i, c := range m.Columns[:min(len(m.Columns), previewLines)] {
		name := short(visible([]byte(c.Name)), previewCell)
		if c.Label > 0 {
			name += " (label)"
		}
		q.Facts = append(q.Facts, fact{fmt.Sprintf("Column %d", i+1), name + ": " + short(visible([]byte(c.Type)), previewCell)})
	}
	for _, s := range m.Shards[:min(len(m.Shards), maxManifestRows)] {
		q.Rows = append(q.Rows, []cell{
			{Text: visible([]byte(s.Name)), Path: r.name.Parent().Join(s.Name)}, {Text: grouped(s.Records)}, {Text: size(s.Bytes)}, {Text: s.Digest},
		})
	}
	if len(q.Rows) < len(m.Shards) {
		q.Note = fmt.Sprintf("The first %d of %s shards.", len(q.Rows), grouped(int64(len(m.Shards))))
	}
	return q, nil
}
