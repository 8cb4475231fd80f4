package main

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type mkdirOptions struct {
	changeOptions
	parents bool
}

func (d *deps) mkdirCommand() *cli.Command {
	var o mkdirOptions
	return d.command(spec{
		name: "mkdir", args: "PATH...", least: 1, most: -1,
		summary: "mkdir directories on PaddlePaddle Cloud",
		text: `Makes directories. The parent must exist and the directory must not, unless
--parents is given.`,
		examples: []string{
			"paddlectl mkdir /pfs/dc1/home/alice/data",
			"paddlectl mkdir -p /pfs/dc1/home/alice/a/b/c",
		},
		exits: pathExits(),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "parents", Aliases: []string{"p"}, Usage: "make missing parents, too, and accept what is there", Destination: &o.parents},
			o.verboseFlag("print each directory"), o.jsonFlag(),
		},
		run: func(ctx context.Context, operands []string) error { return runMkdir(ctx, d, o, operands) },
	})
}

func runMkdir(ctx context.Context, d *deps, o mkdirOptions, operands []string) error {
	o.begin(d)
	return d.eachNamed(ctx, operands, func(t target) error {
		if err := o.mkdir(ctx, t); err != nil {
			return parentHint(ctx, err, t.end(), d.out.Program+" mkdir -p "+shellWord(string(t.path)))
		}
		o.done(d, eventJSON{Event: "directory", Path: string(t.path)}, string(t.path))
		return nil
	})
}

func (o mkdirOptions) mkdir(ctx context.Context, t target) error {
	if o.parents {
		return pfs.MkdirAll(ctx, t.fs, t.path, 0o755)
	}
	// Stores do not tell a directory that they made from one that was there.
	switch _, err := t.fs.Stat(ctx, t.path); {
	case err == nil:
		return pfs.E("paddlectl.mkdir", t.path, pfs.Exist, nil)
	case !errors.Is(err, pfs.NotExist):
		return err
	}
	return t.fs.Mkdir(ctx, t.path, 0o755)
}
