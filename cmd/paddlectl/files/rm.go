package files

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// rm is one run of the command.
type rm struct {
	*app.App
	app.ChangeOptions
	asking     app.Asking
	recursive  bool
	unfinished bool
	olderThan  cliio.DurationFlag
}

// Rm returns the command rm.
func Rm(a *app.App) *cli.Command {
	o := &rm{App: a}
	return a.NewCommand(app.Spec{
		Name: "rm", Args: "PATH...", Least: 1, Most: -1,
		Summary: "rm files on PaddlePaddle Cloud",
		Text: `Removes files and links, and with --recursive directories and all their content. Links
are removed, not followed. Homes, datacenters and the directories above them are never
removed. Removal cannot be undone.

A quoted pattern (* ? [a-z] {a,b} **) is matched on the service. As in a shell, only a
pattern with that dot matches names that begin with a dot: '.*', or '{*,.*}' for all
names. ls -d shows what a pattern matches.

An interrupted upload is kept for a week so that it can be resumed. It is hidden and
takes space. --unfinished removes the unfinished uploads below the directories and
prints the space that they took: on CephFS that may be the size of the whole file, even
if little of it was sent. Outside your home only an administrator may do this, because
others may have uploads there.`,
		Examples: []string{
			"paddlectl rm /pfs/dc1/home/alice/old.csv",
			"paddlectl rm -r '/pfs/dc1/home/alice/out/epoch-0*'",
			"paddlectl rm --unfinished /pfs/dc1/home/alice",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r", "R"}, Usage: "remove directories and all their content", Destination: &o.recursive},
			o.asking.ForceFlag("ignore what does not exist"),
			o.asking.InteractiveFlag("ask before each removal, and before a directory is entered"),
			o.VerboseFlag("print each path that was removed"),
			&cli.BoolFlag{Name: "unfinished", Usage: "remove only unfinished uploads below the directories", Destination: &o.unfinished},
			&cli.GenericFlag{Name: "older-than", Usage: "with --unfinished: only those without a write for `TIME`, like 12h or 2d", Value: &o.olderThan},
			o.JSONFlag(),
		},
		Run: func(ctx context.Context, operands []string) error {
			o.Begin(a)
			if err := o.asking.Check(false); err != nil {
				return err
			}
			if o.unfinished {
				return o.removeUnfinished(ctx, operands)
			}
			if o.olderThan.Given {
				return cliargs.Usagef("--older-than needs --unfinished")
			}
			return o.run(ctx, operands)
		},
	})
}

func (o *rm) run(ctx context.Context, operands []string) error {
	return o.Each(ctx, operands, o.expand, func(t app.Target) error {
		err := o.remove(ctx, t)
		if o.asking.Force && errors.Is(err, pfs.NotExist) || err == errDeclined {
			return nil
		}
		if err == nil {
			o.Done(o.App, app.EventJSON{Event: "deleted", Path: string(t.Path)}, string(t.Path))
		}
		return err
	})
}

// removeUnfinished removes the uploads below the operands. A running upload sees that as a change
// of the target, and starts again.
func (o *rm) removeUnfinished(ctx context.Context, operands []string) error {
	if o.recursive || o.asking.Interactive {
		return cliargs.Usagef("--unfinished cannot be used with --recursive or --interactive: it leaves all files")
	}
	const century = 100 * 365 * 24 * time.Hour // the longest time that the service accepts
	if o.olderThan.Duration > century {
		return cliargs.Usagef("--older-than %s: the longest time is 100 years", &o.olderThan)
	}
	return o.Each(ctx, operands, o.expand, func(t app.Target) error {
		n, bytes, err := pfs.Sweep(ctx, t.FS, t.Path, o.olderThan.Duration)
		if err == nil {
			o.Show(o.JSON, sweptJSON{"deleted", string(t.Path), n, bytes}, "%s: %s removed, %s\n",
				o.Name(string(t.Path)), app.Count(int64(n), "unfinished upload", "unfinished uploads"), cliio.Size(bytes))
		}
		return err
	})
}

// sweptJSON is the result of --unfinished as --json prints it.
type sweptJSON struct {
	Event   string `json:"event"` // "deleted"
	Path    string `json:"path"`  // of the directory
	Uploads int    `json:"uploads"`
	Bytes   int64  `json:"bytes"`
}

// expand accepts a pattern that matches nothing if --force is given.
func (o *rm) expand(ctx context.Context, op app.Operand, fn func(app.Target) error) error {
	err := o.Expand(ctx, op, fn)
	if o.asking.Force && errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}

// removeHome removes a home and all its content. It reports false if the service keeps the home:
// only administrators may remove one, after its account.
func (o *rm) removeHome(ctx context.Context, t app.Target) (bool, error) {
	if !o.recursive || !app.IsHome(t.Path) || o.IsOwnHome(ctx, t.Path) {
		return false, nil
	}
	if _, err := t.Stat(ctx); err != nil {
		return true, err
	}
	if err := o.ask(ctx, "remove with all its content", t.Path); err != nil {
		return true, err
	}
	err := pfs.RemoveTree(ctx, t.FS, t.Path)
	return !errors.Is(err, pfs.Invalid), err
}

func (o *rm) remove(ctx context.Context, t app.Target) error {
	if app.IsRoot(t.Path) {
		if done, err := o.removeHome(ctx, t); done {
			return err
		}
		err := cliargs.Usagef("%s is not removed: it is a directory of the service", t.Path)
		switch {
		case !o.recursive:
			return err
		case o.IsOwnHome(ctx, t.Path):
			return app.WithHint(err, o.Program+" rm -r "+app.ShellWord(string(t.Path)+"/{*,.*}")+" removes its content")
		}
		return app.WithHint(err, "it stays, and takes no space when it is empty; its content can be removed by those who may")
	}
	info, err := t.Stat(ctx)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return o.removeOne(ctx, t.FS, t.Path)
	}
	if !o.recursive {
		return app.WithHint(pfs.E("paddlectl.rm", t.Path, pfs.IsDir, nil), o.Program+" rm -r "+app.ShellWord(string(t.Path))+" removes it and its content")
	}
	if o.asking.Interactive {
		return o.removeAsking(ctx, t.FS, t.Path)
	}
	return unlessGone(pfs.RemoveTree(ctx, t.FS, t.Path))
}

// errDeclined reports that the user declined a removal.
var errDeclined = errors.New("declined")

// ask returns errDeclined if --interactive is given and the answer is no.
func (o *rm) ask(ctx context.Context, do string, name pfs.Path) error {
	yes, err := o.asking.May(ctx, o.App, do, name)
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

// removeOne removes a file, a link or an empty directory.
func (o *rm) removeOne(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) error {
	if err := o.ask(ctx, "remove", name); err != nil {
		return err
	}
	return unlessGone(fsys.Remove(ctx, name))
}

// removeAsking removes the directory dir entry by entry. If an entry stays, so does dir.
func (o *rm) removeAsking(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) error {
	if err := o.ask(ctx, "enter", dir); err != nil {
		return err
	}
	declined, tally := false, cliio.NewTally(o.ReportFailure)
	// Removing yielded entries does not disturb the listing.
	for e, err := range pfs.Entries(ctx, fsys, dir, nil) {
		if err != nil {
			return err
		}
		name, remove := dir.Join(e.Name), o.removeOne
		if e.IsDir() {
			remove = o.removeAsking
		}
		switch err := remove(ctx, fsys, name); {
		case err == errDeclined:
			declined = true
		case app.HopelessIn(ctx, dir, err):
			return err
		default:
			tally.Add(err)
			if err == nil {
				o.Done(o.App, app.EventJSON{Event: "deleted", Path: string(name)}, string(name))
			}
		}
	}
	if err := tally.Err(); err != nil {
		return err
	}
	if declined {
		return errDeclined
	}
	return o.removeOne(ctx, fsys, dir)
}

// unlessGone returns err of a removal, but nil if the entry is gone: an earlier attempt may have
// removed it, in a service that was killed before it could answer.
func unlessGone(err error) error {
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}
