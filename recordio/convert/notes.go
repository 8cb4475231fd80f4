package convert

import (
	"fmt"
	"slices"
)

// MaxNotes bounds Stats.Notes.
const MaxNotes = 32

// Note is what the records of some inputs do not show, such as a type that the payload
// does not have.
type Note struct {
	Input  string // the first one
	Inputs int64  // how many there are; 0 if that is not known
	Text   string
}

// String names the inputs in front of the text.
func (n Note) String() string {
	if n.Inputs == 0 {
		return n.Text
	}
	if n.Inputs > 1 {
		return fmt.Sprintf("%s, and %d more: %s", n.Input, n.Inputs-1, n.Text)
	}
	return n.Input + ": " + n.Text
}

// note takes what was told of an input.
func (s *Stats) note(input string, texts []string) {
	for _, text := range texts {
		i := slices.IndexFunc(s.Notes, func(n Note) bool { return n.Text == text })
		switch {
		case i >= 0:
			s.Notes[i].Inputs++
		case len(s.Notes) < MaxNotes:
			s.Notes = append(s.Notes, Note{Input: input, Inputs: 1, Text: text})
		default:
			s.Unnoted++
		}
	}
}

// notes collects the notes of one input, each once.
type notes struct {
	told  map[string]bool
	fresh []string // that take did not return yet
}

func (n *notes) add(text string) {
	if n.told[text] || len(n.told) > MaxNotes {
		return
	}
	if n.told == nil {
		n.told = map[string]bool{}
	}
	n.told[text] = true
	n.fresh = append(n.fresh, text)
}

// take returns what was added since the last call.
func (n *notes) take() []string {
	fresh := n.fresh
	n.fresh = nil
	return fresh
}

// noting is a Decoder that has notes of its own.
type noting interface{ notes() *notes }

// noter is an Encoder of this package: all embed nesting.
type noter interface {
	noteTo(*notes)
	note(what string)
}

// Losses makes enc note what its payload does not show of its values. It returns a function
// that returns the notes since the last call.
func Losses(enc Encoder) func() []string {
	n := &notes{}
	if to, ok := enc.(noter); ok {
		to.noteTo(n)
	}
	return n.take
}
