package cliargs

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/paddlecloud/pfs/internal/nearest"
)

// level is the program or one command of a command line, with its flags.
type level struct {
	name     string
	flags    []cli.Flag
	commands []*cli.Command
	action   bool // whether it takes operands itself
	given    []string
}

// commandLine is a parsed command line.
type commandLine struct {
	levels   []*level
	path     []*cli.Command // the commands named, from the top
	operands []string
	ended    bool // "--" was seen
	help     bool
	version  bool
}

func newCommandLine(app *cli.App) *commandLine {
	return &commandLine{levels: []*level{{name: app.Name, flags: app.Flags, commands: app.Commands, action: app.Action != nil}}}
}

// parse parses args, whose first element is the name of the program. urfave/cli parses the values
// of flags.
func parse(app *cli.App, args []string) (*commandLine, error) {
	l := newCommandLine(app)
	if len(args) == 0 {
		return l, nil
	}
	for rest := args[1:]; len(rest) > 0; {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--" && !l.ended:
			l.ended = true
		case isFlag(arg) && !l.ended:
			n, err := l.flag(arg, rest)
			if err != nil {
				return nil, l.usage(err)
			}
			rest = rest[n:]
		default:
			if err := l.word(arg); err != nil {
				return nil, l.usage(err)
			}
		}
	}
	return l, nil
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// last returns the innermost command.
func (l *commandLine) last() *level { return l.levels[len(l.levels)-1] }

// command returns a text such as "paddlectl file put".
func (l *commandLine) command() string {
	names := make([]string, len(l.levels))
	for i, v := range l.levels {
		names[i] = v.name
	}
	return strings.Join(names, " ")
}

func (l *commandLine) usage(err error) error {
	err.(*UsageError).Command = l.command()
	return err
}

// args returns the command line in the order that urfave/cli needs: after each command its flags by
// their first names, then "--" and the operands.
func (l *commandLine) args() []string {
	var out []string
	for _, v := range l.levels {
		out = append(append(out, v.name), v.given...)
	}
	if len(l.operands) > 0 {
		out = append(append(out, "--"), l.operands...)
	}
	return out
}

// complete refuses a command line without a complete command.
func (l *commandLine) complete() error {
	v := l.last()
	if len(v.commands) == 0 || v.action {
		return nil
	}
	return l.usage(Usagef("which one? %s", strings.Join(CommandWords(v.commands), ", ")))
}

// word handles the name of a command, or an operand.
func (l *commandLine) word(arg string) error {
	v := l.last()
	if len(l.operands) == 0 {
		for _, c := range v.commands {
			if c.HasName(arg) {
				l.path = append(l.path, c)
				l.levels = append(l.levels, &level{
					name: c.Name, flags: c.Flags, commands: c.Subcommands, action: c.Action != nil,
				})
				return nil
			}
		}
		if len(v.commands) > 0 && !v.action && arg == helpName {
			return Usagef("no command %q: did you mean %s?", arg, l.helpOf())
		}
		if len(v.commands) > 0 && !v.action {
			return Usagef("no command %q%s", arg, didYouMean("", NearestCommand(arg, CommandWords(v.commands))))
		}
	}
	l.operands = append(l.operands, arg)
	return nil
}

// helpOf returns the command line that shows the help of the commands so far.
func (l *commandLine) helpOf() string {
	words := []string{l.levels[0].name, helpName}
	for _, v := range l.levels[1:] {
		words = append(words, v.name)
	}
	return strings.Join(words, " ")
}

// flag handles an argument that looks like a flag and returns how many of the following arguments
// belong to it.
func (l *commandLine) flag(arg string, rest []string) (int, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	name, value, hasValue := strings.Cut(name, "=")
	if v, f := l.find(name); f != nil {
		return l.set(v, f, value, hasValue, rest)
	}
	typed, _, _ := strings.Cut(arg, "=")
	near := nearest.Word(strings.TrimLeft(typed, "-"), l.flagNames())
	if !strings.HasPrefix(arg, "--") {
		if n, ok, err := l.cluster(name, value, hasValue, rest); ok || err != nil {
			return n, err
		}
		if isNumber(arg) {
			l.operands = append(l.operands, arg)
			return 0, nil
		}
		if near == "" {
			return 0, l.culprit(typed)
		}
	}
	return 0, Usagef("unknown flag %s%s", typed, didYouMean("--", near))
}

// culprit returns the error about typed, a dash and letters that are not all flags without a value.
func (l *commandLine) culprit(typed string) error {
	var unknown []string
	for _, letter := range typed[1:] {
		if _, f := l.find(string(letter)); f == nil {
			unknown = append(unknown, string(letter))
		}
	}
	switch letters := utf8.RuneCountInString(typed) - 1; {
	case len(unknown) == 0:
		return Usagef("a flag in %s needs a value: it must be the last", typed)
	case len(unknown) == letters:
		return Usagef("unknown flag %s", typed)
	}
	return Usagef("unknown flag -%s in %s", unknown[0], typed)
}

// isNumber reports whether arg is a negative number.
func isNumber(arg string) bool {
	_, err := strconv.ParseFloat(arg, 64)
	return err == nil && arg[1] >= '0' && arg[1] <= '9'
}

// set records the flag f of level v, with its value: the text after "=", else the next argument,
// whatever it looks like.
func (l *commandLine) set(v *level, f cli.Flag, value string, hasValue bool, rest []string) (n int, err error) {
	name := f.Names()[0]
	if foreign, ok := f.(*Foreign); ok {
		return 0, Usagef("unknown flag -%s: %s", name, foreign.Instead)
	}
	if !takesValue(f) && !hasValue {
		l.help = l.help || name == helpName
		l.version = l.version || name == versionName && v == l.levels[0]
		v.given = append(v.given, "--"+name)
		return 0, nil
	}
	if !hasValue {
		if len(rest) == 0 {
			return 0, Usagef("flag --%s needs a value", name)
		}
		value, n = rest[0], 1
	}
	v.given = append(v.given, "--"+name+"="+value)
	return n, nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// cluster handles combined one-letter flags. The last may take a value, and a number may follow it
// directly ("-L2"). ok is false if letters are not such flags.
func (l *commandLine) cluster(letters, value string, hasValue bool, rest []string) (n int, ok bool, err error) {
	type part struct {
		v        *level
		f        cli.Flag
		value    string
		hasValue bool
	}
	var parts []part
	for letters != "" {
		_, size := utf8.DecodeRuneInString(letters)
		v, f := l.find(letters[:size])
		if f == nil {
			return 0, false, nil
		}
		letters = letters[size:]
		p := part{v: v, f: f}
		switch {
		case letters == "":
			p.value, p.hasValue = value, hasValue
		case takesValue(f) && letters[0] >= '0' && letters[0] <= '9' && !hasValue:
			p.value, p.hasValue, letters = letters, true, ""
		case takesValue(f):
			return 0, false, nil
		}
		parts = append(parts, p)
	}
	for _, p := range parts {
		if n, err = l.set(p.v, p.f, p.value, p.hasValue, rest); err != nil {
			return 0, false, err
		}
	}
	return n, len(parts) > 0, nil
}

// find looks name up from the innermost command outwards.
func (l *commandLine) find(name string) (*level, cli.Flag) {
	for _, v := range slices.Backward(l.levels) {
		if f := findFlag(v.flags, name); f != nil {
			return v, f
		}
	}
	return nil, nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// flagNames returns the long names of all valid flags.
func (l *commandLine) flagNames() []string {
	var names []string
	for _, v := range slices.Backward(l.levels) {
		for _, f := range v.flags {
			for _, name := range f.Names() {
				if len(name) > 1 && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
