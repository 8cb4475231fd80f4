package dataset

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/urfave/cli/v2"
)

type datasetVerifyOptions struct{ quick, verbose, quiet, json bool }

func datasetVerifyCommand(a *app.App) *cli.Command {
	var o datasetVerifyOptions
	return a.NewCommand(app.Spec{
		Name: "verify", Args: "DATASET...", Least: 1, Most: -1,
		Summary: "check a dataset against its manifest",
		Text: `Checks that every shard exists, that its size, digest and number of records match the
manifest, and every checksum in it. Prints what is damaged, missing, or stale: a shard of
another dataset. If anything is, the exit code is 7.`,
		Examples: []string{"paddlectl dataset verify ./dataset", "paddlectl dataset verify --quick /pfs/dc1/public/dataset/uci_housing"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: "compare digests, computed where the shards are; do not read the records", Destination: &o.quick},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "also print intact shards", Destination: &o.verbose},
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error {
			return eachDataset(ctx, a, operands, func(s *dataset.Dataset) error { return (&verifying{a, o}).dataset(ctx, s) })
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
	dataset.VerifyReport
}

// verifying is one run of verify.
type verifying struct {
	a *app.App
	o datasetVerifyOptions
}

// dataset checks s and prints the problems.
func (v *verifying) dataset(ctx context.Context, s *dataset.Dataset) error {
	a, o := v.a, v.o
	report, err := s.Verify(ctx, dataset.VerifyOptions{Quick: o.quick, Found: v.found, Meter: func(bytes int64, files int) recordfile.Meter {
		return a.StartMeter(o.quiet || a.OnScreen() && o.verbose, bytes, files)
	}})
	if err != nil {
		return err
	}
	if o.json {
		if err := a.JSON(datasetSums{"summary", s.Title(), report}); err != nil {
			return err
		}
	}
	if !o.quiet {
		a.Message("%s: %d same, %d damaged, %d missing, %d stale", s.Title(), report.Same, report.Damaged, report.Missing, report.Stale)
	}
	if !report.OK() {
		return cliio.Reported(cliio.Integrity)
	}
	return nil
}

// found prints the result for a shard.
func (v *verifying) found(r dataset.ShardReport) {
	if r.State == dataset.Same && !v.o.verbose {
		return
	}
	line := r.Name
	if r.Why != "" {
		line += ": " + r.Why
	}
	v.a.Show(v.o.json, shardState{r.Name, string(r.State), r.Why}, "%-9s  %s\n", r.State, v.a.Name(line))
}
