package main

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

func (d *deps) recordioInfoCommand() *cli.Command {
	o := &readOptions{}
	var json, chunks bool
	return d.command(spec{
		name: "info", args: "FILE", least: 1, most: 1,
		summary: "describe one file",
		text: `Describes a file: its dialect, records, chunks, compressor, and whether there is an
index .NAME.idx beside it that matches, or one embedded in it. With --chunks lists the chunks, too. Only the
headers of the chunks are read.`,
		examples: []string{"paddlectl recordio info --chunks train-00000"},
		exits:    pathExits(cliio.Integrity),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "chunks", Usage: "each chunk, too: number, offset, first record, records, bytes, compressor and checksum", Destination: &chunks},
			o.limitFlag(), jsonFlag(&json),
		},
		run: func(ctx context.Context, operands []string) error {
			if err := o.check(); err != nil {
				return err
			}
			f, err := d.dataFile(ctx, operands[0])
			if err != nil {
				return err
			}
			r, err := d.openRecordFile(ctx, f, o)
			if err != nil {
				return err
			}
			defer r.Close()
			d.showInfo(r, json)
			if chunks {
				d.showChunks(r, json)
			}
			return nil
		},
	})
}

func (d *deps) showInfo(r *recordFile, json bool) {
	j := newFileJSON(r)
	if json {
		d.out.JSON(j) // an error shows when Out is flushed
		return
	}
	for _, line := range [][2]string{
		{"file", d.out.Name(j.Path)},
		{"bytes", fmt.Sprint(j.Bytes)},
		{"dialect", j.Dialect},
		{"records", fmt.Sprint(j.Records)},
		{"chunks", fmt.Sprint(j.Chunks)},
		{"compressor", j.compressor()},
		{"index", j.Index},
	} {
		d.out.Printf("%-11s %s\n", line[0]+":", line[1])
	}
}

// chunkJSON is how --json shows a chunk.
type chunkJSON struct {
	Chunk      int    `json:"chunk"`
	Offset     int64  `json:"offset"`
	First      int64  `json:"first"`
	Records    int64  `json:"records"`
	Bytes      int64  `json:"bytes"`
	Compressor string `json:"compressor"`
	CRC        string `json:"crc"`
}

func (d *deps) showChunks(r *recordFile, json bool) {
	if !json {
		d.out.Printf("\n%8s  %14s  %12s  %10s  %12s  %-10s  %s\n", "chunk", "offset", "first", "records", "bytes", "compressor", "crc")
	}
	for i, c := range r.Chunks() {
		j := chunkJSON{i, c.Offset, c.First, c.Records, c.Size, c.Compressor.String(), fmt.Sprintf("%08x", c.CRC)}
		if json {
			d.out.JSON(j) // an error shows when Out is flushed
			continue
		}
		d.out.Printf("%8d  %14d  %12d  %10d  %12d  %-10s  %s\n", j.Chunk, j.Offset, j.First, j.Records, j.Bytes, j.Compressor, j.CRC)
	}
}
