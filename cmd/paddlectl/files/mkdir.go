package files

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type mkdirOptions struct {
	app.ChangeOptions
	parents bool
}

// Mkdir returns the command mkdir.
func Mkdir(a *app.App) *cli.Command {
	var o mkdirOptions
	return a.NewCommand(app.Spec{
		Name: "mkdir", Args: "PATH...", Least: 1, Most: -1,
		Summary: "mkdir directories on PaddlePaddle Cloud",
		Text: `Makes directories. The parent must exist and the directory must not, unless
--parents is given.`,
		Examples: []string{
			"paddlectl mkdir /pfs/dc1/home/alice/data",
			"paddlectl mkdir -p /pfs/dc1/home/alice/a/b/c",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "parents", Aliases: []string{"p"}, Usage: "also make missing parents, and accept existing directories", Destination: &o.parents},
			o.VerboseFlag("print each directory that was made"), o.JSONFlag(),
		},
		Run: func(ctx context.Context, operands []string) error {
			o.Begin(a)
			return a.EachNamed(ctx, operands, func(t app.Target) error {
				made, err := o.mkdir(ctx, t)
				if err != nil {
					return app.ParentHint(ctx, err, t.End(), a.Program+" mkdir -p "+app.ShellWord(string(t.Path)))
				}
				for _, name := range made {
					o.Done(a, app.EventJSON{Event: "directory", Path: string(name)}, string(name))
				}
				return nil
			})
		},
	})
}

// mkdir makes the directory t and returns the directories that it made, from the top. It checks
// first, because stores do not report whether a directory is new.
func (o mkdirOptions) mkdir(ctx context.Context, t app.Target) (made []pfs.Path, err error) {
	if o.parents {
		for name := t.Path; ; name = name.Parent() {
			if there, err := pfs.Exists(ctx, t.FS, name); there || err != nil || name == pfs.Root {
				break
			}
			made = append(made, name)
		}
		slices.Reverse(made)
		return made, pfs.MkdirAll(ctx, t.FS, t.Path, 0o755)
	}
	switch there, err := pfs.Exists(ctx, t.FS, t.Path); {
	case err != nil:
		return nil, err
	case there:
		return nil, pfs.E("paddlectl.mkdir", t.Path, pfs.Exist, nil)
	}
	return []pfs.Path{t.Path}, t.FS.Mkdir(ctx, t.Path, 0o755)
}
