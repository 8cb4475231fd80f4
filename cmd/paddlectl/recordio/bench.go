package recordio

import (
	"context"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/urfave/cli/v2"
)

// bench is one run of the command.
type bench struct {
	datafile.ReadOptions
	*app.App
	times int
	json  bool
}

func benchCommand(a *app.App) *cli.Command {
	o := &bench{App: a}
	return a.NewCommand(app.Spec{
		Name: "bench", Args: "FILE...", Least: 1, Most: -1,
		Summary: "measure how fast files are read",
		Text: `Reads and decodes files several times, and prints for each the medians of record bytes,
stored bytes and records per second. That measures everything: the disk or the service,
the checks and the decompression.`,
		Examples: []string{"paddlectl recordio bench --times 5 -j 2 train-00000"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "times", Usage: "read each file `N` times", Value: 3, Destination: &o.times},
		}, append(o.Flags("fail"), app.JSONFlag(&o.json))...),
		Run: o.run,
	})
}

func (o *bench) run(ctx context.Context, operands []string) error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.times < 1 {
		return cliargs.Usagef("--times %d: a number from 1 up is needed", o.times)
	}
	files, err := datafile.List(ctx, o.App, operands)
	if err != nil {
		return err
	}
	r := datafile.NewReading(o.App, &o.ReadOptions, nil) // without a bar, which would slow it down
	r.OnDamage = datafile.Damaged(o.App)
	return r.End(app.EachOf(ctx, o.App, files, func(f recordfile.File) error {
		if f.Stream != nil {
			return cliargs.Usagef("standard input can be read only once: a file is needed")
		}
		return o.file(ctx, r, f)
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

func (o *bench) file(ctx context.Context, r *datafile.Reading, f recordfile.File) error {
	j := benchJSON{Path: f.Title, Times: o.times, Parallel: o.Parallel, Bytes: recordfile.SizeOf(ctx, []recordfile.File{f})}
	var taken []time.Duration
	for i := range o.times {
		from := r
		if i > 0 { // damage is the same each time
			from = datafile.NewReading(o.App, r.O, nil)
		}
		j.Records, j.RecordBytes = 0, 0
		start := o.Now()
		err := from.RecordsOf(ctx, f, func(rec []byte) error {
			j.Records++
			j.RecordBytes += int64(len(rec))
			return nil
		})
		if err != nil {
			return err
		}
		taken = append(taken, o.Now().Sub(start))
	}
	slices.Sort(taken)
	const giga = 1e9
	j.Seconds = max(taken[len(taken)/2], time.Nanosecond).Seconds()
	j.RecordsPerSecond = float64(j.Records) / j.Seconds
	j.DataGBPerSecond = float64(j.RecordBytes) / giga / j.Seconds
	j.FileGBPerSecond = float64(j.Bytes) / giga / j.Seconds
	o.Show(o.json, j, "%s: %s, %s of records in %.3f s: %.2f GB/s of records, %.2f GB/s of the file, %.0f records/s\n",
		o.Name(f.Title), app.Count(j.Records, "record", "records"), cliio.Size(j.RecordBytes), j.Seconds,
		j.DataGBPerSecond, j.FileGBPerSecond, j.RecordsPerSecond)
	return nil
}
