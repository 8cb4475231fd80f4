package main

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type dfOptions struct {
	human, json bool
}

func (d *deps) dfCommand() *cli.Command {
	var o dfOptions
	return d.command(spec{
		name: "df", args: "[PATH...]", most: -1,
		summary: "show the space on each datacenter",
		text: `Shows size and free space of the stores that hold the paths. /pfs/DC stands for
all that is below it, home and public; /pfs, and no PATH, for all datacenters of
the current service. What you may use of it: see quota.`,
		examples: []string{"paddlectl df -h", "paddlectl df --json /pfs/dc1"},
		exits:    pathExits(),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}, Usage: "sizes like 1.5G", Destination: &o.human},
			jsonFlag(&o.json),
		},
		run: func(ctx context.Context, operands []string) error { return runDf(ctx, d, o, operands) },
	})
}

func runDf(ctx context.Context, d *deps, o dfOptions, operands []string) error {
	if len(operands) == 0 {
		operands = []string{string(top)}
	}
	f := &df{d: d, o: o, header: !o.json}
	return d.eachTarget(ctx, operands, func(t target) error { return f.target(ctx, t) })
}

// df is one run of the command.
type df struct {
	d      *deps
	o      dfOptions
	header bool // is still to be printed
}

// target shows the store that holds t; where t is above the stores, all those below.
func (f *df) target(ctx context.Context, t target) error {
	if t.path != top && t.path.Parent() != top || t.path == currentPublic {
		return f.store(ctx, t)
	}
	tally := cliio.NewTally(f.d.reportFailure)
	for e, err := range pfs.Entries(ctx, t.fs, t.path, nil) {
		if err != nil {
			return err
		}
		below := target{fs: t.fs, path: t.path.Join(e.Name)}
		if below.path == currentPublic {
			continue // that of a datacenter, which has its own row
		}
		err := f.target(ctx, below)
		tally.Add(err)
		if hopeless(ctx, err) {
			break
		}
	}
	return tally.Err()
}

// store prints the row of the store that holds t.
func (f *df) store(ctx context.Context, t target) error {
	space, err := pfs.SpaceOf(ctx, t.fs, t.path)
	if err != nil {
		return err
	}
	if f.header {
		f.d.out.Printf("%14s %14s %14s %4s  %s\n", "SIZE", "USED", "FREE", "USE%", "PATH")
		f.header = false
	}
	return f.o.print(f.d, t.path, space)
}

func (o dfOptions) print(d *deps, name pfs.Path, s pfs.Space) error {
	used := s.Total - s.Free
	if o.json {
		return d.out.JSON(struct {
			Path  pfs.Path `json:"path"`
			Total int64    `json:"total"`
			Used  int64    `json:"used"`
			Free  int64    `json:"free"`
		}{name, s.Total, used, s.Free})
	}
	size := func(n int64) string { return fmt.Sprint(n) }
	if o.human {
		size = cliio.ShortSize
	}
	d.out.Printf("%14s %14s %14s %4s  %s\n", size(s.Total), size(used), size(s.Free), share(used, s.Total), d.out.Name(string(name)))
	return nil
}

// share writes a part of a whole in percent; "-" if the whole is not known.
func share(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}
