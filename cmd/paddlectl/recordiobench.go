package main

import (
	"context"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

// benchOptions are the choices of bench.
type benchOptions struct {
	readOptions

	times int
	json  bool
}

func (d *deps) recordioBenchCommand() *cli.Command {
	o := &benchOptions{}
	return d.command(spec{
		name: "bench", args: "FILE...", least: 1, most: -1,
		summary: "measure how fast files are read",
		text: `Reads and decodes files, some times over, and tells for each the median of the
bytes of records a second, of the bytes as stored and of the records. What is measured
is all of it: the disk or the service, the checks and the decompression.`,
		examples: []string{"paddlectl recordio bench --times 5 -j 2 train-00000"},
		exits:    pathExits(cliio.Integrity),
		flags: append([]cli.Flag{
			&cli.IntFlag{Name: "times", Usage: "read each file `N` times", Value: 3, Destination: &o.times},
		}, append(o.flags("fail"), jsonFlag(&o.json))...),
		run: func(ctx context.Context, operands []string) error { return d.benchRecords(ctx, o, operands) },
	})
}

func (d *deps) benchRecords(ctx context.Context, o *benchOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.times < 1 {
		return cliargs.Usagef("--times %d: a number from 1 up is needed", o.times)
	}
	files, err := d.dataFiles(ctx, operands)
	if err != nil {
		return err
	}
	r := &reading{d: d, o: &o.readOptions} // without a bar, which would be measured, too
	return r.end(eachOf(ctx, d, files, func(f dataFile) error {
		if f.stdin {
			return cliargs.Usagef("standard input can be read once: a file is needed")
		}
		return r.bench(ctx, o, f)
	}))
}

// benchJSON is how --json shows a measurement: medians.
type benchJSON struct {
	Path             string  `json:"path"`
	Times            int     `json:"times"`
	Parallel         int     `json:"parallel"`
	Records          int64   `json:"records"`
	RecordBytes      int64   `json:"record_bytes"`
	Bytes            int64   `json:"bytes"`
	Seconds          float64 `json:"seconds"`
	RecordsPerSecond float64 `json:"records_per_second"`
	DataGBPerSecond  float64 `json:"data_gb_per_second"`
	FileGBPerSecond  float64 `json:"file_gb_per_second"`
}

func (r *reading) bench(ctx context.Context, o *benchOptions, f dataFile) error {
	j := benchJSON{Path: f.text, Times: o.times, Parallel: o.parallel, Bytes: sizeOf(ctx, []dataFile{f})}
	var taken []time.Duration
	for i := range o.times {
		r.silent = i > 0 // damage is the same each time
		j.Records, j.RecordBytes = 0, 0
		start := r.d.now()
		err := r.records(ctx, f, func(rec []byte) error {
			j.Records++
			j.RecordBytes += int64(len(rec))
			return nil
		})
		if err != nil {
			return err
		}
		taken = append(taken, r.d.now().Sub(start))
	}
	slices.Sort(taken)
	const giga = 1e9
	j.Seconds = max(taken[len(taken)/2], time.Nanosecond).Seconds()
	j.RecordsPerSecond = float64(j.Records) / j.Seconds
	j.DataGBPerSecond = float64(j.RecordBytes) / giga / j.Seconds
	j.FileGBPerSecond = float64(j.Bytes) / giga / j.Seconds
	if o.json {
		return r.d.out.JSON(j)
	}
	r.d.out.Printf("%s: %s, %s of records in %.3f s: %.2f GB/s of records, %.2f GB/s of the file, %.0f records/s\n",
		r.d.out.Name(f.text), count(j.Records, "record", "records"), cliio.Size(j.RecordBytes), j.Seconds,
		j.DataGBPerSecond, j.FileGBPerSecond, j.RecordsPerSecond)
	return nil
}
