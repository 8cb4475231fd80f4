package files

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type quotaOptions struct {
	human, json bool
}

func Quota(a *app.App) *cli.Command {
	var o quotaOptions
	return a.NewCommand(app.Spec{
		Name: "quota", Args: "[PATH...]", Most: -1,
		Summary: "show what is used and allowed",
		Text: `Shows what the files below each directory use and how much they may; without PATH
below your home. "-" says that the directory has no limit of its own; those of the
directories that it is in hold, too. FILES counts directories as well.`,
		Examples: []string{
			"paddlectl quota -h",
			"paddlectl quota set --bytes 500G --files 1000000 /pfs/dc1/home/bob",
		},
		Exits: app.PathExits(),
		Flags: []cli.Flag{
			app.HumanFlag(&o.human),
			app.JsonFlag(&o.json),
		},
		Run:  func(ctx context.Context, operands []string) error { return runQuota(ctx, a, o, operands) },
		Subs: []*cli.Command{quotaSetCommand(a)},
	})
}

func runQuota(ctx context.Context, a *app.App, o quotaOptions, operands []string) error {
	if len(operands) == 0 {
		home, err := a.Home(ctx)
		if err != nil {
			return err
		}
		operands = []string{string(home)}
	}
	header := !o.json
	return a.EachTarget(ctx, operands, func(t app.Target) error {
		usage, err := pfs.UsageOf(ctx, t.FS, t.Path)
		if err != nil {
			return err
		}
		if header {
			a.Printf("%14s %14s %5s %10s %10s %5s  %s\n", "BYTES", "LIMIT", "USE%", "FILES", "LIMIT", "USE%", "PATH")
			header = false
		}
		return o.print(a, t.Path, usage)
	})
}

func (o quotaOptions) print(a *app.App, name pfs.Path, u pfs.Usage) error {
	if o.json {
		return a.JSON(struct {
			Path     pfs.Path `json:"path"`
			Bytes    int64    `json:"bytes"`
			MaxBytes int64    `json:"max_bytes"`
			Files    int64    `json:"files"`
			Dirs     int64    `json:"dirs"`
			MaxFiles int64    `json:"max_files"`
		}{name, u.Bytes, u.MaxBytes, u.Files, u.Dirs, u.MaxFiles})
	}
	size := func(n int64) string { return fmt.Sprint(n) }
	if o.human {
		size = cliio.ShortSize
	}
	limit := func(n int64, text func(int64) string) string {
		if n == 0 {
			return "-"
		}
		return text(n)
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	entries := u.Files + u.Dirs
	a.Printf("%14s %14s %5s %10d %10s %5s  %s\n",
		size(u.Bytes), limit(u.MaxBytes, size), share(u.Bytes, u.MaxBytes),
		entries, limit(u.MaxFiles, number), share(entries, u.MaxFiles), a.Name(string(name)))
	return nil
}
