package files

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type treeOptions struct {
	level     int
	dirs, all bool
}

// Tree returns the command tree.
func Tree(a *app.App) *cli.Command {
	var o treeOptions
	return a.NewCommand(app.Spec{
		Name: "tree", Args: "[PATH...]", Most: -1,
		Summary: "show directories as a tree",
		Text: `Draws each directory, or your home without PATH, as a tree sorted by name. Directories
of more than 10,000 entries are not sorted. The last line counts what was shown. Links
are shown, not followed.`,
		Examples: []string{"paddlectl tree -d -L 2 /pfs/dc1/home/alice"},
		Exits:    app.PathExits(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "level", Aliases: []string{"L"}, Usage: "show at most `N` levels", Value: app.AllLevels, DefaultText: "all", Destination: &o.level},
			&cli.BoolFlag{Name: "directories", Aliases: []string{"d"}, Usage: "directories only", Destination: &o.dirs},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also names that begin with a dot", Destination: &o.all},
		},
		Run: func(ctx context.Context, operands []string) error { return runTree(ctx, a, o, operands) },
	})
}

func runTree(ctx context.Context, a *app.App, o treeOptions, operands []string) error {
	if o.level < 1 {
		return cliargs.Usagef("-L %d: a number above 0 is needed", o.level)
	}
	w := &tree{a: a, o: o}
	err := a.EachTarget(ctx, operands, func(t app.Target) error { return w.target(ctx, t) })
	if w.begun {
		a.Printf("\n%s\n", w.total())
	}
	if err == nil && w.failed {
		return cliio.Reported(cliio.Partly)
	}
	return err
}

// tree is one run of the command.
type tree struct {
	a           *app.App
	o           treeOptions
	dirs, files int64
	begun       bool // something was printed
	failed      bool // something below could not be read, and was reported
}

func (w *tree) total() string {
	text := app.Count(w.dirs, "directory", "directories")
	if !w.o.dirs {
		text += ", " + app.Count(w.files, "file", "files")
	}
	return text
}

func (w *tree) target(ctx context.Context, t app.Target) error {
	list, err := list(ctx, w.a, t.FS, t.Path)
	if err != nil {
		return err
	}
	w.begun = true
	w.a.Printf("%s\n", w.a.Name(string(t.Path)))
	return w.below(ctx, list, "", 1)
}

// below draws the entries of a directory, each behind the lines of its ancestors. It draws an entry
// when it has read the next, to know the last.
func (w *tree) below(ctx context.Context, list *listing, lines string, level int) error {
	var held *pfs.Info
	err := list.each(ctx, func(e pfs.Info) error {
		if e.Name[0] == '.' && !w.o.all || w.o.dirs && !e.IsDir() {
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
	w.failed = w.failed || list.unnamed > 0
	return err
}

func (w *tree) entry(ctx context.Context, in *listing, e pfs.Info, lines, below string, level int) error {
	arrow := ""
	if e.IsLink() {
		arrow = " -> " + w.a.Name(e.Target)
	}
	w.a.Printf("%s%s%s\n", lines, w.a.Name(e.Name), arrow)
	if !e.IsDir() {
		w.files++
		return nil
	}
	w.dirs++
	if level == w.o.level {
		return nil
	}
	list, err := list(ctx, w.a, in.fs, in.dir.Join(e.Name))
	if err == nil {
		err = w.below(ctx, list, below, level+1)
	}
	if err == nil || app.HopelessIn(ctx, in.dir, err) || errors.Is(err, pfs.Canceled) {
		return err
	}
	w.failed = true
	w.a.ReportFailure(err)
	return nil
}
