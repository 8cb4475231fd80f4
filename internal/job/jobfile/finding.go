package jobfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Severity is the severity of a Finding.
type Severity string

// A file with an Error does not run, or not as written. A Warning is legal, but probably not intended.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one mistake in a job file. As an error it is of Kind pfs.Invalid.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"`   // from 1; 0 for the whole file
	Column   int      `json:"column"` // from 1, in characters
	Field    string   `json:"field,omitempty"`
	Text     string   `json:"text"`          // what is wrong, and why
	Fix      string   `json:"fix,omitempty"` // what would be right
	edit     *edit
}

func (f *Finding) Error() string { return fmt.Sprintf("%s: %s", f.Place(), f.Text) }

// Unwrap makes pfs.KindOf return Invalid.
func (f *Finding) Unwrap() error { return pfs.Invalid }

// Place returns FILE:LINE:COLUMN.
func (f *Finding) Place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Fixable reports whether File.Fix corrects the mistake.
func (f *Finding) Fixable() bool { return f.edit != nil }

// edit replaces old, which is at the place of a finding, by text.
type edit struct {
	line, column int
	old, text    string
}

// Fix returns the text of the file with all corrections, and how many there are.
func (f *File) Fix(findings []Finding) (fixed []byte, n int) {
	lines := strings.SplitAfter(string(f.text), "\n")
	var edits []*edit
	for _, found := range findings {
		if found.File == f.Name && found.edit != nil {
			edits = append(edits, found.edit)
		}
	}
	slices.SortStableFunc(edits, func(a, b *edit) int { // from the end, so that places stay valid
		return cmp.Or(b.line-a.line, b.column-a.column)
	})
	for i, e := range edits {
		if i > 0 && e.line == edits[i-1].line && e.column == edits[i-1].column {
			continue // another finding at the same place was corrected
		}
		if at, ok := e.find(lines); ok {
			line := lines[e.line-1]
			lines[e.line-1] = line[:at] + e.text + line[at+len(e.old):]
			n++
		}
	}
	return []byte(strings.Join(lines, "")), n
}

// find returns the byte of its line at which e applies.
func (e *edit) find(lines []string) (at int, ok bool) {
	if e.line < 1 || e.line > len(lines) {
		return 0, false
	}
	line, column := lines[e.line-1], 1
	for at = range line + " " {
		if column == e.column {
			return at, strings.HasPrefix(line[at:], e.old)
		}
		column++
	}
	return 0, false
}

// sortFindings brings findings into the order of their places.
func sortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text))
	})
}
