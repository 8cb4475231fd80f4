// Package files has the commands for files and directories.
//
// # Files
//
//	cat, chmod, cp, df, du, find, headtail, ls   the commands of those names
//	mkdir, mv, quota, rm, stat, sync, touch,
//	tree, verify
//	file                                         the older file put, get, ls and rm
//	listing, lsprint                             entries in order, and how ls shows them
package files

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Ls returns the command ls.
func Ls(a *app.App) *cli.Command {
	l := &ls{Walking: app.Walking{App: a}, color: colorAuto}
	return a.NewCommand(app.Spec{
		Name: "ls", Args: "[PATH...]", Most: -1,
		Summary: "List files on PaddlePaddle Cloud",
		Text: `Lists directories and files, or your home without PATH. With several PATHs the files
come first, then each directory under its name. A quoted pattern (* ? [a-z] {a,b} **)
is matched on the service; only a pattern with that dot matches names that begin with
a dot.

A directory of up to 10,000 entries is sorted by name. A larger one is listed in the
store's order unless --sort is given: sorting takes temporary disk space, and prints
nothing until all entries are read.`,
		Examples: []string{
			"paddlectl ls -lh /pfs/dc1/home/alice",
			"paddlectl ls '/pfs/public/dataset/uci_housing/train-*'",
			"paddlectl ls --sort size -l /pfs/dc1/home/alice/out",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "long", Aliases: []string{"l"}, Usage: "also show mode, owner, group, size and time", Destination: &l.long},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a", "A"}, Usage: "also names that begin with a dot", Destination: &l.all},
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"R"}, Usage: "also directories below", Destination: &l.recursive},
			app.HumanFlag(&l.human),
			&cli.BoolFlag{Name: "directory", Aliases: []string{"d"}, Usage: "directories themselves, not their content", Destination: &l.dirsOnly},
			&cli.BoolFlag{Name: "single", Aliases: []string{"1"}, Usage: "one name per line, also on a terminal", Destination: &l.single},
			&cli.GenericFlag{Name: "sort", Usage: "sort by `KEY`: name, size (largest first) or time (newest first)", Value: cliargs.OneOf(&l.sort, "name", "size", "time")},
			&cli.BoolFlag{Name: "t", Usage: "--sort time", Destination: &l.byTime},
			&cli.BoolFlag{Name: "S", Usage: "--sort size", Destination: &l.bySize},
			&cli.BoolFlag{Name: "reverse", Aliases: []string{"r"}, Usage: "reverse the order", Destination: &l.reverse},
			&cli.GenericFlag{Name: "color", Usage: "`WHEN` to colour names by LS_COLORS: auto (on a terminal, unless NO_COLOR is set), always or never", Value: cliargs.OneOf(&l.color, colorAuto, colorAlways, colorNever)},
			app.JSONFlag(&l.json),
			&cliargs.Foreign{Letter: "n", Instead: "-l shows owners and groups as the store names them"},
		},
		Run: l.run,
	})
}

// ls is one run of the command. Like Unix ls, it shows the operands that are not directories
// first, together, and then the directories one by one.
type ls struct {
	app.Walking
	long, all, recursive, human, dirsOnly, single, reverse, json bool

	sort, color    string
	bySize, byTime bool

	compare     func(a, b pfs.Info) int
	colors      *lsColors                // nil for none
	files, dirs *sorter.Sorter[pfs.Info] // operands, whose paths are in Name
	headers     bool
	begun       bool // something was printed
}

func (l *ls) run(ctx context.Context, operands []string) (err error) {
	if l.compare, err = l.order(); err != nil {
		return err
	}
	order := l.compare
	if order == nil {
		order = app.ByName
	}
	l.colors, l.files, l.dirs = newLsColors(l.App, l.color), sorter.New(order), sorter.New(order)
	// A temporary file that cannot be removed stays in the temporary directory.
	defer l.files.Close()
	defer l.dirs.Close()
	l.headers = l.recursive || len(operands) > 1 || len(operands) == 1 && pfs.HasMagic(operands[0])
	err = l.EachTarget(ctx, operands, func(t app.Target) error { return l.target(ctx, t) })
	if ctx.Err() != nil {
		return err
	}
	shown := l.showTargets(ctx)
	switch {
	case err == nil && shown == nil && l.Failed, err != nil && shown != nil:
		return cliio.Reported(cliio.Partly)
	case err == nil:
		return shown
	}
	return err
}

// order returns the order of --sort, or nil.
func (l *ls) order() (func(a, b pfs.Info) int, error) {
	orders := map[string]func(a, b pfs.Info) int{"name": app.ByName, "size": bySize, "time": byTime}
	key := l.sort
	switch {
	case l.byTime && l.bySize, key != "" && (l.byTime || l.bySize):
		return nil, cliargs.Usagef("--sort, -t and -S contradict each other")
	case l.byTime:
		key = "time"
	case l.bySize:
		key = "size"
	case key == "" && l.reverse:
		key = "name"
	}
	compare := orders[key]
	switch {
	case key == "":
		return nil, nil
	case l.reverse:
		return func(a, b pfs.Info) int { return compare(b, a) }, nil
	}
	return compare, nil
}

// directory shows the entries of dir and, with -R, those below.
func (l *ls) directory(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) error {
	list, err := list(ctx, l.App, fsys, dir)
	if err != nil {
		return err
	}
	l.header(dir)
	if err := l.show(ctx, list); err != nil {
		return err
	}
	l.Failed = l.Failed || list.unnamed > 0
	if !l.recursive {
		return nil
	}
	if !list.whole { // too many to keep: list them again
		return l.below(ctx, fsys, dir, pfs.Entries(ctx, fsys, dir, nil))
	}
	var dirs []pfs.Info // not list, which holds more than these
	for _, e := range list.first {
		if e.IsDir() && l.visible(e) {
			dirs = append(dirs, e)
		}
	}
	return l.below(ctx, fsys, dir, func(yield func(pfs.Info, error) bool) {
		for _, e := range dirs {
			if !yield(e, nil) {
				return
			}
		}
	})
}

func (l *ls) header(dir pfs.Path) {
	if !l.headers || l.json {
		return
	}
	if l.begun {
		l.Printf("\n")
	}
	l.begun = true
	l.Printf("%s:\n", l.Name(string(dir)))
}

// show prints the entries of one directory.
func (l *ls) show(ctx context.Context, list *listing) error {
	switch {
	case list.whole:
		if l.compare != nil {
			slices.SortFunc(list.first, l.compare)
		}
		return l.print(list.dir, list.first, true)
	case l.compare != nil:
		return l.showSorted(ctx, list)
	}
	l.App.Note("%s has more than %d entries: they are shown unsorted; --sort name sorts them", list.dir, sortedUpTo)
	return inBlocks(func(entries []pfs.Info) error { return l.print(list.dir, entries, false) },
		func(add func(pfs.Info) error) error { return list.each(ctx, add) })
}

// showSorted prints any number of entries in the order of --sort.
func (l *ls) showSorted(ctx context.Context, list *listing) error {
	s := sorter.New(l.compare)
	defer s.Close() // a file that cannot be removed stays in the temporary directory
	if err := list.each(ctx, s.Add); err != nil {
		return err
	}
	return inBlocks(func(entries []pfs.Info) error { return l.print(list.dir, entries, false) }, s.Each)
}

// visible reports whether e is shown: dot-files need -a.
func (l *ls) visible(e pfs.Info) bool { return l.all || !strings.HasPrefix(e.Name, ".") }

// below shows the directories among the entries of dir. A failure does not end the listing of the
// others.
func (l *ls) below(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, entries iter.Seq2[pfs.Info, error]) error {
	for e, err := range entries {
		if err == nil && e.IsDir() && l.visible(e) {
			err = l.Note(ctx, dir, l.directory(ctx, fsys, dir.Join(e.Name)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// target takes one operand.
func (l *ls) target(ctx context.Context, t app.Target) error {
	info, err := t.Stat(ctx)
	if err != nil {
		return err
	}
	if t.Contents && info.IsRegular() {
		return pfs.E("paddlectl.ls", t.Path, pfs.NotDir, nil)
	}
	isDir := info.IsDir()
	if info.IsLink() && (t.Contents || !l.long) && !l.dirsOnly {
		if isDir, err = leadsToDir(ctx, t); err != nil {
			return err
		}
	}
	info.Name = string(t.Path)
	if isDir && !l.dirsOnly {
		return l.dirs.Add(info)
	}
	return l.files.Add(info)
}

// leadsToDir reports whether the link t leads to a directory, and not to a file or
// nothing.
func leadsToDir(ctx context.Context, t app.Target) (bool, error) {
	_, err := t.FS.List(ctx, t.Path, pfs.ListOptions{Limit: 1})
	if errors.Is(err, pfs.NotDir) || errors.Is(err, pfs.NotExist) {
		return false, nil
	}
	return err == nil, err
}

// showTargets shows all collected operands.
func (l *ls) showTargets(ctx context.Context) error {
	if err := inBlocks(l.printFiles, l.files.Each); err != nil {
		return err
	}
	tally, down := cliio.NewTally(l.ReportFailure), &app.DownDatacenters{}
	defer down.Tell(l.Printer)
	err := l.dirs.Each(func(e pfs.Info) error {
		dir := pfs.Path(e.Name)
		err := down.Unless(dir, func() error { return l.showDir(ctx, dir) })
		tally.Add(err)
		if app.Hopeless(ctx, err) {
			return app.ErrStop
		}
		return nil
	})
	if err != nil && err != app.ErrStop {
		return err
	}
	return tally.Err()
}

// printFiles shows operands by their paths.
func (l *ls) printFiles(entries []pfs.Info) error {
	l.begun = l.begun || len(entries) > 0
	if !l.json {
		l.lines(entries)
		return nil
	}
	for _, e := range entries {
		name := pfs.Path(e.Name)
		e.Name = name.Base()
		if err := l.JSON(app.NewEntryJSON(name, e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *ls) showDir(ctx context.Context, dir pfs.Path) error {
	conn, err := l.Remotes.At(ctx, dir)
	if err != nil {
		return err
	}
	return l.directory(ctx, conn.FS, dir)
}
