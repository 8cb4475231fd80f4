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
		text: `Shows size and free space of the stores that hold the paths; without PATH of all
datacenters of the current service. What you may use of it: see quota.`,
		examples: []string{"paddlectl df -h"},
		exits:    remoteExits(cliio.NotFound, cliio.Partly),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}, Usage: "sizes like 1.5G", Destination: &o.human},
			jsonFlag(&o.json),
		},
		run: func(ctx context.Context, operands []string) error { return runDf(ctx, d, o, operands) },
	})
}

func runDf(ctx context.Context, d *deps, o dfOptions, operands []string) error {
	if len(operands) == 0 {
		var err error
		if operands, err = d.datacenters(ctx); err != nil {
			return err
		}
	}
	header := !o.json
	return d.eachTarget(ctx, operands, func(t target) error {
		space, err := pfs.SpaceOf(ctx, t.fs, t.path)
		if err != nil {
			return err
		}
		if header {
			d.out.Printf("%14s %14s %14s %4s  %s\n", "SIZE", "USED", "FREE", "USE%", "PATH")
			header = false
		}
		return o.print(d, t.path, space)
	})
}

// datacenters returns /pfs/DC/home, which is on its store, for each datacenter.
func (d *deps) datacenters(ctx context.Context) ([]string, error) {
	conn, err := d.remotes.current(ctx)
	if err != nil {
		return nil, err
	}
	top := pfs.Root.Join("pfs")
	var list []string
	for e, err := range pfs.Entries(ctx, conn.fs, top, nil) {
		if err != nil {
			return nil, err
		}
		if e.Name != "public" {
			list = append(list, string(top.Join(e.Name).Join("home")))
		}
	}
	return list, nil
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
