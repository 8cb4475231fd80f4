package main

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

func (d *deps) statCommand() *cli.Command {
	var json bool
	return d.command(spec{
		name: "stat", args: "PATH...", least: 1, most: -1,
		summary: "describe files on PaddlePaddle Cloud",
		text: `Shows all that is known of files, directories and links. Links are described
themselves, not followed.`,
		examples: []string{"paddlectl stat --json /pfs/dc1/home/alice/model.bin"},
		exits:    pathExits(),
		flags:    []cli.Flag{jsonFlag(&json)},
		run: func(ctx context.Context, operands []string) error {
			return d.eachTarget(ctx, operands, func(t target) error { return runStat(ctx, d, t, json) })
		},
	})
}

func runStat(ctx context.Context, d *deps, t target, json bool) error {
	info, err := t.fs.Stat(ctx, t.path) // again after a pattern: a listing tells less
	if err != nil {
		return err
	}
	if json {
		return d.out.JSON(newEntryJSON(t.path, info))
	}
	for _, line := range describe(t.path, info) {
		if line.value != "" {
			d.out.Printf("%-9s %s\n", line.name+":", d.out.Name(line.value))
		}
	}
	return nil
}

type statLine struct{ name, value string }

func describe(name pfs.Path, info pfs.Info) []statLine {
	size := ""
	if !info.IsDir() {
		size = sizeText(info.Size)
	}
	return []statLine{
		{"Path", string(name)},
		{"Type", typeName(info)},
		{"Target", info.Target},
		{"Size", size},
		{"Mode", octal(info.Mode) + " " + modeText(info)},
		{"Modified", info.ModTime.Local().Format(time.RFC3339Nano)},
		{"Owner", info.Owner},
		{"Group", info.Group},
		{"Digest", info.Digest},
		{"Version", info.Version},
	}
}
