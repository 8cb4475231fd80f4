package files

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Du returns the command du.
func Du(a *app.App) *cli.Command {
	u := &du{Walking: app.Walking{App: a}}
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
			app.HumanFlag(&u.human),
			&cli.BoolFlag{Name: "summarize", Aliases: []string{"s"}, Usage: "print only the total of each PATH", Destination: &u.summary},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also print files", Destination: &u.all},
			&cli.IntFlag{Name: "max-depth", Aliases: []string{"d"}, Usage: "print totals down to `N` levels below each PATH", Value: app.AllLevels, DefaultText: "all", Destination: &u.depth},
			app.JSONFlag(&u.json),
		},
		Run: u.run,
	})
}

// du is one run of the command.
type du struct {
	app.Walking
	human, summary, all, json bool
	depth                     int
}

func (u *du) run(ctx context.Context, operands []string) error {
	switch {
	case u.depth < 0:
		return cliargs.Usagef("--max-depth %d: a number from 0 up is needed", u.depth)
	case u.summary && u.all:
		return cliargs.Usagef("--summarize and --all contradict each other")
	case u.summary:
		u.depth = 0
	}
	return u.End(u.EachTarget(ctx, operands, func(t app.Target) error { return u.target(ctx, t) }))
}

func (u *du) target(ctx context.Context, t app.Target) error {
	info, err := t.Stat(ctx)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		u.print(t.Path, pfs.Usage{Bytes: info.Size, Files: 1})
		return nil
	}
	_, err = u.sum(ctx, t.FS, t.Path, u.depth)
	return err
}

// sum adds up and prints dir and the directories down to depth levels below it.
func (u *du) sum(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, depth int) (pfs.Usage, error) {
	var total pfs.Usage
	var err error
	if depth == 0 {
		total, err = u.count(ctx, fsys, dir)
	} else {
		total, err = u.entries(ctx, fsys, dir, u.all, func(sub pfs.Path) (pfs.Usage, error) {
			return u.sum(ctx, fsys, sub, depth-1)
		})
	}
	if err == nil {
		u.print(dir, total)
	}
	return total, err
}

// count adds up dir. The store does it if it can; above the stores, count adds up store by store.
// A store refuses if the user may not read a part of the tree; then count adds up the rest.
func (u *du) count(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) (pfs.Usage, error) {
	if dir != app.Top {
		total, err := pfs.UsageOf(ctx, fsys, dir)
		if !errors.Is(err, pfs.Permission) {
			return total, err
		}
	}
	return u.entries(ctx, fsys, dir, false, func(sub pfs.Path) (pfs.Usage, error) { return u.count(ctx, fsys, sub) })
}

// entries adds up the entries of dir, for directories the result of below, and prints its files
// if shown.
func (u *du) entries(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, shown bool, below func(pfs.Path) (pfs.Usage, error)) (total pfs.Usage, err error) {
	for e, err := range pfs.Entries(ctx, fsys, dir, func(quoted string) {
		u.Failed = true
		u.Message("%s: entry %s cannot be named here and is not counted", dir, quoted)
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
				u.print(dir.Join(e.Name), pfs.Usage{Bytes: e.Size, Files: 1})
			}
			continue
		}
		sub, err := below(dir.Join(e.Name))
		if !errors.Is(err, pfs.NotExist) { // gone in the meantime
			if err := u.Note(ctx, dir, err); err != nil {
				return total, err
			}
		}
		total.Bytes += sub.Bytes
		total.Files += sub.Files
		total.Dirs += sub.Dirs + 1
	}
	return total, nil
}

func (u *du) print(name pfs.Path, total pfs.Usage) {
	u.Show(u.json, struct {
		Path  pfs.Path `json:"path"`
		Bytes int64    `json:"bytes"`
		Files int64    `json:"files"`
		Dirs  int64    `json:"dirs"`
	}{name, total.Bytes, total.Files, total.Dirs}, "%s\t%s\n", sizes(u.human)(total.Bytes), u.Name(string(name)))
}
