package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type publishOptions struct{ force, changeSchema, allowEmpty, quiet, json bool }

func datasetPublishCommand(a *app.App) *cli.Command {
	var o publishOptions
	return a.NewCommand(app.Spec{
		Name: "publish", Args: "DATASET [/pfs/DC/public/dataset/NAME]", Least: 1, Most: 2,
		Summary: "make a dataset public, as a new version",
		Text: `Checks a dataset, copies it to /pfs/DC/public/dataset/NAME/N, where N is the next free
number, checks the copy, and writes its manifest last: a version without a manifest is
incomplete. A complete version never changes; publishing again makes the next one. Then
NAME/latest leads to the new version, which dataset info, cat, shard, split and verify
read if they are given NAME. dataset latest chooses another version. The default target
is the name of the dataset in the current datacenter. Only publishers may publish.

A dataset that is the newest version already is not copied again. One whose prefix,
columns, classes or payload differ from those of the newest version is refused, because
readers of NAME rely on them.

To resume an interrupted publication, run the same command again.`,
		Examples: []string{"paddlectl dataset publish ./dataset /pfs/dc1/public/dataset/uci_housing"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "make a new version even if the newest one is the same", Destination: &o.force},
			&cli.BoolFlag{Name: "change-schema", Usage: "allow prefix, columns, classes and payload to differ from the newest version", Destination: &o.changeSchema},
			&cli.BoolFlag{Name: "allow-empty", Usage: "allow a dataset without records", Destination: &o.allowEmpty},
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error { return runPublish(ctx, a, o, operands) },
	})
}

func runPublish(ctx context.Context, a *app.App, o publishOptions, operands []string) error {
	s, err := open(ctx, a, operands[0])
	if err != nil {
		return err
	}
	top, err := publishTarget(ctx, a, s, operands[1:])
	if err != nil {
		return err
	}
	v := &verifying{a: a, o: datasetVerifyOptions{quiet: true}}
	p, err := s.Publish(ctx, top, dataset.PublishOptions{
		Force: o.force, ChangeSchema: o.changeSchema, AllowEmpty: o.allowEmpty, Found: v.found,
		Copy: func(ctx context.Context, pairs iter.Seq2[transfer.Pair, error]) error {
			return copyShards(ctx, a, pairs)
		},
	})
	if damaged := (*dataset.DamagedError)(nil); errors.As(err, &damaged) {
		return cliio.Reported(cliio.Integrity) // each shard was named
	}
	if err != nil {
		return withHint(ctx, a, err)
	}
	return tellPublished(a, o, s, p)
}

// publishTarget returns the directory for the versions of s: the one that the operand names, or the
// one of its name in the current datacenter.
func publishTarget(ctx context.Context, a *app.App, s *dataset.Dataset, operands []string) (transfer.End, error) {
	if len(operands) > 0 {
		return parsePublicDir(ctx, a, operands[0])
	}
	conn, err := a.Remotes.Current(ctx)
	if err != nil {
		return transfer.End{}, err
	}
	return parsePublicDir(ctx, a, fmt.Sprintf("/pfs/%s/public/dataset/%s", conn.Entry.Name, s.Name))
}

// parsePublicDir returns the directory of the public dataset that the operand names.
func parsePublicDir(ctx context.Context, a *app.App, operand string) (transfer.End, error) {
	op, err := a.ParseOperand(operand)
	if err != nil {
		return transfer.End{}, err
	}
	if op.Side != app.Remote || !app.IsPublicDataset(op.Path) {
		return transfer.End{}, cliargs.Usagef("%q cannot be a public dataset: /pfs/DC/public/dataset/NAME is needed", operand)
	}
	return a.End(ctx, op)
}

// copyShards copies the shards.
func copyShards(ctx context.Context, a *app.App, pairs iter.Seq2[transfer.Pair, error]) error {
	o := copying.SimpleCopy()
	o.Quiet, o.NoClobber = true, true
	return copying.Run(ctx, a, o, nil, func(ctx context.Context, job *transfer.Job) error { return job.CopyAll(ctx, pairs) })
}

// publishedJSON is the result of publish with --json.
type publishedJSON struct {
	Path    string `json:"path"`
	Version int    `json:"version"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"`  // of the manifest
	Already bool   `json:"already"` // it was that version before
}

func tellPublished(a *app.App, o publishOptions, s *dataset.Dataset, p *dataset.Published) error {
	path := app.LocalText(p.Dir.Path)
	if o.json {
		return a.JSON(publishedJSON{path, p.Version, s.Records, s.Bytes, s.Digest, p.Already})
	}
	if p.Already && !o.quiet {
		a.Message("already published as version %d: %s", p.Version, path)
	} else if !o.quiet {
		a.Message("%s: %s in %s, %s", path, app.Count(s.Records, "record", "records"),
			app.Count(int64(len(s.Shards)), "shard", "shards"), cliio.Size(s.Bytes))
	}
	return nil
}
