package jobs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/job/submit"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Tool is a job whose workers run a command of this program. Each worker that fails is started again.
type Tool struct {
	*session
	spec *job.Spec
}

// patience is how long workers may be starting before Tool.Wait tells why they are not.
const patience = 10 * time.Second

// toolAttempts is how often a worker of a Tool is started.
const toolAttempts = 4

// NewTool prepares a job of the datacenter that runs the hidden command.
func NewTool(ctx context.Context, a *app.App, datacenter, name, command string, workers int) (*Tool, error) {
	s, err := open(ctx, a, datacenter, false)
	if err != nil {
		return nil, err
	}
	d := jobfile.NewDraft()
	d.Spec.Name, d.Trainer.Replicas, d.Trainer.Memory = name, workers, 2<<30
	d.Trainer.CPU = 500 // all workers must run at the same time
	d.Spec.MaxAttempts, d.Spec.Restart = toolAttempts, job.RestartRank
	if s.kind == local.Name {
		d.Spec.Entry, err = localTool(a, command)
	} else {
		d.Spec.Entry, d.Spec.Tool = "paddlectl "+command, command
	}
	if err != nil {
		return nil, err
	}
	spec := d.Finish()
	spec.User, spec.Datacenter = s.user, s.dc
	return &Tool{s, spec}, nil
}

// localTool returns the entry that runs the hidden command with the configuration of this one.
func localTool(a *app.App, command string) (string, error) {
	exe, err := exec.LookPath(a.Main.Args[0])
	if err != nil {
		exe = a.Main.Args[0]
	}
	if exe, err = filepath.Abs(exe); err != nil {
		return "", err
	}
	config, err := a.ConfigName()
	if err == nil {
		config, err = filepath.Abs(config)
	}
	return "exec " + app.ShellWord(exe) + " --config " + app.ShellWord(config) + " " + command, err
}

// Service returns the name of the service in the configuration, for UseService: paths are the same then.
func (t *Tool) Service() string { return t.entry }

// UseService makes a worker in a container use the service that the engine names.
func UseService(ctx context.Context, a *app.App, name string) error {
	env := a.Main.Getenv
	if env("PFS_SERVICE") == "" {
		return nil // it has a configuration
	}
	return a.Remotes.Use(ctx, app.Service{Name: name, Endpoint: env("PFS_SERVICE"), Fingerprint: env("PFS_FINGERPRINT"), TokenFile: env("PFS_TOKEN_FILE")})
}

// Submit starts the job with a package of one file.
func (t *Tool) Submit(ctx context.Context, file string, text []byte) error {
	dir, err := os.MkdirTemp("", "paddlectl-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
		return err
	}
	fsys, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		return err
	}
	defer fsys.Close()
	sub := &submit.Submission{FS: t.fs, Engine: t.engine, Kind: t.kind, Spec: t.spec, Note: t.Message,
		Package: transfer.End{FS: fsys, Path: "/"}, Copy: transfer.Options{Origin: origin()}}
	return t.explain(sub.Submit(ctx), "")
}

// Wait waits for the success of the job. It calls look periodically; an error of look ends the job. If workers do not start for a
// while, it calls waits with the reason.
func (t *Tool) Wait(ctx context.Context, look func() error, waits func(reason string)) error {
	name := t.spec.Name
	told, why, since := "", "", time.Time{}
	for {
		r, _, err := t.job(ctx, name)
		if err == nil && slices.ContainsFunc(r.Workers, func(w job.Worker) bool { return w.State == job.Pending }) {
			if r.Reason != why {
				why, since = r.Reason, time.Now()
			}
			if why != told && time.Since(since) > patience {
				told = why
				waits(why)
			}
		}
		if err == nil && r.State == job.Succeeded {
			return nil
		}
		if failed := look(); failed != nil && ctx.Err() == nil {
			if err == nil && !r.State.Ended() {
				if _, err := t.kill(ctx, name, true); err != nil {
					t.Message("%v", err)
				}
			}
			return failed
		}
		if err == nil && r.State.Ended() {
			return app.WithHint(pfs.Errorf("paddlectl.jobs", "", pfs.Other, "the job %q is %s: %s", name, r.State, reason(r)), t.Paddlectl+" logs "+name)
		}
		if err == nil {
			err = retry.Sleep(ctx, every)
		}
		if err != nil {
			return app.WithHint(err, "the job goes on: "+t.Paddlectl+" wait "+name+", or kill "+name)
		}
	}
}

// Output returns the place of an output of the first worker, after Wait.
func (t *Tool) Output(ctx context.Context, file string) (transfer.End, error) {
	r, _, err := t.job(ctx, t.spec.Name)
	if err != nil {
		return transfer.End{}, err
	}
	first := job.OutputDir(t.spec, r.Attempt, job.WorkerName(job.Trainer, 0))
	runs, err := output.Runs(ctx, t.fs, first.Parent())
	if err != nil {
		return transfer.End{}, err
	}
	dir := first
	for _, run := range runs {
		if run.Within(first) {
			dir = run // the last one succeeded
		}
	}
	return transfer.End{FS: t.fs, Path: dir.Join(file)}, nil
}
