package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

func (d *deps) recordioLsCommand() *cli.Command {
	o := &readOptions{}
	var json bool
	return d.command(spec{
		name: "ls", args: "FILE...", least: 1, most: -1,
		summary: "list files with their records, chunks, compressor and bytes",
		text: `Lists files with the number of their records and chunks, how they are compressed,
and their bytes. Only the headers of the chunks are read: verify reads everything.`,
		examples: []string{"paddlectl recordio ls '/pfs/dc1/public/dataset/housing/train-*'"},
		exits:    pathExits(cliio.Integrity),
		flags:    []cli.Flag{o.limitFlag(), jsonFlag(&json)},
		run: func(ctx context.Context, operands []string) error {
			if err := o.check(); err != nil {
				return err
			}
			l := recordioLs{d: d, o: o, json: json}
			return l.run(ctx, operands)
		},
	})
}

// recordioLs is one run of the command.
type recordioLs struct {
	d     *deps
	o     *readOptions
	json  bool
	begun bool
}

func (l *recordioLs) run(ctx context.Context, operands []string) error {
	files, err := l.d.dataFiles(ctx, operands)
	if err != nil {
		return err
	}
	return eachOf(ctx, l.d, files, func(f dataFile) error {
		r, err := l.d.openRecordFile(ctx, f, l.o)
		if err != nil {
			return err
		}
		defer r.Close()
		l.print(newFileJSON(r))
		return nil
	})
}

func (l *recordioLs) print(j fileJSON) {
	if l.json {
		l.d.out.JSON(j) // an error shows when Out is flushed
		return
	}
	if !l.begun {
		l.begun = true
		l.d.out.Printf("%12s  %8s  %-10s  %14s  %s\n", "records", "chunks", "compressor", "bytes", "file")
	}
	l.d.out.Printf("%12d  %8d  %-10s  %14d  %s\n", j.Records, j.Chunks, j.compressor(), j.Bytes, l.d.out.Name(j.Path))
}
