package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
	"github.com/urfave/cli/v2"
)

type datasetVerifyOptions struct{ quick, verbose, quiet, json bool }

func datasetVerifyCommand(a *app.App) *cli.Command {
	var o datasetVerifyOptions
	return a.NewCommand(app.Spec{
		Name: "verify", Args: "DATASET...", Least: 1, Most: -1,
		Summary: "check a dataset against its manifest",
		Text: `Checks that every shard is there and is the one that the manifest states, by size,
digest and number of records, and every checksum in it. Prints what is damaged,
missing, or stale: a shard of that name which belongs to another set. If anything
is, the exit code is 7.`,
		Examples: []string{"paddlectl dataset verify ./dataset", "paddlectl dataset verify --quick /pfs/dc1/public/dataset/uci_housing"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: "compare digests, computed where the shards are; do not read the records", Destination: &o.quick},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print the shards that are right, too", Destination: &o.verbose},
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error {
			return eachDataset(ctx, a, operands, func(s *dataset) error { return verifyDataset(ctx, a, s, o) })
		},
	})
}

// shardState is one line of verify with --json.
type shardState struct {
	Shard string `json:"shard"`
	State string `json:"state"` // same, damaged, missing, stale
	Error string `json:"error,omitempty"`
}

// datasetSums is the last line of verify with --json.
type datasetSums struct {
	Event   string `json:"event"` // "summary"
	Dataset string `json:"dataset"`
	Same    int    `json:"same"`
	Damaged int    `json:"damaged"`
	Missing int    `json:"missing"`
	Stale   int    `json:"stale"`
}

// datasetCheck is one run of verify.
type datasetCheck struct {
	a     *app.App
	s     *dataset
	o     datasetVerifyOptions
	meter *app.Meter
	sums  datasetSums
}

// verifyDataset checks s and tells what is wrong with it.
func verifyDataset(ctx context.Context, a *app.App, s *dataset, o datasetVerifyOptions) error {
	c := &datasetCheck{a: a, s: s, o: o, sums: datasetSums{Event: "summary", Dataset: s.setText()}}
	c.meter = a.StartMeter(o.quiet || a.OnScreen() && o.verbose, s.Bytes, len(s.Shards))
	err := c.run(ctx)
	c.meter.End()
	if err != nil {
		return err
	}
	if o.json {
		if err := a.JSON(c.sums); err != nil {
			return err
		}
	}
	if !o.quiet {
		a.Message("%s: %d same, %d damaged, %d missing, %d stale", s.setText(), c.sums.Same, c.sums.Damaged, c.sums.Missing, c.sums.Stale)
	}
	if c.sums.Damaged+c.sums.Missing+c.sums.Stale > 0 {
		return cliio.Reported(cliio.Integrity)
	}
	return nil
}

func (c *datasetCheck) run(ctx context.Context) error {
	for i := range c.s.Shards {
		if err := c.shard(ctx, i); err != nil {
			return err
		}
	}
	old, err := findSet(ctx, c.s.dir, c.s.Name)
	if err != nil {
		return err
	}
	var set *shard.SetError
	if err := shard.CompareSet(old.shards, c.s.Names()); errors.As(err, &set) {
		for _, name := range set.Stale {
			c.found(name, "stale", "another run left it, or wrote it meanwhile")
		}
	}
	return nil
}

// shard checks shard i. The error is one that ends the run.
func (c *datasetCheck) shard(ctx context.Context, i int) error {
	want, file := c.s.Shards[i], c.s.shard(i)
	c.meter.Begin(file.Text)
	why, err := c.check(ctx, i)
	switch {
	case app.IsMissing(err):
		c.found(want.Name, "missing", "")
	case err != nil && !errors.Is(err, pfs.Integrity):
		return err
	case err != nil:
		c.found(want.Name, "damaged", err.Error())
	case why != "":
		c.found(want.Name, "damaged", why)
	default:
		c.found(want.Name, "same", "")
	}
	c.meter.Finished()
	return nil
}

// check tells in what shard i is not what the manifest states.
func (c *datasetCheck) check(ctx context.Context, i int) (why string, err error) {
	want, file := c.s.Shards[i], c.s.shard(i)
	in, err := datafile.Open(ctx, c.a, file, c.meter)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if in.Size != want.Bytes {
		return fmt.Sprintf("%d bytes, want %d", in.Size, want.Bytes), nil
	}
	if !c.o.quick {
		report, err := recordio.Verify(in, recordio.ScanOptions{Path: file.Text})
		if err != nil {
			return "", datafile.RecordError(err)
		}
		if len(report.Damage) > 0 {
			return report.Damage[0].Err.Error(), nil
		}
		if report.Records != want.Records || report.RecordBytes != want.RecordBytes {
			return fmt.Sprintf("%d records of %d bytes, want %d of %d", report.Records, report.RecordBytes, want.Records, want.RecordBytes), nil
		}
	}
	sum, err := digest.Stored(ctx, in.End.FS, in.End.Path, digest.BLAKE3, nil)
	if err != nil {
		return "", err
	}
	if sum != want.Digest {
		return "its digest is " + sum + ", want " + want.Digest, nil
	}
	return "", nil
}

// found counts a shard, and tells of it.
func (c *datasetCheck) found(name, state, why string) {
	switch state {
	case "same":
		c.sums.Same++
	case "damaged":
		c.sums.Damaged++
	case "missing":
		c.sums.Missing++
	case "stale":
		c.sums.Stale++
	}
	if state == "same" && !c.o.verbose {
		return
	}
	if c.o.json {
		c.a.JSON(shardState{name, state, why}) // an error shows when Out is flushed
		return
	}
	line := name
	if why != "" {
		line += ": " + why
	}
	c.a.Printf("%-9s  %s\n", state, c.a.Name(line))
}
