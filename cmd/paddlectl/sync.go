package main

import (
	"context"
	"math"
	"os"
	"path/filepath"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

func (d *deps) syncCommand() *cli.Command {
	o := &copyOptions{recursive: true}
	return d.command(spec{
		name: "sync", args: "SRC DEST", least: 2, most: 2,
		summary: "make one directory like another",
		text: `Copies what is in the directory SRC and not, or not the same, in the directory
DEST. A slash at the end of either makes no difference. With --delete DEST becomes
a mirror: what SRC does not have is removed there, once everything was copied; if
anything failed nothing is removed. What --exclude leaves out stays.

With --delete three mistakes are refused, with code 5, before anything is changed:
an SRC without any file, such as a disk that is not mounted; a DEST that is a home, a
public or mapped directory, or on this machine the root, your home or a directory above
it; and more deletions than --max-delete allows. --force allows the first two.`,
		examples: []string{
			"paddlectl sync ./data /pfs/dc1/home/alice/data",
			"paddlectl sync --delete --exclude '*.tmp' /pfs/dc1/home/alice/out ./out",
			"paddlectl sync --delete --max-delete 100 ./data /pfs/dc1/home/alice/data",
		},
		exits: pathExits(cliio.Integrity),
		flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "delete", Usage: "remove from DEST what SRC does not have", Destination: &o.mirroring},
			&cli.Int64Flag{Name: "max-delete", Usage: "with --delete: change nothing if more than `N` files would be removed", Value: unlimited, DefaultText: "any number", Destination: &o.maxDelete},
			&cli.BoolFlag{Name: "force", Usage: "with --delete: allow an SRC without any file, and a DEST that is a home or another root", Destination: &o.force},
		}, o.flags()...),
		run: func(ctx context.Context, operands []string) error { return d.summed(o, runSync(ctx, d, o, operands)) },
	})
}

func runSync(ctx context.Context, d *deps, o *copyOptions, operands []string) error {
	ops, err := d.begin(o, operands)
	if err != nil {
		return err
	}
	from, to := ops[0], ops[1]
	switch {
	case !o.mirroring && (o.force || o.maxDelete != unlimited):
		return cliargs.Usagef("--force and --max-delete only go with --delete")
	case o.maxDelete < 0:
		return cliargs.Usagef("--max-delete %d: a number from 0 up is needed", o.maxDelete)
	case from.side == stdio || to.side == stdio:
		return cliargs.Usagef("\"-\" is no directory: sync copies directories")
	case from.side == local && to.side == local:
		return cliargs.Usagef("both paths are of this machine: those of the service begin with /pfs/%s", d.didYouMeanInHome(to.text))
	}
	source, err := d.end(ctx, from)
	if err != nil {
		return err
	}
	source, info, err := followed(ctx, source, true)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return cliargs.Usagef("%q is no directory: paddlectl cp copies files", from.text)
	}
	t, err := d.target(ctx, to, false)
	if err != nil {
		return err
	}
	if err := o.checkRoot(d, to.side, t); err != nil {
		return err
	}
	c := &copier{d: d, o: o, to: t, tops: map[pfs.Path]string{}}
	return d.transfer(ctx, o, c, func(ctx context.Context, job *transfer.Job) error {
		return c.hint(ctx, job.Copy(ctx, d.remotes.once(source), d.remotes.once(t.end)))
	})
}

// unlimited is the value of --max-delete that is not given. It is no number that somebody
// would write to mean "none", as -1 is.
const unlimited = math.MaxInt64

// deletions returns the value of --max-delete as package transfer takes it.
func (o *copyOptions) deletions() int64 {
	switch o.maxDelete {
	case unlimited:
		return 0
	case 0:
		return never
	}
	return o.maxDelete
}

// checkRoot refuses to make a mirror of a directory that holds all that somebody has.
func (o *copyOptions) checkRoot(d *deps, side side, t copyTarget) error {
	if !o.mirroring || o.force || !t.isDir {
		return nil
	}
	if refused := side == remote && isRoot(t.end.Path) || side == local && d.local.isRoot(t.end); !refused {
		return nil
	}
	return hinted{errRoot{t.end.Path}, "choose a directory in it, or repeat the command with --force"}
}

// isRoot reports whether e is the root of a file system, or the user's home or above it.
func (l *localSide) isRoot(e transfer.End) bool {
	if e.Path == pfs.Root {
		return true
	}
	name, err := os.UserHomeDir()
	if err == nil {
		name, err = filepath.EvalSymlinks(name)
	}
	if err != nil {
		return false // there is no home
	}
	home, err := l.end(name)
	return err == nil && home.FS == e.FS && home.Path.Within(e.Path)
}

// errRoot says that a mirror would be made of all that somebody has.
type errRoot struct{ path pfs.Path }

func (e errRoot) Error() string {
	return localText(e.path) + ": refused: --delete would remove everything in it that SRC does not have"
}

// Unwrap makes it a conflict with what is there.
func (errRoot) Unwrap() error { return pfs.NotEmpty }

// deleteHint is the way out of the refusal e.
func deleteHint(e *transfer.DeleteError) string {
	if e.Max < 0 {
		return "is the disk of SRC mounted? --force goes on all the same"
	}
	return "--dry-run without --max-delete lists them"
}
