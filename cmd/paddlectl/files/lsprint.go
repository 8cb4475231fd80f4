package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// blockSize is how many entries are aligned with each other.
const blockSize = 1000

// inBlocks calls print with blocks of the entries that each passes to its function.
func inBlocks(print func([]pfs.Info) error, each func(add func(pfs.Info) error) error) error {
	var block []pfs.Info
	err := each(func(e pfs.Info) (err error) {
		if block = append(block, e); len(block) == blockSize {
			err = print(block)
			block = block[:0]
		}
		return err
	})
	if err != nil {
		return err
	}
	return print(block)
}

// print shows entries of dir.
func (l *ls) print(dir pfs.Path, entries []pfs.Info, grid bool) error {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e pfs.Info) bool { return !l.visible(e) })
	switch {
	case l.json:
		for _, e := range entries {
			if err := l.JSON(app.NewEntryJSON(dir.Join(e.Name), e)); err != nil {
				return err
			}
		}
	case grid && !l.single && !l.long && l.Terminal(l.Main.Stdout):
		l.grid(entries)
	default:
		l.lines(entries)
	}
	return nil
}

// lines prints one entry per line; with -l in columns as wide as needed.
func (l *ls) lines(entries []pfs.Info) {
	if !l.long {
		for _, e := range entries {
			l.Printf("%s\n", l.name(e))
		}
		return
	}
	var owner, group, size int
	for _, e := range entries {
		owner, group = max(owner, cliio.Columns(e.Owner)), max(group, cliio.Columns(e.Group))
		size = max(size, len(l.size(e)))
	}
	for _, e := range entries {
		l.Printf("%s %s %s %*s %s %s%s\n", app.ModeText(e), app.Pad(dash(e.Owner), owner), app.Pad(dash(e.Group), group),
			size, l.size(e), app.TimeText(e.ModTime), l.name(e), l.arrow(e))
	}
}

// name returns the displayed name of e.
func (l *ls) name(e pfs.Info) string { return l.colors.paint(e, l.Name(e.Name)) }

func (l *ls) size(e pfs.Info) string {
	if l.human {
		return cliio.ShortSize(e.Size)
	}
	return fmt.Sprint(e.Size)
}

// arrow shows where a link leads.
func (l *ls) arrow(e pfs.Info) string {
	if !e.IsLink() {
		return ""
	}
	return " -> " + l.Name(e.Target)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// grid prints names in as many columns as fit on the terminal, downwards.
func (l *ls) grid(entries []pfs.Info) {
	names, widest := make([]string, len(entries)), 1
	for i, e := range entries {
		names[i] = l.Name(e.Name)
		widest = max(widest, cliio.Columns(names[i]))
	}
	columns := max(1, cliio.Width(l.Main.Stdout)/(widest+2))
	rows := (len(names) + columns - 1) / columns
	for row := range rows {
		var line strings.Builder
		for i := row; i < len(names); i += rows {
			line.WriteString(l.colors.paint(entries[i], names[i]) + strings.Repeat(" ", widest+2-cliio.Columns(names[i])))
		}
		l.Printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// The values of --color.
const colorAuto, colorAlways, colorNever = "auto", "always", "never"

// lsColors are the colours of names. A colour is written as in the environment variable
// LS_COLORS: the parameters of the escape sequence, such as "01;34".
type lsColors struct {
	kinds  map[string]string // by key: di (directory), ln (link), ex (executable), fi (other file)
	suffix [][2]string       // ends of file names and their colours; the last match counts
}

// defaultColors are the colors if LS_COLORS is not set.
const defaultColors = "di=01;34:ln=01;36:ex=01;32"

// newLsColors returns the colours to use, nil for none.
func newLsColors(a *app.App, when string) *lsColors {
	auto := a.Main.Getenv("NO_COLOR") == "" && a.Terminal(a.Main.Stdout)
	if when == colorNever || when != colorAlways && !auto {
		return nil
	}
	text := a.Main.Getenv("LS_COLORS")
	if text == "" {
		text = defaultColors
	}
	return parseLsColors(text)
}

// parseLsColors reads the known keys of LS_COLORS. It leaves out colours that are not numbers,
// because a terminal might do anything with them.
func parseLsColors(text string) *lsColors {
	c := &lsColors{kinds: map[string]string{}}
	for part := range strings.SplitSeq(text, ":") {
		key, code, ok := strings.Cut(part, "=")
		if !ok || strings.Trim(code, "0123456789;") != "" {
			continue
		}
		if end, ok := strings.CutPrefix(key, "*"); ok {
			c.suffix = append(c.suffix, [2]string{end, code})
		} else {
			c.kinds[key] = code
		}
	}
	return c
}

// paint returns shown, the name of e, in its colour.
func (c *lsColors) paint(e pfs.Info, shown string) string {
	if c == nil {
		return shown
	}
	if code := c.code(e); strings.Trim(code, "0;") != "" {
		return "\x1b[" + code + "m" + shown + "\x1b[0m"
	}
	return shown
}

// code returns the colour of e, or "".
func (c *lsColors) code(e pfs.Info) string {
	switch {
	case e.IsDir():
		return c.kinds["di"]
	case e.IsLink():
		return c.kinds["ln"]
	case e.Mode.Perm()&0o111 != 0 && c.kinds["ex"] != "":
		return c.kinds["ex"]
	}
	code := c.kinds["fi"]
	for _, s := range c.suffix {
		if strings.HasSuffix(e.Name, s[0]) {
			code = s[1]
		}
	}
	return code
}
