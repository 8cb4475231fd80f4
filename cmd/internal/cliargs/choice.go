package cliargs

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is the value of a flag that takes one of a few words, which completion offers.
type Choice struct {
	to    *string
	words []string
	open  bool // other values are valid, too
}

// OneOf returns the value of a flag that stores one of words in to. The default is what to holds.
func OneOf(to *string, words ...string) *Choice {
	if *to == "" {
		words = append(words, "") // as the default
	}
	return &Choice{to: to, words: words}
}

// Suggest is OneOf for a flag that also takes other values.
func Suggest(to *string, words ...string) *Choice { return &Choice{to, words, true} }

// Set stores the value.
func (c *Choice) Set(word string) error {
	if !c.open && !slices.Contains(c.words, word) {
		words := slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "" })
		last := len(words) - 1
		return fmt.Errorf("%s or %s is needed", strings.Join(words[:last], ", "), words[last])
	}
	*c.to = word
	return nil
}

// String returns the value.
func (c *Choice) String() string {
	if c == nil || c.to == nil {
		return ""
	}
	return *c.to
}
