package main

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

func (d *deps) touchCommand() *cli.Command {
	var o changeOptions
	return d.command(spec{
		name: "touch", args: "PATH...", least: 1, most: -1,
		summary:  "make empty files, or set their time to now",
		text:     "Makes files that are not there, empty, and gives those that are the current time.",
		examples: []string{"paddlectl touch /pfs/dc1/home/alice/out/_DONE"},
		exits:    pathExits(),
		flags:    []cli.Flag{o.jsonFlag()},
		run: func(ctx context.Context, operands []string) error {
			o.begin(d)
			return d.eachNamed(ctx, operands, func(t target) error {
				event, err := touch(ctx, d, t)
				if err == nil {
					o.done(d, eventJSON{Event: event, Path: string(t.path)}, string(t.path))
				}
				return d.mkdirHint(ctx, err, t.end())
			})
		},
	})
}

// touch returns the event that tells what was done.
func touch(ctx context.Context, d *deps, t target) (event string, err error) {
	_, err = t.fs.Stat(ctx, t.path)
	if errors.Is(err, pfs.NotExist) {
		err = createEmpty(ctx, t)
		if !errors.Is(err, pfs.Exist) { // somebody else has just made it
			return "created", err
		}
	} else if err != nil {
		return "", err
	}
	return "touched", pfs.SetAttr(ctx, t.fs, t.path, pfs.AttrModTime, pfs.Attrs{ModTime: d.now()})
}

func createEmpty(ctx context.Context, t target) error {
	w, err := t.fs.Create(ctx, t.path, pfs.CreateOptions{})
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
