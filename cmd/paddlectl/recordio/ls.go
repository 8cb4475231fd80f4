package recordio

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func lsCommand(a *app.App) *cli.Command {
	o := &datafile.ReadOptions{}
	var json, begun bool
	return a.NewCommand(app.Spec{
		Name: "ls", Args: "FILE...", Least: 1, Most: -1,
		Summary: "list files with their records, chunks, compressor and bytes",
		Text: `Lists files with their numbers of records and chunks, compressor and size. It reads only
the headers of the chunks; verify reads everything.`,
		Examples: []string{"paddlectl recordio ls '/pfs/dc1/public/dataset/housing/train-*'"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags:    []cli.Flag{o.LimitFlag(), app.JSONFlag(&json)},
		Run: func(ctx context.Context, operands []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			files, err := datafile.List(ctx, a, operands)
			if err != nil {
				return err
			}
			return app.EachOf(ctx, a, files, func(f recordfile.File) error {
				r, err := datafile.OpenRecords(ctx, a, f, o)
				if err != nil {
					return err
				}
				defer r.Close()
				if !begun && !json {
					a.Printf("%12s  %8s  %-10s  %14s  %s\n", "records", "chunks", "compressor", "bytes", "file")
				}
				begun = true
				j := newFileJSON(r)
				a.Show(json, j, "%12d  %8d  %-10s  %14d  %s\n", j.Records, j.Chunks, j.compressor(), j.Bytes, a.Name(j.Path))
				return nil
			})
		},
	})
}

// fileJSON is how --json shows a file of records.
type fileJSON struct {
	Path        string   `json:"path"`
	Records     int64    `json:"records"`
	Chunks      int64    `json:"chunks"`
	Compressors []string `json:"compressors"`
	Bytes       int64    `json:"bytes"`
	Dialect     string   `json:"dialect"`
	Index       string   `json:"index"` // beside the file, or embedded in it
}

func newFileJSON(r *recordfile.Records) fileJSON {
	j := fileJSON{
		Path: r.Input.Title, Records: r.Len(), Chunks: int64(len(r.Chunks())), Bytes: r.Input.Size,
		Dialect: r.Dialect().String(), Index: string(r.State),
	}
	has := map[recordio.Compressor]int64{}
	for _, c := range r.Chunks() {
		has[c.Compressor]++
	}
	j.Compressors = datafile.CompressorNames(has)
	return j
}

// compressor names the compressors of a file; "-" if it has no chunk.
func (j fileJSON) compressor() string {
	if len(j.Compressors) == 0 {
		return "-"
	}
	return strings.Join(j.Compressors, "+")
}

func infoCommand(a *app.App) *cli.Command {
	o := &datafile.ReadOptions{}
	var json, chunks bool
	return a.NewCommand(app.Spec{
		Name: "info", Args: "FILE", Least: 1, Most: 1,
		Summary: "describe one file",
		Text: `Describes a file: its dialect, records, chunks, compressor, and whether it has a matching
index, .NAME.idx beside it or embedded. Only the headers of the chunks are read.`,
		Examples: []string{"paddlectl recordio info --chunks train-00000"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "chunks", Usage: "also list each chunk: number, offset, first record, records, bytes, compressor and checksum", Destination: &chunks},
			o.LimitFlag(), app.JSONFlag(&json),
		},
		Run: func(ctx context.Context, operands []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			r, err := datafile.OpenOne(ctx, a, operands[0], o)
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

func showInfo(a *app.App, r *recordfile.Records, json bool) {
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

func showChunks(a *app.App, r *recordfile.Records, json bool) {
	if !json {
		a.Printf("\n%8s  %14s  %12s  %10s  %12s  %-10s  %s\n", "chunk", "offset", "first", "records", "bytes", "compressor", "crc")
	}
	for i, c := range r.Chunks() {
		j := chunkJSON{i, c.Offset, c.First, c.Records, c.Size, c.Compressor.String(), fmt.Sprintf("%08x", c.CRC)}
		a.Show(json, j, "%8d  %14d  %12d  %10d  %12d  %-10s  %s\n", j.Chunk, j.Offset, j.First, j.Records, j.Bytes, j.Compressor, j.CRC)
	}
}
