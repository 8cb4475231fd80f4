package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job/stage"
	"github.com/urfave/cli/v2"
)

// The directories of staged inputs, below --dir.
const (
	inputsName = "inputs"       // has them under their paths below /pfs
	stagedName = "inputs-cache" // has the files, unless --cache-dir says otherwise
)

// stageInputs returns the command stage.
func stageInputs(a *app.App) *cli.Command {
	o := &rankOptions{a: a}
	var cache, size string
	return a.NewCommand(app.Spec{
		Name:    "stage",
		Summary: "copy the inputs of a job to this machine",
		Text: `Copies the inputs of a job to the local disk before the entry starts, and verifies them.
$PFS_INPUTS has them under their paths below /pfs. With --cache-dir, a directory of the node,
jobs share the copies. An interrupted copy is resumed.
` + rankText,
		Examples: []string{"pfs-agent stage --spec /pfs-spec/spec.json --dir /pfs-job --service https://pfs.example.org"},
		Exits:    app.RemoteExits(cliio.NotFound, cliio.Denied, cliio.Integrity),
		Flags: o.flags(true,
			&cli.StringFlag{Name: "cache-dir", Usage: "keep the copies in the directory `DIR`, for other jobs, too (default: below --dir)", Destination: &cache},
			&cli.StringFlag{Name: "cache-size", Usage: "let the copies of all jobs take `SIZE` at most, such as 100G", Destination: &size},
		),
		Run: func(ctx context.Context, _ []string) error {
			if err := o.read(); err != nil {
				return err
			}
			opts := stage.Options{Dir: cmp.Or(cache, filepath.Join(o.dir, stagedName)), Told: func(s string) { a.Message("%s", s) }}
			var err error
			if size != "" {
				if opts.Limit, err = cliio.ParseSize(size); err != nil {
					return cliargs.Usagef("--cache-size: %v", err)
				}
			}
			if opts.FS, err = o.tree(ctx); err != nil {
				return err
			}
			inputs, err := stage.Stage(ctx, opts, o.rank.Spec.Inputs, filepath.Join(o.dir, inputsName))
			if err != nil {
				return err
			}
			inputs.Close()
			return nil
		},
	})
}
