package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

const (
	// uploadMemory is the memory limit of the uploader, without that of the kernel for it.
	uploadMemory = 40 << 20

	// lateRecord is how long after the end of the launcher its exit record may appear to this container.
	lateRecord = 2 * time.Second

	// maxRestarts bounds the runs of a rank in one attempt.
	maxRestarts = 10_000
)

// upload returns the command upload.
func upload(a *app.App) *cli.Command {
	o := &rankOptions{a: a}
	once := false
	return a.NewCommand(app.Spec{
		Name:    "upload",
		Summary: "upload the outputs and logs of one rank of a job",
		Text: `Uploads what the entry that pfs-agent launch runs writes to $PFS_OUTPUT and to the other
output directories of the job, while it runs, and its logs. When the entry has ended, all
files are compared with those at the service; then the manifest and the marker are
written: _SUCCESS, _FAILED or _INCOMPLETE. docs/jobs.md describes them.

A SIGTERM means that the launcher has ended, or never starts: the command finishes and
ends. With --once it ends after one run of the entry.
` + rankText,
		Examples: []string{"pfs-agent upload --spec /pfs-spec/spec.json --dir /pfs-job --service https://pfs.example.org"},
		Exits:    app.RemoteExits(cliio.Partly),
		Flags:    o.flags(true, &cli.BoolFlag{Name: "once", Usage: "end when the outputs of one run are committed", Destination: &once}),
		Run: func(ctx context.Context, _ []string) error {
			if err := o.read(); err != nil {
				return err
			}
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(uploadMemory)
			}
			fsys, err := o.tree(ctx)
			if err != nil {
				return err
			}
			u := &uploading{rankOptions: o, fs: fsys, once: once, asked: make(chan struct{})}
			terms := make(chan os.Signal, 1)
			signal.Reset(syscall.SIGTERM) // the program would end
			signal.Notify(terms, syscall.SIGTERM)
			go func() {
				select {
				case <-terms:
				case <-ctx.Done(): // it came before
				}
				close(u.asked)
			}()
			return u.run(context.WithoutCancel(ctx))
		},
	})
}

// uploading is a run of the command upload.
type uploading struct {
	*rankOptions
	fs     pfs.FileSystem
	once   bool
	asked  chan struct{} // closed by SIGTERM
	runs   []uploadedRun
	failed bool
}

// uploadedRun is the result of one run of the rank.
type uploadedRun struct {
	Restart int `json:"restart"`
	*job.Uploaded
}

// run uploads the outputs of all runs of the rank.
func (u *uploading) run(ctx context.Context) error {
	restart := u.rank.Restart
	for n := 0; (n == 0 || !u.once) && u.wait(n); n++ {
		var err error
		if restart, err = u.one(ctx, n, restart); err != nil {
			return err
		}
		restart++
	}
	if u.failed {
		return cliio.Reported(cliio.Partly)
	}
	return nil
}

// wait waits for the launcher of run n. It returns false if there will be none.
func (u *uploading) wait(n int) bool {
	for {
		select {
		case <-u.asked:
			begun, _, _ := launched(u.runDir(n))
			return begun
		case <-time.After(100 * time.Millisecond):
			if begun, _, _ := launched(u.runDir(n)); begun {
				return true
			}
		}
	}
}

// one uploads the outputs of run n. If a pod before this one has the outputs of that restart, it takes the
// next number, which it returns.
func (u *uploading) one(ctx context.Context, n, restart int) (int, error) {
	spec := u.rank.Spec
	worker := job.WorkerName(u.rank.Role, u.rank.Index)
	for ; ; restart++ {
		done, err := output.Upload(ctx, output.Options{
			FS:   u.fs,
			Dir:  output.RestartDir(job.OutputDir(spec, u.rank.Attempt, worker), restart),
			Logs: job.LogDir(spec, u.rank.Attempt, worker),
			Rank: u.runDir(n), More: spec.Outputs, Wait: spec.UploadWait,
			Run:  output.Run{Worker: worker, Attempt: u.rank.Attempt, Restart: restart},
			Lost: func(context.Context) string { return u.lost(n) },
		})
		if errors.Is(err, output.ErrTaken) && restart < maxRestarts {
			continue
		}
		if err != nil {
			return restart, err
		}
		u.runs = append(u.runs, uploadedRun{restart, done})
		leaveMessage(map[string]any{"runs": u.runs[max(0, len(u.runs)-8):]})
		if done.Marker == "" || done.Marker == output.Incomplete {
			u.a.Message("the outputs of %s, attempt %d, restart %d, are incomplete: %s", worker, u.rank.Attempt, restart, done.Reason)
			u.failed = true
		}
		return restart, nil
	}
}

// lost returns why there will be no exit record of run n.
func (u *uploading) lost(n int) string {
	dir := u.runDir(n)
	dead := func() bool {
		begun, lives, err := launched(dir)
		return err == nil && begun && !lives
	}
	if !dead() {
		return ""
	}
	time.Sleep(lateRecord)
	if exit, err := dir.ReadExit(); !dead() || exit != nil || err != nil {
		return "" // the record is read next
	}
	return "the container of the program was killed as a whole, as it is for lack of memory"
}
