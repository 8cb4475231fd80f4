package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Find returns the command find.
func Find(a *app.App) *cli.Command {
	f := &find{Walking: app.Walking{App: a}, down: &app.DownDatacenters{}}
	return a.NewCommand(app.Spec{
		Name: "find", Args: "[PATH...]", Most: -1,
		Summary: "find files by name, type, size and time",
		Text: `Prints everything at and below each PATH, or below your home, that passes every test.
Links are shown, not followed.`,
		Examples: []string{
			"paddlectl find /pfs/dc1/home/alice -name '*.ckpt' -size +1G",
			"paddlectl find /pfs/dc1/home/alice -type f -mtime -7 -print0 | xargs -0 -n1 paddlectl stat",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "last element matches `PATTERN` (* ? [a-z])", Destination: &f.name},
			&cli.StringFlag{Name: "iname", Usage: "like -name `PATTERN`, but ignore case", Destination: &f.iname},
			&cli.GenericFlag{Name: "type", Usage: "`T` is f (file), d (directory) or l (link)", Value: cliargs.OneOf(&f.kind, "f", "d", "l")},
			&cli.StringFlag{Name: "size", Usage: "`[+-]SIZE` like 4096, +1G (more) or -10K (less)", Destination: &f.size},
			&cli.StringFlag{Name: "mtime", Usage: "changed `[+-]DAYS` ago: 1, +7 (longer ago) or -7 (within)", Destination: &f.mtime},
			&cli.StringFlag{Name: "newer", Usage: "changed after `FILE`, on the service or on this machine", Destination: &f.newer},
			&cli.IntFlag{Name: "maxdepth", Aliases: []string{"max-depth"}, Usage: "search at most `N` levels below each PATH", Value: app.AllLevels, DefaultText: "all", Destination: &f.maxDepth},
			&cli.BoolFlag{Name: "print", Usage: "print each path (the default)"},
			&cli.BoolFlag{Name: "print0", Aliases: []string{"0"}, Usage: "end each path with a NUL, not with a newline", Destination: &f.print0},
			app.JSONFlag(&f.json),
		},
		Run: f.run,
	})
}

// find is one run of the command.
type find struct {
	app.Walking
	name, iname, kind, size, mtime, newer string

	maxDepth     int
	print0, json bool

	tests []findTest
	down  *app.DownDatacenters
}

func (f *find) run(ctx context.Context, operands []string) error {
	if f.maxDepth < 0 {
		return cliargs.Usagef("-maxdepth %d: a number from 0 up is needed", f.maxDepth)
	}
	if err := f.makeTests(ctx); err != nil {
		return err
	}
	return f.End(f.EachTarget(ctx, operands, func(t app.Target) error { return f.target(ctx, t) }))
}

// findTest is one condition.
type findTest func(pfs.Info) bool

func (f *find) target(ctx context.Context, t app.Target) error {
	top := strings.Count(string(t.Path), "/")
	if t.Path == pfs.Root {
		top = 0
	}
	return pfs.Walk(ctx, t.FS, t.Path, func(name pfs.Path, info pfs.Info, err error) error {
		if f.down.Has(name) {
			return fs.SkipDir
		}
		if err != nil {
			if name == t.Path && !errors.Is(err, pfs.Invalid) || app.HopelessIn(ctx, t.Path, err) {
				return err
			}
			f.down.Note(name, err)
			f.Failed = true
			f.ReportFailure(err)
			return nil
		}
		f.show(name, info)
		if info.IsDir() && strings.Count(string(name), "/")-top >= f.maxDepth {
			return fs.SkipDir
		}
		return nil
	})
}

// show prints name if it passes all tests.
func (f *find) show(name pfs.Path, info pfs.Info) {
	if slices.ContainsFunc(f.tests, func(test findTest) bool { return !test(info) }) {
		return
	}
	if f.print0 && !f.json {
		f.Printf("%s\x00", name)
		return
	}
	f.Show(f.json, app.NewEntryJSON(name, info), "%s\n", f.Name(string(name)))
}

// makeTests makes the conditions of the flags.
func (f *find) makeTests(ctx context.Context) error {
	for _, m := range []struct {
		value string
		make  func(string) (findTest, error)
	}{
		{f.name, nameTest},
		{strings.ToLower(f.iname), inameTest},
		{f.kind, typeTest},
		{f.size, sizeTest},
		{f.mtime, func(value string) (findTest, error) { return mtimeTest(f.App, value) }},
		{f.newer, func(file string) (findTest, error) { return newerTest(ctx, f.App, file) }},
	} {
		if m.value == "" {
			continue
		}
		test, err := m.make(m.value)
		if err != nil {
			return err
		}
		f.tests = append(f.tests, test)
	}
	return nil
}

func nameTest(pattern string) (findTest, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, cliargs.Usagef("-name %q is not a pattern: a [ without ], or a \\ at the end", pattern)
	}
	return func(info pfs.Info) bool {
		ok, _ := path.Match(pattern, info.Name) // the pattern is valid
		return ok
	}, nil
}

func inameTest(pattern string) (findTest, error) {
	test, err := nameTest(pattern)
	return func(info pfs.Info) bool {
		info.Name = strings.ToLower(info.Name)
		return test(info)
	}, err
}

func typeTest(kind string) (findTest, error) {
	switch kind {
	case "f":
		return pfs.Info.IsRegular, nil
	case "d":
		return pfs.Info.IsDir, nil
	}
	return pfs.Info.IsLink, nil
}

// compared splits "+5" into its sign and the rest; 0 means exactly.
func compared(value string) (sign int, rest string) {
	switch value[0] {
	case '+':
		return 1, value[1:]
	case '-':
		return -1, value[1:]
	}
	return 0, value
}

func sizeTest(value string) (findTest, error) {
	sign, rest := compared(value)
	size, err := cliio.ParseSize(rest)
	if err != nil {
		return nil, cliargs.Usagef("-size: %v", err)
	}
	return func(info pfs.Info) bool {
		return info.IsRegular() && cmp.Compare(info.Size, size) == sign
	}, nil
}

// mtimeTest counts whole days, like find of Unix.
func mtimeTest(a *app.App, value string) (findTest, error) {
	sign, rest := compared(value)
	days, err := strconv.ParseInt(rest, 10, 32)
	if err != nil {
		return nil, cliargs.Usagef("-mtime %q: a number of days is needed, like 1, +7 or -7", value)
	}
	now := a.Now()
	return func(info pfs.Info) bool {
		return cmp.Compare(int64(now.Sub(info.ModTime)/(24*time.Hour)), days) == sign
	}, nil
}

func newerTest(ctx context.Context, a *app.App, file string) (findTest, error) {
	o, err := a.ParseOperand(file)
	if err != nil {
		return nil, err
	}
	var than time.Time
	switch o.Side {
	case app.Remote:
		err = a.Named(ctx, o, func(t app.Target) error {
			info, err := t.Stat(ctx)
			than = info.ModTime
			return err
		})
	case app.Local:
		var info os.FileInfo
		if info, err = os.Stat(o.Local); err == nil {
			than = info.ModTime()
		}
	default:
		err = cliargs.Usagef("-newer: a file is needed")
	}
	return func(info pfs.Info) bool { return info.ModTime.After(than) }, err
}
