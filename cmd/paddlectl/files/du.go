package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type duOptions struct {
	human, summary, all, json bool

	depth int
}

// Du returns the command du.
func Du(a *app.App) *cli.Command {
	var o duOptions
	return a.NewCommand(app.Spec{
		Name: "du", Args: "[PATH...]", Most: -1,
		Summary: "add up the sizes below directories",
		Text: `Adds up the sizes of the files below each directory, or below your home without PATH.
Links are counted, not followed. A directory that you may not read is reported and left
out. In /pfs, the public directory of the current datacenter has two names; it is
counted once, as /pfs/DC/public.`,
		Examples: []string{
			"paddlectl du -sh /pfs/dc1/home/alice/*",
			"paddlectl du -h --max-depth 1 /pfs/dc1/home/alice",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			app.HumanFlag(&o.human),
			&cli.BoolFlag{Name: "summarize", Aliases: []string{"s"}, Usage: "print only the total of each PATH", Destination: &o.summary},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also print files", Destination: &o.all},
			&cli.IntFlag{Name: "max-depth", Aliases: []string{"d"}, Usage: "print totals down to `N` levels below each PATH", Value: app.AllLevels, DefaultText: "all", Destination: &o.depth},
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error { return runDu(ctx, a, o, operands) },
	})
}

func runDu(ctx context.Context, a *app.App, o duOptions, operands []string) error {
	if o.depth < 0 {
		return cliargs.Usagef("--max-depth %d: a number from 0 up is needed", o.depth)
	}
	if o.summary && o.all {
		return cliargs.Usagef("--summarize and --all contradict each other")
	}
	if o.summary {
		o.depth = 0
	}
	u := &du{a: a, o: o}
	err := a.EachTarget(ctx, operands, func(t app.Target) error { return u.target(ctx, t) })
	if err == nil && u.failed {
		return cliio.Reported(cliio.Partly)
	}
	return err
}

// du is one run of the command.
type du struct {
	a      *app.App
	o      duOptions
	failed bool // something below could not be read, and was reported
}

func (u *du) target(ctx context.Context, t app.Target) error {
	info, err := t.Stat(ctx)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return u.print(t.Path, pfs.Usage{Bytes: info.Size, Files: 1})
	}
	_, err = u.sum(ctx, t.FS, t.Path, u.o.depth)
	return err
}

// sum adds up and prints dir and the directories down to depth levels below it.
func (u *du) sum(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, depth int) (pfs.Usage, error) {
	var total pfs.Usage
	var err error
	if depth == 0 {
		total, err = u.count(ctx, fsys, dir)
	} else {
		total, err = u.entries(ctx, fsys, dir, u.o.all, func(sub pfs.Path) (pfs.Usage, error) {
			return u.sum(ctx, fsys, sub, depth-1)
		})
	}
	if err != nil {
		return total, err
	}
	return total, u.print(dir, total)
}

// count adds up dir. The store does it if it can; above the stores, count adds up store by store.
// A store refuses if the user may not read a part of the tree; then count adds up the rest.
func (u *du) count(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) (pfs.Usage, error) {
	if dir == app.Top {
		return u.entries(ctx, fsys, dir, false, func(sub pfs.Path) (pfs.Usage, error) { return u.count(ctx, fsys, sub) })
	}
	total, err := pfs.UsageOf(ctx, fsys, dir)
	if !errors.Is(err, pfs.Permission) {
		return total, err
	}
	return u.entries(ctx, fsys, dir, false, func(sub pfs.Path) (pfs.Usage, error) { return u.count(ctx, fsys, sub) })
}

// entries adds up the entries of dir, for directories the result of below, and prints its files
// if shown.
func (u *du) entries(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, shown bool, below func(pfs.Path) (pfs.Usage, error)) (total pfs.Usage, err error) {
	for e, err := range pfs.Entries(ctx, fsys, dir, func(quoted string) {
		u.failed = true
		u.a.Message("%s: entry %s cannot be named here and is not counted", dir, quoted)
	}) {
		if err != nil {
			return total, err
		}
		if dir.Join(e.Name) == app.CurrentPublic {
			continue // its datacenter counts it
		}
		if !e.IsDir() {
			total.Files++
			total.Bytes += e.Size
			if shown {
				if err := u.print(dir.Join(e.Name), pfs.Usage{Bytes: e.Size, Files: 1}); err != nil {
					return total, err
				}
			}
			continue
		}
		sub, err := below(dir.Join(e.Name))
		if app.HopelessIn(ctx, dir, err) {
			return total, err
		}
		if err != nil && !errors.Is(err, pfs.NotExist) { // gone in the meantime
			u.failed = true
			u.a.ReportFailure(err)
		}
		total.Bytes += sub.Bytes
		total.Files += sub.Files
		total.Dirs += sub.Dirs + 1
	}
	return total, nil
}

func (u *du) print(name pfs.Path, total pfs.Usage) error {
	if u.o.json {
		return u.a.JSON(struct {
			Path  pfs.Path `json:"path"`
			Bytes int64    `json:"bytes"`
			Files int64    `json:"files"`
			Dirs  int64    `json:"dirs"`
		}{name, total.Bytes, total.Files, total.Dirs})
	}
	size := fmt.Sprint(total.Bytes)
	if u.o.human {
		size = cliio.ShortSize(total.Bytes)
	}
	u.a.Printf("%s\t%s\n", size, u.a.Name(string(name)))
	return nil
}
