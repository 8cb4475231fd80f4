package recordio

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/urfave/cli/v2"
)

func recordioInfoCommand(a *app.App) *cli.Command {
	o := &datafile.ReadOptions{}
	var json, chunks bool
	return a.NewCommand(app.Spec{
		Name: "info", Args: "FILE", Least: 1, Most: 1,
		Summary: "describe one file",
		Text: `Describes a file: its dialect, records, chunks, compressor, and whether there is an
index .NAME.idx beside it that matches, or one embedded in it. With --chunks lists the chunks, too. Only the
headers of the chunks are read.`,
		Examples: []string{"paddlectl recordio info --chunks train-00000"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "chunks", Usage: "each chunk, too: number, offset, first record, records, bytes, compressor and checksum", Destination: &chunks},
			o.LimitFlag(), app.JsonFlag(&json),
		},
		Run: func(ctx context.Context, operands []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			f, err := datafile.One(ctx, a, operands[0])
			if err != nil {
				return err
			}
			r, err := datafile.OpenRecordFile(ctx, a, f, o)
			if err != nil {
				return err
			}
			defer r.Close()
			showInfo(a, r, json)
			if chunks {
				showChunks(a, r, json)
			}
			return nil
		},
	})
}

func showInfo(a *app.App, r *datafile.RecordFile, json bool) {
	j := newFileJSON(r)
	if json {
		a.JSON(j) // an error shows when Out is flushed
		return
	}
	for _, line := range [][2]string{
		{"file", a.Name(j.Path)},
		{"bytes", fmt.Sprint(j.Bytes)},
		{"dialect", j.Dialect},
		{"records", fmt.Sprint(j.Records)},
		{"chunks", fmt.Sprint(j.Chunks)},
		{"compressor", j.compressor()},
		{"index", j.Index},
	} {
		a.Printf("%-11s %s\n", line[0]+":", line[1])
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

func showChunks(a *app.App, r *datafile.RecordFile, json bool) {
	if !json {
		a.Printf("\n%8s  %14s  %12s  %10s  %12s  %-10s  %s\n", "chunk", "offset", "first", "records", "bytes", "compressor", "crc")
	}
	for i, c := range r.Chunks() {
		j := chunkJSON{i, c.Offset, c.First, c.Records, c.Size, c.Compressor.String(), fmt.Sprintf("%08x", c.CRC)}
		if json {
			a.JSON(j) // an error shows when Out is flushed
			continue
		}
		a.Printf("%8d  %14d  %12d  %10d  %12d  %-10s  %s\n", j.Chunk, j.Offset, j.First, j.Records, j.Bytes, j.Compressor, j.CRC)
	}
}
