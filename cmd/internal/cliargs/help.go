package cliargs

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

// FindCommand returns the commands that names lead to.
func FindCommand(app *cli.App, names []string) (path []*cli.Command, err error) {
	commands := app.Commands
	for _, name := range names {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
		if i < 0 {
			what := ": " + app.Name + " help lists them"
			if near := NearestCommand(name, CommandWords(commands)); near != "" {
				what = didYouMean("", near)
			}
			return nil, Usagef("no command %q%s", strings.Join(names, " "), what)
		}
		path = append(path, commands[i])
		commands = commands[i].Subcommands
	}
	return path, nil
}

// Help returns the help text of the command that path leads to, or of app itself. If app has a
// CustomAppHelpTemplate, that is the whole text of app.
func Help(app *cli.App, path ...*cli.Command) string {
	if len(path) == 0 {
		return appHelp(app)
	}
	c := path[len(path)-1]
	names := []string{app.Name}
	for _, p := range path {
		names = append(names, p.Name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n", usageLine(strings.Join(names, " "), c))
	if text := strings.TrimSpace(c.Description); text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	} else if c.Usage != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Usage)
	}
	section(&b, "Subcommands:", commandTable(c.Subcommands))
	section(&b, "Flags:", FlagTable(c.Flags))
	return b.String()
}

func appHelp(app *cli.App) string {
	if app.CustomAppHelpTemplate != "" {
		return app.CustomAppHelpTemplate
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s <flags> <subcommand> <subcommand args>\n", app.Name)
	if text := strings.TrimSpace(app.Description); text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	section(&b, "Subcommands:", commandTable(app.Commands))
	section(&b, "Flags:", FlagTable(app.Flags))
	return b.String()
}

func usageLine(name string, c *cli.Command) string {
	if c.UsageText != "" {
		return c.UsageText
	}
	line := name + " [flags]"
	if len(c.Subcommands) > 0 && c.Action == nil {
		line += " <subcommand>"
	}
	if c.ArgsUsage != "" {
		line += " " + c.ArgsUsage
	}
	return line
}

func section(b *strings.Builder, title, table string) {
	if table != "" {
		fmt.Fprintf(b, "\n%s\n%s", title, table)
	}
}

func commandTable(commands []*cli.Command) string {
	return table(func(w *tabwriter.Writer) {
		for _, c := range commands {
			if !c.Hidden {
				fmt.Fprintf(w, "  %s\t%s\n", c.Name, c.Usage)
			}
		}
	})
}

// FlagTable lists the flags, one a line, as help texts show them.
func FlagTable(flags []cli.Flag) string {
	return table(func(w *tabwriter.Writer) {
		for _, f := range flags {
			d, ok := f.(cli.DocGenerationFlag)
			if v, visible := f.(cli.VisibleFlag); !ok || visible && !v.IsVisible() {
				continue
			}
			left, right := flagLine(d)
			fmt.Fprintf(w, "  %s\t%s\n", left, right)
		}
	})
}

func table(rows func(*tabwriter.Writer)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows(w)
	w.Flush()
	return b.String()
}

// flagLine returns texts such as "-j, --parallel N" and "copy N files at a time (default: 4)". Back
// quotes in the flag's usage enclose the placeholder.
func flagLine(f cli.DocGenerationFlag) (left, right string) {
	names := slices.Clone(f.Names())
	slices.SortStableFunc(names, func(a, b string) int { return min(len(a), 2) - min(len(b), 2) })
	for i, name := range names {
		if len(name) == 1 {
			names[i] = "-" + name
		} else {
			names[i] = "--" + name
		}
	}
	left, right = strings.Join(names, ", "), f.GetUsage()
	if strings.HasPrefix(left, "--") {
		left = "    " + left // one-letter names have their own column
	}
	if !f.TakesValue() {
		return left, right
	}
	placeholder := "VALUE"
	if before, rest, ok := strings.Cut(right, "`"); ok {
		if word, after, ok := strings.Cut(rest, "`"); ok {
			placeholder, right = word, before+word+after
		}
	}
	if d := f.GetDefaultText(); d != "" {
		right += fmt.Sprintf(" (default: %s)", d)
	}
	return left + " " + placeholder, right
}
