package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/jobs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/urfave/cli/v2"
)

const (
	workerName = "convert-worker" // the hidden command
	workFile   = "convert.json"   // its package
	resultFile = "result.json"    // its output
	maxResult  = 64 << 20
	tellEvery  = 5 * time.Second // progress
)

// convertWork is what the workers of a conversion do.
type convertWork struct {
	Options dataset.Options `json:"options"`
	Inputs  []string        `json:"inputs"`
	Run     string          `json:"run"`
	Service string          `json:"service"`
}

// runConvertOn converts the operands by a job.
func runConvertOn(ctx context.Context, a *app.App, o *convertOptions, operands []string) error {
	start := a.Now()
	if o.workers < 1 {
		return cliargs.Usagef("--on needs --workers N, a number from 1 up")
	}
	if o.badFile != "" {
		return cliargs.Usagef("--bad-file does not go with --on: --bad skip counts the malformed records")
	}
	name := o.jobName
	if name == "" {
		name = "convert-" + start.UTC().Format("20060102-150405")
	}
	tool, err := jobs.NewTool(ctx, a, o.on, name, workerName, o.workers)
	if err != nil {
		return err
	}
	if err := o.open(ctx, a, operands); err != nil {
		return err
	}
	for _, in := range o.Inputs {
		if in.Stream == nil && !in.Remote {
			return app.WithHint(cliargs.Usagef("%s is on this machine, and the workers of --on read from the service", in.Title), "paddlectl cp copies it to the service")
		}
	}
	if !o.Dir.Path.Within(app.Top) {
		return cliargs.Usagef("--output-path %s is on this machine, and the workers of --on write to the service", o.Title)
	}
	run, r, err := dataset.BeginParts(ctx, o.Options, o.workers)
	if err != nil {
		return o.withHint(ctx, a, err)
	}
	if r == nil {
		text, err := json.Marshal(convertWork{Options: o.Options, Inputs: operands, Run: run, Service: tool.Service()})
		if err != nil {
			return err
		}
		if err := tool.Submit(ctx, workFile, text); err != nil {
			return errors.Join(err, dataset.AbandonParts(context.WithoutCancel(ctx), o.Options, run))
		}
		if !o.quiet {
			a.Message("the job %s converts, with %s", name, app.Count(int64(o.workers), "worker", "workers"))
		}
		waits := func(reason string) {
			if !o.quiet {
				a.Message("the job %s waits: %s", name, reason)
			}
		}
		if err := tool.Wait(ctx, func() error { return o.lookAtParts(ctx, a) }, waits); err != nil {
			if ctx.Err() == nil && dataset.PartsFailure(ctx, o.Options) != nil { // the job has ended: --resume need not wait
				resumed := o.Options
				resumed.Resume = true
				if err := dataset.AbandonParts(ctx, resumed, run); err != nil {
					a.Message("%v", err)
				}
			}
			return o.withHint(ctx, a, err)
		}
		if r, err = readResult(ctx, tool); err != nil {
			return err
		}
	}
	return (&convertTelling{a: a, o: o, r: r, seconds: a.Now().Sub(start).Seconds()}).tell()
}

// lookAtParts prints the progress. It returns the error for which the workers cannot succeed.
func (o *convertOptions) lookAtParts(ctx context.Context, a *app.App) error {
	if err := dataset.PartsFailure(ctx, o.Options); err != nil && !errors.Is(err, pfs.Unavailable) {
		return err
	}
	units, shards, err := dataset.PartsDone(ctx, o.Options)
	text := fmt.Sprintf("%s read, %s made", app.Count(int64(units), "part of the inputs is", "parts of the inputs are"), app.Count(int64(shards), "shard is", "shards are"))
	if err == nil && !o.quiet && units > 0 && text != o.told && a.Now().Sub(o.toldAt) >= tellEvery {
		o.told, o.toldAt = text, a.Now()
		a.Message("%s", text)
	}
	return nil // the workers find out themselves
}

// readResult reads what the first worker has written.
func readResult(ctx context.Context, tool *jobs.Tool) (*dataset.Result, error) {
	end, err := tool.Output(ctx, resultFile)
	if err != nil {
		return nil, err
	}
	text, err := recordfile.ReadSmall(ctx, end.FS, end.Path, maxResult)
	if err != nil {
		return nil, err
	}
	r := &dataset.Result{}
	return r, json.Unmarshal(text, r)
}

// Worker returns the hidden command that a job of convert --on runs.
func Worker(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: workerName, Hidden: true,
		Summary: "do the work of one worker of dataset convert --on",
		Run: func(ctx context.Context, _ []string) error {
			text, err := os.ReadFile(workFile)
			if err != nil {
				return err
			}
			var work convertWork
			if err := json.Unmarshal(text, &work); err != nil {
				return err
			}
			p := dataset.Process{Run: work.Run}
			for name, to := range map[string]*int{"PFS_INDEX": &p.Index, "PADDLE_TRAINERS_NUM": &p.Count} {
				if *to, err = strconv.Atoi(a.Main.Getenv(name)); err != nil {
					return cliargs.Usagef("%s: %v", name, err)
				}
			}
			if err := jobs.UseService(ctx, a, work.Service); err != nil {
				return err
			}
			o := &convertOptions{Options: work.Options}
			if err := o.open(ctx, a, work.Inputs); err != nil {
				return err
			}
			r, err := dataset.ConvertPart(ctx, o.Options, p)
			if err != nil || r == nil {
				return err
			}
			if text, err = json.Marshal(r); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(a.Main.Getenv("PFS_OUTPUT"), resultFile), text, 0o644)
		},
	})
}
