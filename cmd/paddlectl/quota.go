package main

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type quotaOptions struct {
	human, json bool
}

func (d *deps) quotaCommand() *cli.Command {
	var o quotaOptions
	return d.command(spec{
		name: "quota", args: "[PATH...]", most: -1,
		summary: "show what is used and allowed",
		text: `Shows what the files below each directory use and how much they may; without PATH
below your home. "-" says that the directory has no limit of its own; those of the
directories that it is in hold, too. FILES counts directories as well.`,
		examples: []string{
			"paddlectl quota -h",
			"paddlectl quota set --bytes 500G --files 1000000 /pfs/dc1/home/bob",
		},
		exits: pathExits(),
		flags: []cli.Flag{
			humanFlag(&o.human),
			jsonFlag(&o.json),
		},
		run:  func(ctx context.Context, operands []string) error { return runQuota(ctx, d, o, operands) },
		subs: []*cli.Command{d.quotaSetCommand()},
	})
}

func runQuota(ctx context.Context, d *deps, o quotaOptions, operands []string) error {
	if len(operands) == 0 {
		home, err := d.home(ctx)
		if err != nil {
			return err
		}
		operands = []string{string(home)}
	}
	header := !o.json
	return d.eachTarget(ctx, operands, func(t target) error {
		usage, err := pfs.UsageOf(ctx, t.fs, t.path)
		if err != nil {
			return err
		}
		if header {
			d.out.Printf("%14s %14s %5s %10s %10s %5s  %s\n", "BYTES", "LIMIT", "USE%", "FILES", "LIMIT", "USE%", "PATH")
			header = false
		}
		return o.print(d, t.path, usage)
	})
}

func (o quotaOptions) print(d *deps, name pfs.Path, u pfs.Usage) error {
	if o.json {
		return d.out.JSON(struct {
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
	d.out.Printf("%14s %14s %5s %10d %10s %5s  %s\n",
		size(u.Bytes), limit(u.MaxBytes, size), share(u.Bytes, u.MaxBytes),
		entries, limit(u.MaxFiles, number), share(entries, u.MaxFiles), d.out.Name(string(name)))
	return nil
}
