package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/recordio"
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
	return l.d.eachRecordFile(ctx, operands, func(f dataFile) error {
		r, err := l.d.openRecordFile(ctx, f, l.o)
		if err != nil {
			return err
		}
		defer r.Close()
		l.print(newFileJSON(r))
		return nil
	})
}

// eachRecordFile calls fn for every file, and goes on after an error.
func (d *deps) eachRecordFile(ctx context.Context, operands []string, fn func(dataFile) error) error {
	files, err := d.dataFiles(ctx, operands)
	if err != nil {
		return err
	}
	return d.eachOf(ctx, files, fn)
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

func newFileJSON(r *recordFile) fileJSON {
	j := fileJSON{
		Path: r.in.text, Records: r.Len(), Chunks: int64(len(r.Chunks())), Bytes: r.in.size,
		Dialect: r.Dialect().String(), Index: r.indexed,
	}
	has := map[recordio.Compressor]int64{}
	for _, c := range r.Chunks() {
		has[c.Compressor]++
	}
	j.Compressors = compressorNames(has)
	return j
}

// compressor names those of a file; "-" if it has no chunk.
func (j fileJSON) compressor() string {
	if len(j.Compressors) == 0 {
		return "-"
	}
	return strings.Join(j.Compressors, "+")
}

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

// oneOf refuses a value that is not among those that a flag takes.
func oneOf(flag, value string, values ...string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return cliargs.Usagef("--%s %s: %s is needed", flag, value, strings.Join(values, ", "))
}
