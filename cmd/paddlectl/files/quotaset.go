package files

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type quotaSetOptions struct {
	bytes cliio.SizeFlag
	files int64
}

// asItIs is a limit that is not given.
const asItIs = -1

func quotaSetCommand(a *app.App) *cli.Command {
	var o quotaSetOptions
	return a.NewCommand(app.Spec{
		Name: "set", Args: "PATH...", Least: 1, Most: -1,
		Summary: "limit what a directory may hold (administrators)",
		Text: `Limits the tree below each directory. A limit that is not given stays as it is. Each
directory of a store can have limits: /pfs/DC/home, /pfs/DC/public, /pfs/DC/mnt/NAME
and all below them, but not /pfs/DC, which is put together of them.`,
		Examples: []string{"paddlectl quota set --bytes 500G /pfs/dc1/home/bob"},
		Exits:    app.PathExits(),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "bytes", Usage: "at most `SIZE` bytes; 0 lifts the limit", Value: &o.bytes},
			&cli.Int64Flag{Name: "files", Usage: "at most `N` files and directories; 0 lifts the limit", Value: asItIs, DefaultText: "as it is", Destination: &o.files},
		},
		Run: func(ctx context.Context, operands []string) error { return runQuotaSet(ctx, a, o, operands) },
	})
}

func runQuotaSet(ctx context.Context, a *app.App, o quotaSetOptions, operands []string) error {
	switch {
	case !o.bytes.Given && o.files == asItIs:
		return cliargs.Usagef("--bytes SIZE or --files N is needed")
	case o.files < asItIs:
		return cliargs.Usagef("--files %d: a number from 0 up is needed", o.files)
	}
	return a.EachTarget(ctx, operands, func(t app.Target) error {
		if app.AboveStores(t.Path) {
			return cliargs.Usagef("%s can have no quota: it is above the stores; home, public and mapped directories of a datacenter can, and all directories below", t.Path)
		}
		usage, err := pfs.UsageOf(ctx, t.FS, t.Path)
		if err != nil {
			return err
		}
		if o.bytes.Given {
			usage.MaxBytes = o.bytes.Bytes
		}
		if o.files != asItIs {
			usage.MaxFiles = o.files
		}
		return pfs.SetQuota(ctx, t.FS, t.Path, usage.MaxBytes, usage.MaxFiles)
	})
}
