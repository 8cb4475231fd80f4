package cliargs

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Known is what a program knows beyond its commands and flags. What it returns may hold
// more than begins with word.
type Known struct {
	// Value returns what the flag called name, its first one, of the command may be
	// given: the command as for Operand.
	Value func(command, name, word string) []string
	// Operand returns what the operand number i, from 0, of the command may be: its
	// names joined by a space.
	Operand func(command string, i int, word string) []string
}

// Candidates returns what the last of words can become, words being those behind the name
// of the program.
func Candidates(app *cli.App, words []string, known Known) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	word := words[len(words)-1]
	at := reach(app, words[:len(words)-1])
	switch name, value, assigned := strings.Cut(word, "="); {
	case at.waiting != "":
		return beginning(known.Value(at.command(), at.waiting, word), word)
	case assigned && strings.HasPrefix(name, "--"):
		var list []string
		for _, v := range beginning(known.Value(at.command(), strings.TrimLeft(name, "-"), value), value) {
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

// reached is where a command line stands behind some complete words.
type reached struct {
	path     []*cli.Command // that they name
	commands []*cli.Command // that may follow
	flags    []cli.Flag     // that may follow
	operands int            // how many there are
	waiting  string         // first name of the flag that needs a value; "" if none does
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

// command returns the names of the command.
func (r reached) command() string {
	var names []string
	for _, c := range r.path {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// action reports whether the command does something without a subcommand.
func (r reached) action() bool { return len(r.path) > 0 && r.path[len(r.path)-1].Action != nil }

// waitsForValue returns the first name of the flag word if it needs another word.
func waitsForValue(flags []cli.Flag, word string) string {
	name := strings.TrimLeft(word, "-")
	for _, f := range flags {
		if dg, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) && dg.TakesValue() {
			return f.Names()[0]
		}
	}
	return ""
}

// flagWords returns the long names of flags. What a command and the program both have, as
// --help, is there once.
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

// CommandWords returns the names of the commands that are shown.
func CommandWords(commands []*cli.Command) []string {
	var list []string
	for _, c := range commands {
		if !c.Hidden {
			list = append(list, c.Name)
		}
	}
	return list
}

// beginning returns those of list that begin with prefix.
func beginning(list []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}
