package convert

import (
	"fmt"
	"slices"
)

// MaxNotes bounds Stats.Notes.
const MaxNotes = 32

// Note is a fact about inputs that their records do not show, such as a type that the payload
// lacks.
type Note struct {
	Input  string // the first one
	Inputs int64  // number of inputs; 0 if unknown
	Text   string
}

// String puts the inputs before the text.
func (n Note) String() string {
	if n.Inputs == 0 {
		return n.Text
	}
	if n.Inputs > 1 {
		return fmt.Sprintf("%s, and %d more: %s", n.Input, n.Inputs-1, n.Text)
	}
	return n.Input + ": " + n.Text
}

// note adds the notes of an input.
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

// notes collects the notes of one input without duplicates.
type notes struct {
	told  map[string]bool
	fresh []string // not yet returned by take
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

// take returns the notes added since the last call.
func (n *notes) take() []string {
	fresh := n.fresh
	n.fresh = nil
	return fresh
}

// noting is a Decoder with notes of its own.
type noting interface{ notes() *notes }

// noter is an Encoder of this package: all embed nesting.
type noter interface {
	noteTo(*notes)
	note(what string)
}

// Losses makes enc record what its payload does not show of its values. It returns a function that
// returns the notes since the last call.
func Losses(enc Encoder) func() []string {
	n := &notes{}
	if to, ok := enc.(noter); ok {
		to.noteTo(n)
	}
	return n.take
}
