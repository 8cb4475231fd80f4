package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/launch"
	"github.com/paddlecloud/pfs/internal/job/stage"
	"github.com/urfave/cli/v2"
)

// launchEntry returns the command launch.
func launchEntry(a *app.App) *cli.Command {
	o := &launcher{rankOptions: &rankOptions{a: a}, root: "/pfs", jobRoot: "/"}
	grace := cliio.DurationFlag{}
	return a.NewCommand(app.Spec{
		Name:    "launch",
		Summary: "run the entry of one rank of a job",
		Text: `Runs the entry of a job as the main program of a container: passes signals on, keeps what
the entry prints, and records how it ended. It waits for the uploader (pfs-agent upload), and
ends with the exit code of the entry. If it was asked to end and the entry ended with 0, the
exit code is 143: the cluster must not take the work for done.
` + rankText,
		Examples: []string{"pfs-agent launch --spec /pfs-spec/spec.json --dir /pfs-job"},
		Flags: o.flags(false, &cli.StringFlag{Name: "root", Usage: "`DIR` has the tree /pfs; empty if there is none", Value: o.root, Destination: &o.root},
			&cli.StringFlag{Name: "package", Usage: "the package is in `DIR`", DefaultText: "where --root has it", Destination: &o.pkg},
			&cli.GenericFlag{Name: "grace", Usage: "send SIGKILL `DURATION` after a signal that asks the entry to end", DefaultText: "the cluster does so", Value: &grace},
			&cli.BoolFlag{Name: "openpai", Usage: "the process is a task of OpenPAI, whose variables stay as they are", Destination: &o.onPAI},
			&cli.StringFlag{Name: "job-root", Usage: "write the files trainer_id and trainer_count of PaddlePaddle 0.x to `DIR`, or below --dir if that is not possible", Value: o.jobRoot, Destination: &o.jobRoot}),
		Run: func(ctx context.Context, _ []string) error {
			if err := o.read(); err != nil {
				return err
			}
			o.grace = grace.Duration
			exit, err := o.launch(ctx.Done())
			if err != nil {
				return err
			}
			code := exit.Code
			if exit.Stopped && code == 0 {
				code = 128 + int(syscall.SIGTERM)
			}
			a.Main.Exit(code)
			return nil
		},
	})
}

// launcher is a run of the command launch.
type launcher struct {
	*rankOptions
	root, jobRoot, pkg string
	grace              time.Duration
	onPAI              bool
}

// launch runs the entry as the next run of the rank. stop is closed by a signal that comes before the launcher takes them over.
func (o *launcher) launch(stop <-chan struct{}) (*job.Exit, error) {
	n, err := o.nextRun()
	if err != nil {
		return nil, err
	}
	r := &o.rank
	r.Dir = o.runDir(n)
	r.Restart += n
	if err := r.Dir.Make(); err != nil {
		return nil, err
	}
	lock, err := lockRun(r.Dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	r.Root, r.JobRoot, r.OnPAI = o.root, o.jobRoot, o.onPAI
	if r.Spec.Tool != "" {
		r.Tools = "/bin/paddlectl"
	}
	if r.Package = o.pkg; o.pkg == "" && r.Spec.Package != "" {
		r.Package = filepath.Join(o.root, strings.TrimPrefix(string(r.Spec.Package), "/pfs"))
	}
	if err := syscall.Access(o.jobRoot, 2); err != nil { // not writable
		r.JobRoot = r.Dir.Root()
	}
	if len(r.Spec.Inputs) > 0 {
		r.Inputs = filepath.Join(o.dir, inputsName)
		inputs, err := stage.Hold(r.Inputs, r.Spec.Inputs)
		if err != nil {
			return nil, err
		}
		defer inputs.Close()
	}
	exit, err := launch.Run(launch.Options{Rank: r, Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Grace: o.grace, Stop: stop, UploadWait: r.Spec.UploadWait})
	if exit != nil {
		done, _ := r.Dir.ReadUploaded()
		leaveMessage(struct {
			*job.Exit
			Uploaded *job.Uploaded `json:"uploaded,omitempty"`
		}{exit, done})
	}
	return exit, err
}

// nextRun returns the number of the next run. If the last one has no exit record, its container was killed
// as a whole, and there will be none.
func (o *rankOptions) nextRun() (int, error) {
	n := 0
	for ; ; n++ {
		begun, _, err := launched(o.runDir(n))
		if err != nil {
			return 0, err
		}
		if !begun {
			return n, nil
		}
	}
}
