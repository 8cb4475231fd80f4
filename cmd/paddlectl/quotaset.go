package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type quotaSetOptions struct {
	bytes cliio.SizeFlag
	files int64
}

// asItIs is a limit that is not given.
const asItIs = -1

func (d *deps) quotaSetCommand() *cli.Command {
	var o quotaSetOptions
	return d.command(spec{
		name: "set", args: "PATH...", least: 1, most: -1,
		summary: "limit what a directory may hold (administrators)",
		text: `Limits the tree below each directory. A limit that is not given stays as it is. Each
directory of a store can have limits: /pfs/DC/home, /pfs/DC/public, /pfs/DC/mnt/NAME
and all below them, but not /pfs/DC, which is put together of them.`,
		examples: []string{"paddlectl quota set --bytes 500G /pfs/dc1/home/bob"},
		exits:    pathExits(),
		flags: []cli.Flag{
			&cli.GenericFlag{Name: "bytes", Usage: "at most `SIZE` bytes; 0 lifts the limit", Value: &o.bytes},
			&cli.Int64Flag{Name: "files", Usage: "at most `N` files and directories; 0 lifts the limit", Value: asItIs, DefaultText: "as it is", Destination: &o.files},
		},
		run: func(ctx context.Context, operands []string) error { return runQuotaSet(ctx, d, o, operands) },
	})
}

func runQuotaSet(ctx context.Context, d *deps, o quotaSetOptions, operands []string) error {
	switch {
	case !o.bytes.Given && o.files == asItIs:
		return cliargs.Usagef("--bytes SIZE or --files N is needed")
	case o.files < asItIs:
		return cliargs.Usagef("--files %d: a number from 0 up is needed", o.files)
	}
	return d.eachTarget(ctx, operands, func(t target) error {
		if aboveStores(t.path) {
			return cliargs.Usagef("%s can have no quota: it is above the stores; home, public and mapped directories of a datacenter can, and all directories below", t.path)
		}
		usage, err := pfs.UsageOf(ctx, t.fs, t.path)
		if err != nil {
			return err
		}
		if o.bytes.Given {
			usage.MaxBytes = o.bytes.Bytes
		}
		if o.files != asItIs {
			usage.MaxFiles = o.files
		}
		return pfs.SetQuota(ctx, t.fs, t.path, usage.MaxBytes, usage.MaxFiles)
	})
}
