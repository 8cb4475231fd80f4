package files

import (
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
)

const colorAuto, colorAlways, colorNever = "auto", "always", "never"

// ColorModes are the values of --color.
var ColorModes = []string{colorAuto, colorAlways, colorNever}

// lsColors are the colours of names. A colour is written as in the environment variable
// LS_COLORS: the parameters of the escape sequence, such as "01;34".
type lsColors struct {
	kinds  map[string]string // by key: di (directory), ln (link), ex (executable), fi (other file)
	suffix [][2]string       // ends of file names and their colours; of several that fit the last counts
}

// defaultColors are those of a terminal whose user has chosen none.
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

// parseLsColors reads what it knows of a value of LS_COLORS. Colours that are no numbers
// are left out: a terminal might do anything with them.
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

// code returns the colour of e, "" for none.
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
