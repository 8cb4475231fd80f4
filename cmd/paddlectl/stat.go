package main

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

func (d *deps) statCommand() *cli.Command {
	s := &stat{d: d}
	return d.command(spec{
		name: "stat", args: "PATH...", least: 1, most: -1,
		summary: "describe files",
		text: `Shows all that is known of files, directories and links. Links are described
themselves, not followed.`,
		examples: []string{"paddlectl stat --json /pfs/dc1/home/alice/model.bin"},
		exits:    pathExits(),
		flags:    []cli.Flag{jsonFlag(&s.json), &cliargs.Foreign{Letter: "c", Instead: "--json prints all that there is"}},
		run: func(ctx context.Context, operands []string) error {
			return d.eachTarget(ctx, operands, func(t target) error { return s.target(ctx, t) })
		},
	})
}

// stat is one run of the command.
type stat struct {
	d     *deps
	json  bool
	begun bool // something was printed
}

func (s *stat) target(ctx context.Context, t target) error {
	info, err := t.fs.Stat(ctx, t.path) // again after a pattern: a listing tells less
	if err != nil {
		return err
	}
	if s.json {
		return s.d.out.JSON(newEntryJSON(t.path, info))
	}
	if s.begun {
		s.d.out.Printf("\n")
	}
	s.begun = true
	for _, line := range describe(t.path, info) {
		if line.value != "" {
			s.d.out.Printf("%-9s %s\n", line.name+":", s.d.out.Name(line.value))
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
