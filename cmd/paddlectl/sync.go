package main

import (
	"context"

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
anything failed nothing is removed. What --exclude leaves out stays.`,
		examples: []string{
			"paddlectl sync ./data /pfs/dc1/home/alice/data",
			"paddlectl sync --delete --exclude '*.tmp' /pfs/dc1/home/alice/out ./out",
		},
		exits: pathExits(cliio.Integrity),
		flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "delete", Usage: "remove from DEST what SRC does not have", Destination: &o.mirroring},
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
	c := &copier{d: d, o: o, to: t, tops: map[pfs.Path]string{}}
	return d.transfer(ctx, o, c, func(ctx context.Context, job *transfer.Job) error {
		return c.hint(ctx, job.Copy(ctx, d.remotes.once(source), d.remotes.once(t.end)))
	})
}
