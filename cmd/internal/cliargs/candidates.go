package cliargs

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Known is a program's knowledge beyond its commands and flags. Its results may include candidates
// that do not begin with word.
type Known struct {
	// Value returns candidates for the value of a flag, identified by its first name. A Choice has
	// its own.
	Value func(name, word string) []string
	// Operand returns candidates for operand number i, from 0, of a command, identified by its
	// names joined by spaces.
	Operand func(command string, i int, word string) []string
}

// Candidates returns the completions of the last of words, which are the words after the name of
// the program.
func Candidates(app *cli.App, words []string, known Known) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	word := words[len(words)-1]
	at, waiting := reach(app, words[:len(words)-1])
	command := strings.TrimPrefix(strings.TrimPrefix(at.command(), app.Name), " ")
	commands := CommandWords(at.last().commands)
	switch name, value, assigned := strings.Cut(word, "="); {
	case waiting != "":
		return at.values(known, waiting, word)
	case assigned && strings.HasPrefix(name, "--"):
		var list []string
		for _, v := range at.values(known, strings.TrimLeft(name, "-"), value) {
			list = append(list, name+"="+v)
		}
		return list
	case strings.HasPrefix(word, "-"):
		names := at.flagNames()
		for i, name := range names {
			names[i] = "--" + name
		}
		return beginning(names, word)
	case len(at.operands) > 0 || len(commands) == 0:
		return beginning(known.Operand(command, len(at.operands), word), word)
	case at.last().action:
		return beginning(append(commands, known.Operand(command, 0, word)...), word)
	}
	return beginning(commands, word)
}

// reach parses words, whatever they are. waiting is the first name of the flag whose value is the
// next word, or "".
func reach(app *cli.App, words []string) (l *commandLine, waiting string) {
	l = newCommandLine(app)
	for _, w := range words {
		switch {
		case waiting != "":
			waiting = ""
		case isFlag(w):
			if _, f := l.find(strings.TrimLeft(w, "-")); f != nil && takesValue(f) {
				waiting = f.Names()[0]
			}
		case l.word(w) != nil:
			l.operands = append(l.operands, w)
		}
	}
	return l, waiting
}

// values returns the candidates for the flag called name.
func (l *commandLine) values(known Known, name, word string) []string {
	_, f := l.find(name)
	if g, ok := f.(*cli.GenericFlag); ok {
		if choice, ok := g.Value.(*Choice); ok {
			return slices.DeleteFunc(beginning(choice.words, word), func(w string) bool { return w == "" })
		}
	}
	return beginning(known.Value(name, word), word)
}

// CommandWords returns the names of the visible commands.
func CommandWords(commands []*cli.Command) []string {
	var list []string
	for _, c := range commands {
		if !c.Hidden {
			list = append(list, c.Name)
		}
	}
	return list
}

// beginning returns the elements of list that begin with prefix.
func beginning(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}
