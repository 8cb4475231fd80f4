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
	at := reach(app, words[:len(words)-1])
	switch name, value, assigned := strings.Cut(word, "="); {
	case at.waiting != "":
		return at.values(known, at.waiting, word)
	case assigned && strings.HasPrefix(name, "--"):
		var list []string
		for _, v := range at.values(known, strings.TrimLeft(name, "-"), value) {
			list = append(list, name+"="+v)
		}
		return list
	case strings.HasPrefix(word, "-"):
		return beginning(flagWords(at.flags), word)
	case at.operands > 0 || len(at.commands) == 0:
		return beginning(known.Operand(at.command(), at.operands, word), word)
	case at.action():
		return beginning(append(CommandWords(at.commands), known.Operand(at.command(), 0, word)...), word)
	}
	return beginning(CommandWords(at.commands), word)
}

// reached is the state of a command line after some complete words.
type reached struct {
	path     []*cli.Command // commands named so far
	commands []*cli.Command // commands that may follow
	flags    []cli.Flag     // flags that may follow
	operands int            // number of operands so far
	waiting  string         // first name of the flag that needs a value, or ""
}

// reach walks the words.
func reach(app *cli.App, words []string) reached {
	at := reached{commands: app.Commands, flags: app.Flags}
	for _, w := range words {
		switch {
		case at.waiting != "":
			at.waiting = ""
		case strings.HasPrefix(w, "-") && w != "-":
			at.waiting = waitsForValue(at.flags, w)
		default:
			i := slices.IndexFunc(at.commands, func(c *cli.Command) bool { return c.HasName(w) })
			if i < 0 || at.operands > 0 {
				at.operands++
				continue
			}
			next := at.commands[i]
			at.path = append(at.path, next)
			at.flags = append(slices.Clone(next.Flags), app.Flags...)
			at.commands = next.Subcommands
		}
	}
	return at
}

// values returns the candidates for the flag called name.
func (r reached) values(known Known, name, word string) []string {
	if g, ok := findFlag(r.flags, name).(*cli.GenericFlag); ok {
		if choice, ok := g.Value.(*Choice); ok {
			return slices.DeleteFunc(beginning(choice.words, word), func(w string) bool { return w == "" })
		}
	}
	return beginning(known.Value(name, word), word)
}

// command returns the names of the command.
func (r reached) command() string {
	var names []string
	for _, c := range r.path {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// action reports whether the command works without a subcommand.
func (r reached) action() bool { return len(r.path) > 0 && r.path[len(r.path)-1].Action != nil }

// waitsForValue returns the first name of the flag word if its value is the next word.
func waitsForValue(flags []cli.Flag, word string) string {
	name := strings.TrimLeft(word, "-")
	for _, f := range flags {
		if dg, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) && dg.TakesValue() {
			return f.Names()[0]
		}
	}
	return ""
}

// flagWords returns the long names of flags without duplicates, such as --help of command and
// program.
func flagWords(flags []cli.Flag) []string {
	var list []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if word := "--" + name; len(name) > 1 && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
	}
	return list
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
