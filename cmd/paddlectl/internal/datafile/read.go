package datafile

import (
	"context"
	"fmt"
	"runtime"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// ReadOptions are the common options of commands that read records.
type ReadOptions struct {
	Damage   string // the value of --on-damage
	Parallel int
	maxChunk cliio.SizeFlag
	Quiet    bool
}

// LimitFlag returns the flag --max-chunk of commands that read chunks.
func (o *ReadOptions) LimitFlag() cli.Flag {
	return &cli.GenericFlag{Name: "max-chunk", Usage: "refuse chunks of more than `SIZE`, stored or decompressed; 256M without it", Value: &o.maxChunk}
}

// Flags returns the flags of commands that read whole files. policy is the default of --on-damage.
func (o *ReadOptions) Flags(policy string) []cli.Flag {
	return []cli.Flag{
		o.DamageFlag(policy),
		o.ParallelFlag(),
		o.LimitFlag(),
		app.QuietFlag(&o.Quiet),
	}
}

// DamageFlag returns the flag --on-damage with the default policy.
func (o *ReadOptions) DamageFlag(policy string) *cli.GenericFlag {
	o.Damage = policy
	return &cli.GenericFlag{Name: "on-damage", Usage: "what to do with damage: `POLICY` fail, skip (leave out the chunk) or salvage (keep the records that are provably intact)", Value: cliargs.OneOf(&o.Damage, "fail", "skip", "salvage")}
}

func (o *ReadOptions) ParallelFlag() cli.Flag {
	return &cli.IntFlag{Name: "parallel", Aliases: []string{"j", "jobs"}, Usage: "decompress, and compress, with `N` goroutines", DefaultText: "the processors", Destination: &o.Parallel}
}

// Check returns a usage error for impossible values.
func (o *ReadOptions) Check() error {
	if o.Parallel < 0 || o.Parallel > 256 {
		return cliargs.Usagef("--parallel %d: a number from 1 to 256 is needed", o.Parallel)
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.maxChunk.Given && o.maxChunk.Bytes < 1 {
		return cliargs.Usagef("--max-chunk 0: at least one byte is needed")
	}
	return nil
}

// Policy returns the value of --on-damage for package recordio.
func (o *ReadOptions) Policy() recordio.Policy {
	return map[string]recordio.Policy{"": recordio.Fail, "fail": recordio.Fail, "skip": recordio.Skip, "salvage": recordio.Salvage}[o.Damage]
}

// Scan returns the options for package recordio.
func (o *ReadOptions) Scan(name string, told func(recordio.Damage)) recordio.ScanOptions {
	return recordio.ScanOptions{
		Path: name, Policy: o.Policy(), Parallelism: o.Parallel, MaxChunkBytes: o.maxChunk.Bytes, OnDamage: told,
	}
}

// Reading is the state of a command that reads records.
type Reading struct {
	recordfile.Reading
	App *app.App
	O   *ReadOptions
	M   *app.Meter
}

// StartReading returns a Reading for files, which may be empty.
func StartReading(ctx context.Context, a *app.App, o *ReadOptions, files []recordfile.File, quiet bool) *Reading {
	r := NewReading(a, o, a.StartMeter(quiet || o.Quiet, recordfile.SizeOf(ctx, files), len(files)))
	r.OnDamage = Damaged(a)
	return r
}

// EachRead calls fn for each file that operands name, while a bar shows how far reading is.
func EachRead(ctx context.Context, a *app.App, o *ReadOptions, operands []string, quiet bool, fn func(*Reading, recordfile.File) error) error {
	if err := o.Check(); err != nil {
		return err
	}
	files, err := List(ctx, a, operands)
	if err != nil {
		return err
	}
	r := StartReading(ctx, a, o, files, quiet)
	defer r.M.End()
	return r.End(app.EachOf(ctx, a, files, func(f recordfile.File) error { return fn(r, f) }))
}

// NewReading returns a Reading that does not report damage.
func NewReading(a *app.App, o *ReadOptions, m *app.Meter) *Reading {
	return &Reading{App: a, O: o, M: m, Reading: recordfile.Reading{
		Policy: o.Policy(), Parallel: o.Parallel, MaxChunkBytes: o.maxChunk.Bytes, Meter: m,
	}}
}

// Damaged returns a function that reports damage.
func Damaged(a *app.App) func(recordio.Damage) {
	return func(d recordio.Damage) { a.Message("%s", DamageText(d)) }
}

// Each calls fn with a scanner of f and closes it.
func (r *Reading) Each(ctx context.Context, f recordfile.File, fn func(*recordio.Scanner) error) error {
	return hintOf(r.App, f, r.Reading.Each(ctx, f, func(_ *recordfile.Input, s *recordio.Scanner) error { return fn(s) }))
}

// RecordsOf calls fn with every record of f, which is valid during the call.
func (r *Reading) RecordsOf(ctx context.Context, f recordfile.File, fn func(rec []byte) error) error {
	return r.Each(ctx, f, func(s *recordio.Scanner) error {
		for s.Scan() {
			if err := fn(s.Bytes()); err != nil {
				return err
			}
		}
		return s.Err()
	})
}

// End reports lost records. The exit code is Partly if records were lost or may have been.
func (r *Reading) End(err error) error {
	r.M.End()
	if err != nil {
		return err
	}
	return EndLoss(r.App, r.Loss)
}

// EndLoss reports l. The exit code is Partly if records were lost or may have been.
func EndLoss(a *app.App, l recordio.Loss) error {
	if l.Places == 0 {
		return nil
	}
	a.Message("%s", LossText(l))
	if l.Records == 0 && l.Unknown == 0 {
		return nil
	}
	return cliio.Reported(cliio.Partly)
}

// DamageText describes a damaged range and the records lost in it.
func DamageText(d recordio.Damage) string {
	text := d.Err.Error()
	if d.Bytes >= 0 {
		text += fmt.Sprintf(": %s skipped", app.Count(d.Bytes, "byte", "bytes"))
	}
	switch {
	case d.Lost < 0 && d.Bytes >= 0:
		text += ", an unknown number of records lost"
	case d.Lost >= 0:
		text += fmt.Sprintf(", %s lost", app.Count(d.Lost, "record", "records"))
	}
	if d.Saved > 0 {
		text += fmt.Sprintf(", %d saved", d.Saved)
	}
	return text
}

// LossText summarizes damage.
func LossText(l recordio.Loss) string {
	text := fmt.Sprintf("%s: %s lost", app.Count(l.Places, "damaged place", "damaged places"), app.Count(l.Records, "record", "records"))
	if l.Unknown > 0 {
		text += fmt.Sprintf(", plus an unknown number at %s", app.Count(l.Unknown, "place", "places"))
	}
	if l.Saved > 0 {
		text += fmt.Sprintf(", %d saved", l.Saved)
	}
	return text
}

// CompressorNames returns the names of compressors for messages, in the order of their values.
func CompressorNames(has map[recordio.Compressor]int64) []string {
	names := []string{}
	for _, c := range recordio.Compressors() {
		if has[c] > 0 {
			names = append(names, c.String())
		}
	}
	return names
}

// ChunkBytes returns the value of --chunk for package recordio.
func ChunkBytes(size cliio.SizeFlag) int {
	if size.Given && size.Bytes == 0 {
		return recordio.SingleRecords
	}
	return int(size.Bytes)
}

// MaxChunkBytes is the largest value of --chunk. Readers accept chunks of this size by default.
const MaxChunkBytes = recordio.DefaultMaxChunkBytes / 2
