package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
)

// block collects entries to line up some at a time.
type block struct {
	entries []pfs.Info
	print   func([]pfs.Info) error
}

// blockSize is how many entries are lined up with each other.
const blockSize = 1000

func (b *block) add(e pfs.Info) error {
	if b.entries = append(b.entries, e); len(b.entries) < blockSize {
		return nil
	}
	return b.flush()
}

func (b *block) flush() error {
	err := b.print(b.entries)
	b.entries = b.entries[:0]
	return err
}

// print shows entries of dir.
func (l *ls) print(dir pfs.Path, entries []pfs.Info, grid bool) error {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e pfs.Info) bool { return !l.visible(e) })
	switch {
	case l.o.json:
		for _, e := range entries {
			if err := l.a.JSON(app.NewEntryJSON(dir.Join(e.Name), e)); err != nil {
				return err
			}
		}
	case grid && !l.o.single && !l.o.long && l.a.Terminal(l.a.Main.Stdout):
		l.grid(entries)
	default:
		l.lines(entries)
	}
	return nil
}

// lines prints one entry a line; with -l in columns as wide as these need.
func (l *ls) lines(entries []pfs.Info) {
	if !l.o.long {
		for _, e := range entries {
			l.a.Printf("%s\n", l.name(e))
		}
		return
	}
	var owner, group, size int
	for _, e := range entries {
		owner, group = max(owner, cliio.Columns(e.Owner)), max(group, cliio.Columns(e.Group))
		size = max(size, len(l.size(e)))
	}
	for _, e := range entries {
		l.a.Printf("%s %s %s %*s %s %s%s\n", app.ModeText(e), app.Pad(dash(e.Owner), owner), app.Pad(dash(e.Group), group),
			size, l.size(e), app.TimeText(e.ModTime), l.name(e), l.arrow(e))
	}
}

// name returns the name of e as it is shown.
func (l *ls) name(e pfs.Info) string { return l.colors.paint(e, l.a.Name(e.Name)) }

func (l *ls) size(e pfs.Info) string {
	if l.o.human {
		return cliio.ShortSize(e.Size)
	}
	return fmt.Sprint(e.Size)
}

// arrow shows where a link leads.
func (l *ls) arrow(e pfs.Info) string {
	if !e.IsLink() {
		return ""
	}
	return " -> " + l.a.Name(e.Target)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// grid prints names in as many columns as the terminal takes, downwards.
func (l *ls) grid(entries []pfs.Info) {
	names, widest := make([]string, len(entries)), 1
	for i, e := range entries {
		names[i] = l.a.Name(e.Name)
		widest = max(widest, cliio.Columns(names[i]))
	}
	columns := max(1, cliio.Width(l.a.Main.Stdout)/(widest+2))
	rows := (len(names) + columns - 1) / columns
	for row := range rows {
		var line strings.Builder
		for i := row; i < len(names); i += rows {
			line.WriteString(l.colors.paint(entries[i], names[i]) + strings.Repeat(" ", widest+2-cliio.Columns(names[i])))
		}
		l.a.Printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}
