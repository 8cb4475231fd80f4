package files

import (
	"context"
	"os"
	"path/filepath"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// Sync returns the command sync.
func Sync(a *app.App) *cli.Command {
	o := &copying.Options{Recursive: true}
	return a.NewCommand(app.Spec{
		Name: "sync", Args: "SRC DEST", Least: 2, Most: 2,
		Summary: "make one directory like another",
		Text: `Copies what is missing or different in the directory DEST from the directory SRC. A
slash at the end of either makes no difference. With --delete DEST becomes a mirror:
after everything is copied, what SRC does not have is removed from DEST. If anything
failed, nothing is removed. What --exclude leaves out stays.

--delete refuses three mistakes with code 5 before it changes anything: an SRC without
files, such as a disk that is not mounted; a DEST that is a home, a public or mapped
directory, or on this machine the root, your home or a directory above it; and more
deletions than --max-delete allows. --force allows the first two.`,
		Examples: []string{
			"paddlectl sync ./data /pfs/dc1/home/alice/data",
			"paddlectl sync --delete --exclude '*.tmp' /pfs/dc1/home/alice/out ./out",
			"paddlectl sync --delete --max-delete 100 ./data /pfs/dc1/home/alice/data",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "delete", Usage: "remove from DEST what SRC does not have", Destination: &o.Delete},
			&cli.Int64Flag{Name: "max-delete", Usage: "with --delete: change nothing if more than `N` files would be removed", Value: copying.Unlimited, DefaultText: "any number", Destination: &o.MaxDelete},
			&cli.BoolFlag{Name: "force", Usage: "with --delete: allow an SRC without files, and a DEST that is a home or another root", Destination: &o.DeleteAll},
		}, o.Flags()...),
		Run: func(ctx context.Context, operands []string) error {
			return copying.Summed(a, o, runSync(ctx, a, o, operands))
		},
	})
}

func runSync(ctx context.Context, a *app.App, o *copying.Options, operands []string) error {
	ctx = o.Budget(ctx, a)
	ops, err := copying.Begin(a, o, operands)
	if err != nil {
		return err
	}
	from, to := ops[0], ops[1]
	switch {
	case !o.Delete && (o.DeleteAll || o.MaxDelete != copying.Unlimited):
		return cliargs.Usagef("--force and --max-delete need --delete")
	case o.MaxDelete < 0:
		return cliargs.Usagef("--max-delete %d: a number from 0 up is needed", o.MaxDelete)
	case from.Side == app.Stdio || to.Side == app.Stdio:
		return cliargs.Usagef("\"-\" is not a directory: sync copies directories")
	case from.Side == app.Local && to.Side == app.Local:
		return cliargs.Usagef("both paths are local: paths of the service begin with /pfs/%s", a.DidYouMeanInHome(to.Text))
	}
	source, err := a.End(ctx, from)
	if err != nil {
		return err
	}
	source, info, err := source.Follow(ctx)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return cliargs.Usagef("%q is not a directory: paddlectl cp copies files", from.Text)
	}
	t, err := copying.LookAt(ctx, a, to, false)
	if err != nil {
		return err
	}
	if err := checkRoot(o, a, to.Side, t); err != nil {
		return err
	}
	c := &copying.Copier{App: a, O: o, To: t, Tops: map[pfs.Path]string{}}
	return copying.Run(ctx, a, o, c, func(ctx context.Context, job *transfer.Job) error {
		return c.Hint(ctx, job.Copy(ctx, source, t.End))
	})
}

// checkRoot refuses to mirror into a root or a home, which may hold all data of a user.
func checkRoot(o *copying.Options, a *app.App, side app.Side, t copying.Target) error {
	if !o.Delete || o.DeleteAll || !t.IsDir {
		return nil
	}
	if refused := side == app.Remote && app.IsRoot(t.End.Path) || side == app.Local && isRoot(&a.Local, t.End); !refused {
		return nil
	}
	return app.WithHint(errRoot{t.End.Path}, "choose a directory in it, or repeat the command with --force")
}

// isRoot reports whether e is the root of a file system, or the user's home or above it.
func isRoot(l *app.LocalSide, e transfer.End) bool {
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
	home, err := l.End(name)
	return err == nil && home.FS == e.FS && home.Path.Within(e.Path)
}

// errRoot is the refusal to mirror into a root or a home.
type errRoot struct{ path pfs.Path }

func (e errRoot) Error() string {
	return app.LocalText(e.path) + ": refused: --delete would remove everything in it that SRC does not have"
}

// Unwrap makes it a conflict with existing entries.
func (errRoot) Unwrap() error { return pfs.NotEmpty }
