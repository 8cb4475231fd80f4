package files

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type quotaOptions struct {
	human, json bool
}

// Quota returns the command quota.
func Quota(a *app.App) *cli.Command {
	var o quotaOptions
	return a.NewCommand(app.Spec{
		Name: "quota", Args: "[PATH...]", Most: -1,
		Summary: "show usage and limits",
		Text: `Shows what the files below each directory, or below your home without PATH, use and may
use. "-" means that the directory has no limit of its own; the limits of the directories
above it still hold. FILES counts directories as well.`,
		Examples: []string{
			"paddlectl quota -h",
			"paddlectl quota set --bytes 500G --files 1000000 /pfs/dc1/home/bob",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			app.HumanFlag(&o.human),
			app.JSONFlag(&o.json),
		},
		Run:  func(ctx context.Context, operands []string) error { return runQuota(ctx, a, o, operands) },
		Subs: []*cli.Command{setQuotaCommand(a)},
	})
}

func runQuota(ctx context.Context, a *app.App, o quotaOptions, operands []string) error {
	header := !o.json
	return a.EachTarget(ctx, operands, func(t app.Target) error {
		u, err := pfs.UsageOf(ctx, t.FS, t.Path)
		if err != nil {
			return err
		}
		if header {
			a.Printf("%14s %14s %5s %10s %10s %5s  %s\n", "BYTES", "LIMIT", "USE%", "FILES", "LIMIT", "USE%", "PATH")
			header = false
		}
		size, entries := sizes(o.human), u.Files+u.Dirs
		a.Show(o.json, struct {
			Path     pfs.Path `json:"path"`
			Bytes    int64    `json:"bytes"`
			MaxBytes int64    `json:"max_bytes"`
			Files    int64    `json:"files"`
			Dirs     int64    `json:"dirs"`
			MaxFiles int64    `json:"max_files"`
		}{t.Path, u.Bytes, u.MaxBytes, u.Files, u.Dirs, u.MaxFiles},
			"%14s %14s %5s %10d %10s %5s  %s\n",
			size(u.Bytes), limit(u.MaxBytes, size), share(u.Bytes, u.MaxBytes),
			entries, limit(u.MaxFiles, sizes(false)), share(entries, u.MaxFiles), a.Name(string(t.Path)))
		return nil
	})
}

// limit formats a limit; "-" if there is none.
func limit(n int64, text func(int64) string) string {
	if n == 0 {
		return "-"
	}
	return text(n)
}

type quotaSetOptions struct {
	bytes cliio.SizeFlag
	files int64
}

// asItIs means a limit that is not given.
const asItIs = -1

func setQuotaCommand(a *app.App) *cli.Command {
	var o quotaSetOptions
	return a.NewCommand(app.Spec{
		Name: "set", Args: "PATH...", Least: 1, Most: -1,
		Summary: "limit what a directory may hold (administrators)",
		Text: `Limits the tree below each directory. A limit that is not given stays as it is. Limits
are possible on /pfs/DC/home, /pfs/DC/public, /pfs/DC/mnt/NAME and every directory below
them, but not on /pfs/DC itself.`,
		Examples: []string{"paddlectl quota set --bytes 500G /pfs/dc1/home/bob"},
		Exits:    app.PathExits(),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "bytes", Usage: "at most `SIZE` bytes; 0 removes the limit", Value: &o.bytes},
			&cli.Int64Flag{Name: "files", Usage: "at most `N` files and directories; 0 removes the limit", Value: asItIs, DefaultText: "as it is", Destination: &o.files},
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
			return cliargs.Usagef("%s cannot have a quota: it is above the stores; home, public and mapped directories and all directories below them can", t.Path)
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
