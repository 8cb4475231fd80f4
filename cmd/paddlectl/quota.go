package main

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
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
			&cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}, Usage: "sizes like 1.5G", Destination: &o.human},
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
		summary:  "limit what a directory may hold (administrators)",
		text:     "Limits the tree below each directory. A limit that is not given stays as it is.",
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
