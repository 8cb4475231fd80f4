package files

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Tree returns the command tree.
func Tree(a *app.App) *cli.Command {
	w := &tree{Walking: app.Walking{App: a}}
	return a.NewCommand(app.Spec{
		Name: "tree", Args: "[PATH...]", Most: -1,
		Summary: "show directories as a tree",
		Text: `Draws each directory, or your home without PATH, as a tree sorted by name. Directories
of more than 10,000 entries are not sorted. The last line counts what was shown. Links
are shown, not followed.`,
		Examples: []string{"paddlectl tree -d -L 2 /pfs/dc1/home/alice"},
		Exits:    app.PathExits(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "level", Aliases: []string{"L"}, Usage: "show at most `N` levels", Value: app.AllLevels, DefaultText: "all", Destination: &w.level},
			&cli.BoolFlag{Name: "directories", Aliases: []string{"d"}, Usage: "directories only", Destination: &w.dirsOnly},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also names that begin with a dot", Destination: &w.all},
		},
		Run: w.run,
	})
}

// tree is one run of the command.
type tree struct {
	app.Walking
	level         int
	dirsOnly, all bool

	dirs, files int64
	begun       bool // something was printed
}

func (w *tree) run(ctx context.Context, operands []string) error {
	if w.level < 1 {
		return cliargs.Usagef("-L %d: a number above 0 is needed", w.level)
	}
	err := w.EachTarget(ctx, operands, func(t app.Target) error { return w.target(ctx, t) })
	if w.begun {
		total := app.Count(w.dirs, "directory", "directories")
		if !w.dirsOnly {
			total += ", " + app.Count(w.files, "file", "files")
		}
		w.Printf("\n%s\n", total)
	}
	return w.End(err)
}

func (w *tree) target(ctx context.Context, t app.Target) error {
	list, err := list(ctx, w.App, t.FS, t.Path)
	if err != nil {
		return err
	}
	w.begun = true
	w.Printf("%s\n", w.Name(string(t.Path)))
	return w.below(ctx, list, "", 1)
}

// below draws the entries of a directory, each after the lines of its ancestors. It draws an entry
// when it has read the next, to know the last.
func (w *tree) below(ctx context.Context, list *listing, lines string, level int) error {
	var held *pfs.Info
	err := list.each(ctx, func(e pfs.Info) error {
		if e.Name[0] == '.' && !w.all || w.dirsOnly && !e.IsDir() {
			return nil
		}
		last := held
		held = &e
		if last == nil {
			return nil
		}
		return w.entry(ctx, list, *last, lines+"├── ", lines+"│   ", level)
	})
	if err == nil && held != nil {
		err = w.entry(ctx, list, *held, lines+"└── ", lines+"    ", level)
	}
	w.Failed = w.Failed || list.unnamed > 0
	return err
}

func (w *tree) entry(ctx context.Context, in *listing, e pfs.Info, lines, below string, level int) error {
	arrow := ""
	if e.IsLink() {
		arrow = " -> " + w.Name(e.Target)
	}
	w.Printf("%s%s%s\n", lines, w.Name(e.Name), arrow)
	if !e.IsDir() {
		w.files++
		return nil
	}
	w.dirs++
	if level == w.level {
		return nil
	}
	list, err := list(ctx, w.App, in.fs, in.dir.Join(e.Name))
	if err == nil {
		err = w.below(ctx, list, below, level+1)
	}
	if errors.Is(err, pfs.Canceled) {
		return err
	}
	return w.Note(ctx, in.dir, err)
}
