package main

import (
	"context"
	"slices"

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
			o.verboseFlag("print each directory that was made"), o.jsonFlag(),
		},
		run: func(ctx context.Context, operands []string) error { return runMkdir(ctx, d, o, operands) },
	})
}

func runMkdir(ctx context.Context, d *deps, o mkdirOptions, operands []string) error {
	o.begin(d)
	return d.eachNamed(ctx, operands, func(t target) error {
		made, err := o.mkdir(ctx, t)
		if err != nil {
			return parentHint(ctx, err, t.end(), d.out.Program+" mkdir -p "+shellWord(string(t.path)))
		}
		for _, name := range made {
			o.done(d, eventJSON{Event: "directory", Path: string(name)}, string(name))
		}
		return nil
	})
}

// mkdir makes the directory t and returns what it made, from the top. It looks before:
// stores do not tell a directory that they made from one that was there.
func (o mkdirOptions) mkdir(ctx context.Context, t target) (made []pfs.Path, err error) {
	if o.parents {
		for name := t.path; ; name = name.Parent() {
			if there, err := pfs.Exists(ctx, t.fs, name); there || err != nil || name == pfs.Root {
				break
			}
			made = append(made, name)
		}
		slices.Reverse(made)
		return made, pfs.MkdirAll(ctx, t.fs, t.path, 0o755)
	}
	switch there, err := pfs.Exists(ctx, t.fs, t.path); {
	case err != nil:
		return nil, err
	case there:
		return nil, pfs.E("paddlectl.mkdir", t.path, pfs.Exist, nil)
	}
	return []pfs.Path{t.path}, t.fs.Mkdir(ctx, t.path, 0o755)
}
