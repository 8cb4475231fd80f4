package files

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Touch returns the command touch.
func Touch(a *app.App) *cli.Command {
	var o app.ChangeOptions
	return a.NewCommand(app.Spec{
		Name: "touch", Args: "PATH...", Least: 1, Most: -1,
		Summary:  "make empty files, or set their time to now",
		Text:     "Makes missing files, empty, and gives existing ones the current time.",
		Examples: []string{"paddlectl touch /pfs/dc1/home/alice/out/_DONE"},
		Exits:    app.PathExits(),
		Flags:    []cli.Flag{o.JSONFlag()},
		Run: func(ctx context.Context, operands []string) error {
			o.Begin(a)
			return a.EachNamed(ctx, operands, func(t app.Target) error {
				event, err := touch(ctx, a, t)
				if err == nil {
					o.Done(a, app.EventJSON{Event: event, Path: string(t.Path)}, string(t.Path))
				}
				return mkdirHint(ctx, a, err, t.End())
			})
		},
	})
}

// touch touches t and returns the event to report.
func touch(ctx context.Context, a *app.App, t app.Target) (event string, err error) {
	_, err = t.FS.Stat(ctx, t.Path)
	if errors.Is(err, pfs.NotExist) {
		err = createEmpty(ctx, t)
		if !errors.Is(err, pfs.Exist) { // another process has just created it
			return "created", err
		}
	} else if err != nil {
		return "", err
	}
	return "touched", pfs.SetAttr(ctx, t.FS, t.Path, pfs.AttrModTime, pfs.Attrs{ModTime: a.Now()})
}

func createEmpty(ctx context.Context, t app.Target) error {
	w, err := t.FS.Create(ctx, t.Path, pfs.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	_, err = w.Commit(ctx, pfs.CommitOptions{NoReplace: true})
	if errors.Is(err, pfs.Unsupported) {
		_, err = w.Commit(ctx, pfs.CommitOptions{})
	}
	return err
}
