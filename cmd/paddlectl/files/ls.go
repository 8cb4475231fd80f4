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
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type lsOptions struct {
	long, all, recursive, human, dirs, single, reverse, json bool

	sort, color    string
	bySize, byTime bool
}

// Ls returns the command ls.
func Ls(a *app.App) *cli.Command {
	var o lsOptions
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
			&cli.BoolFlag{Name: "long", Aliases: []string{"l"}, Usage: "also show mode, owner, group, size and time", Destination: &o.long},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a", "A"}, Usage: "also names that begin with a dot", Destination: &o.all},
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"R"}, Usage: "also directories below", Destination: &o.recursive},
			app.HumanFlag(&o.human),
			&cli.BoolFlag{Name: "directory", Aliases: []string{"d"}, Usage: "directories themselves, not their content", Destination: &o.dirs},
			&cli.BoolFlag{Name: "single", Aliases: []string{"1"}, Usage: "one name per line, also on a terminal", Destination: &o.single},
			&cli.StringFlag{Name: "sort", Usage: "sort by `KEY`: name, size (largest first) or time (newest first)", Destination: &o.sort},
			&cli.BoolFlag{Name: "t", Usage: "--sort time", Destination: &o.byTime},
			&cli.BoolFlag{Name: "S", Usage: "--sort size", Destination: &o.bySize},
			&cli.BoolFlag{Name: "reverse", Aliases: []string{"r"}, Usage: "reverse the order", Destination: &o.reverse},
			&cli.StringFlag{Name: "color", Usage: "`WHEN` to colour names by LS_COLORS: auto (on a terminal, unless NO_COLOR is set), always or never", Value: colorAuto, Destination: &o.color},
			app.JSONFlag(&o.json),
			&cliargs.Foreign{Letter: "n", Instead: "-l shows owners and groups as the store names them"},
		},
		Run: func(ctx context.Context, operands []string) error { return runLs(ctx, a, o, operands) },
	})
}

func runLs(ctx context.Context, a *app.App, o lsOptions, operands []string) error {
	compare, err := o.order()
	if err == nil {
		err = app.OneOf("color", o.color, ColorModes...)
	}
	if err != nil {
		return err
	}
	l := newLs(a, o, compare)
	defer l.close()
	l.headers = o.recursive || len(operands) > 1 || len(operands) == 1 && pfs.HasMagic(operands[0])
	err = a.EachTarget(ctx, operands, func(t app.Target) error { return l.target(ctx, t) })
	if ctx.Err() != nil {
		return err
	}
	shown := l.showTargets(ctx)
	switch {
	case err == nil && shown == nil && l.failed, err != nil && shown != nil:
		return cliio.Reported(cliio.Partly)
	case err == nil:
		return shown
	}
	return err
}

// SortKeys are the values of --sort.
var SortKeys = []string{"name", "size", "time"}

// order returns the order of --sort, or nil.
func (o lsOptions) order() (func(a, b pfs.Info) int, error) {
	orders := map[string]func(a, b pfs.Info) int{"name": app.ByName, "size": bySize, "time": byTime}
	key := o.sort
	switch {
	case o.byTime && o.bySize, key != "" && (o.byTime || o.bySize):
		return nil, cliargs.Usagef("--sort, -t and -S contradict each other")
	case o.byTime:
		key = "time"
	case o.bySize:
		key = "size"
	case key == "" && o.reverse:
		key = "name"
	}
	compare := orders[key]
	switch {
	case key == "":
		return nil, nil
	case compare == nil:
		return nil, cliargs.Usagef("--sort %s: name, size or time is needed", key)
	case o.reverse:
		return func(a, b pfs.Info) int { return compare(b, a) }, nil
	}
	return compare, nil
}

// ls is one run of the command. Like Unix ls, it shows the operands that are not directories
// first, together, and then the directories one by one.
type ls struct {
	a           *app.App
	o           lsOptions
	compare     func(a, b pfs.Info) int
	colors      *lsColors      // nil for none
	files, dirs *sorter.Sorter // operands, whose paths are in Name
	headers     bool
	begun       bool // something was printed
	failed      bool // something below could not be shown, and was reported
}

func newLs(a *app.App, o lsOptions, compare func(x, y pfs.Info) int) *ls {
	order := compare
	if order == nil {
		order = app.ByName
	}
	return &ls{a: a, o: o, compare: compare, colors: newLsColors(a, o.color), files: sorter.New(order), dirs: sorter.New(order)}
}

// close removes temporary files. One that cannot be removed stays in the temporary directory.
func (l *ls) close() {
	l.files.Close()
	l.dirs.Close()
}

// directory shows the entries of dir and, with -R, those below.
func (l *ls) directory(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) error {
	list, err := list(ctx, l.a, fsys, dir)
	if err != nil {
		return err
	}
	complete := list.whole
	l.header(dir)
	if err := l.show(ctx, list); err != nil {
		return err
	}
	l.failed = l.failed || list.unnamed > 0
	if !l.o.recursive {
		return nil
	}
	var names []string // not list, which holds more than these
	if complete {
		names = l.subdirectories(list.first)
	}
	return l.below(ctx, fsys, dir, names, complete)
}

func (l *ls) subdirectories(entries []pfs.Info) (names []string) {
	for _, e := range entries {
		if e.IsDir() && l.visible(e) {
			names = append(names, e.Name)
		}
	}
	return names
}

func (l *ls) header(dir pfs.Path) {
	if !l.headers || l.o.json {
		return
	}
	if l.begun {
		l.a.Printf("\n")
	}
	l.begun = true
	l.a.Printf("%s:\n", l.a.Name(string(dir)))
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
	l.a.Note("%s has more than %d entries: they are shown unsorted; --sort name sorts them", list.dir, sortedUpTo)
	b := block{print: func(entries []pfs.Info) error { return l.print(list.dir, entries, false) }}
	if err := list.each(ctx, b.add); err != nil {
		return err
	}
	return b.flush()
}

// showSorted prints any number of entries in the order of --sort.
func (l *ls) showSorted(ctx context.Context, list *listing) error {
	s := sorter.New(l.compare)
	defer s.Close() // a file that cannot be removed stays in the temporary directory
	if err := list.each(ctx, s.Add); err != nil {
		return err
	}
	b := block{print: func(entries []pfs.Info) error { return l.print(list.dir, entries, false) }}
	if err := s.Each(b.add); err != nil {
		return err
	}
	return b.flush()
}

// visible reports whether e is shown: dot-files need -a.
func (l *ls) visible(e pfs.Info) bool { return l.o.all || !strings.HasPrefix(e.Name, ".") }

// below shows the directories below dir. names holds them if complete; else they are too many to
// keep, and below lists them again.
func (l *ls) below(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, names []string, complete bool) error {
	for _, name := range names {
		if err := l.further(ctx, fsys, dir, name); err != nil {
			return err
		}
	}
	if complete {
		return nil
	}
	for e, err := range pfs.Entries(ctx, fsys, dir, nil) {
		if err == nil && e.IsDir() && l.visible(e) {
			err = l.further(ctx, fsys, dir, e.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// further shows the directory name in dir. A failure does not end the listing of the others.
func (l *ls) further(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, name string) error {
	err := l.directory(ctx, fsys, dir.Join(name))
	if err == nil || app.HopelessIn(ctx, dir, err) {
		return err
	}
	l.failed = true
	l.a.ReportFailure(err)
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
	if info.IsLink() && (t.Contents || !l.o.long) && !l.o.dirs {
		if isDir, err = leadsToDir(ctx, t); err != nil {
			return err
		}
	}
	info.Name = string(t.Path)
	if isDir && !l.o.dirs {
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
	b := block{print: l.printFiles}
	if err := l.files.Each(b.add); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	tally, down := cliio.NewTally(l.a.ReportFailure), &app.DownDatacenters{}
	defer down.Tell(l.a.Printer)
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
	if !l.o.json {
		l.lines(entries)
		return nil
	}
	for _, e := range entries {
		name := pfs.Path(e.Name)
		e.Name = name.Base()
		if err := l.a.JSON(app.NewEntryJSON(name, e)); err != nil {
			return err
		}
	}
	return nil
}

func (l *ls) showDir(ctx context.Context, dir pfs.Path) error {
	conn, err := l.a.Remotes.At(ctx, dir)
	if err != nil {
		return err
	}
	return l.directory(ctx, conn.FS, dir)
}
