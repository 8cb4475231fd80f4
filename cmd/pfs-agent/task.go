package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/stage"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// taskGrace is the time that the entry of a task has to end when it is asked to.
const taskGrace = 30 * time.Second

// tasking is a run of the command task.
type tasking struct {
	rankOptions
	job, login string
	attempt    int
	fs         pfs.FileSystem
}

// task returns the command task.
func task(a *app.App) *cli.Command {
	t := &tasking{rankOptions: rankOptions{a: a}}
	return a.NewCommand(app.Spec{
		Name:    "task",
		Summary: "run one task of a job on OpenPAI",
		Text: `Does in one container of OpenPAI what launch, stage and upload do in a pod: reads the
description of the job from the service, copies the package and the inputs, runs the entry,
uploads its outputs and logs while it runs, commits them, and ends with the exit code of the
entry. The variables PAI_* of OpenPAI tell the role, the index and the addresses of all
tasks; each task has a port with the label pfs. docs/openpai.md describes such jobs.`,
		Examples: []string{"pfs-agent task --service=https://pfs.example.org --job=/pfs/dc1/home/alice/jobs/fit --attempt=1 --login=login --dir=pfs-job"},
		Exits:    app.RemoteExits(cliio.NotFound, cliio.Denied, cliio.Integrity),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "service", Usage: "use the service at `URL`", Destination: &t.service.Endpoint},
			&cli.StringFlag{Name: "fingerprint", Usage: "accept the certificate of --service only if its SHA-256 is `HEX`", Destination: &t.service.Fingerprint},
			&cli.StringFlag{Name: "job", Usage: "run the job that has the directory `PATH` on the service", Destination: &t.job},
			&cli.IntFlag{Name: "attempt", Usage: "this is attempt `N` of the job", Value: 1, Destination: &t.attempt},
			&cli.StringFlag{Name: "login", Usage: "`FILE` has a session of the user; it is removed when it was read", Destination: &t.login},
			&cli.StringFlag{Name: "dir", Usage: "keep package, inputs, outputs and logs in the directory `DIR`", Destination: &t.dir},
		},
		Run: func(ctx context.Context, _ []string) error {
			if t.service.Endpoint == "" || t.job == "" || t.login == "" || t.dir == "" {
				return cliargs.Usagef("--service, --job, --login and --dir are needed")
			}
			if err := t.prepare(ctx); err != nil {
				return err
			}
			code, err := t.run(ctx)
			if err == nil {
				a.Main.Exit(code)
			}
			return err
		},
	})
}

// prepare brings everything to this machine that the entry needs.
func (t *tasking) prepare(ctx context.Context) (err error) {
	if t.dir, err = filepath.Abs(t.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	text, err := os.ReadFile(t.login)
	if err != nil {
		return err
	}
	if err := os.Remove(t.login); err != nil {
		return err
	}
	dir, err := pfs.ParsePath(t.job)
	parts := strings.Split(t.job, "/") // "", pfs, DC, home, USER, jobs, NAME
	if err != nil || len(parts) != 7 || parts[1] != "pfs" || job.Dir(parts[2], parts[4], parts[6]) != dir {
		return cliargs.Usagef("--job %q is not the directory of a job: /pfs/DC/home/USER/jobs/NAME", t.job)
	}
	t.service.Session = strings.TrimSpace(string(text))
	if t.fs, _, _, err = t.a.Remotes.Tree(ctx, dir, t.service); err != nil {
		return err
	}
	r, err := job.ReadRecord(ctx, t.fs, parts[2], parts[4], parts[6])
	if err != nil {
		return err
	}
	t.rank.Spec, t.rank.Attempt = &r.Spec, t.attempt
	if err := t.readPAI(t.a.Main.Getenv); err != nil {
		return err
	}
	t.spec = filepath.Join(t.dir, "spec.json")
	text, err = json.Marshal(t.rank.Spec)
	if err == nil {
		err = os.WriteFile(t.spec, text, 0o600)
	}
	if err != nil {
		return err
	}
	if err := t.copyPackage(ctx); err != nil {
		return err
	}
	if len(r.Spec.Inputs) == 0 {
		return nil
	}
	opts := stage.Options{Dir: filepath.Join(t.dir, stagedName), FS: t.fs, Told: func(s string) { t.a.Message("%s", s) }}
	inputs, err := stage.Stage(ctx, opts, r.Spec.Inputs, filepath.Join(t.dir, inputsName))
	if err == nil {
		inputs.Close()
	}
	return err
}

// packageDir is where the package is on this machine.
func (t *tasking) packageDir() string { return filepath.Join(t.dir, "package") }

// copyPackage copies the package, whose files are verified.
func (t *tasking) copyPackage(ctx context.Context) error {
	if t.rank.Spec.Package == "" {
		return nil
	}
	from, _, err := transfer.End{FS: t.fs, Path: t.rank.Spec.Package}.Follow(ctx)
	if err != nil {
		return err
	}
	to, err := t.a.Local.End(t.packageDir())
	if err != nil {
		return err
	}
	j, err := transfer.New(transfer.Options{Origin: t.job, Links: transfer.SkipLinks, Parents: true})
	if err != nil {
		return err
	}
	return j.Copy(ctx, from, to)
}

// readPAI reads the rank and the addresses of all tasks from the variables of OpenPAI.
func (t *tasking) readPAI(env func(string) string) (err error) {
	r := &t.rank
	r.Role = env("PAI_CURRENT_TASK_ROLE_NAME")
	index := env("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX")
	if index == "" {
		index = env("PAI_TASK_INDEX")
	}
	if r.Index, err = strconv.Atoi(index); err != nil || r.Index < 0 {
		return cliargs.Usagef("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX is %q, which is not a number: is this a task of OpenPAI?", index)
	}
	known := false
	for _, role := range r.Spec.Roles {
		to := &r.Trainers
		if r.Spec.Serves(role.Name) {
			to = &r.Pservers
		}
		for i := range role.Replicas {
			address, err := addressOf(env, role.Name, i)
			if err != nil {
				return err
			}
			*to = append(*to, address)
		}
		if job.PAIName(role.Name) == job.PAIName(r.Role) && r.Index < role.Replicas {
			known, r.Role = true, role.Name
		}
	}
	if !known {
		return cliargs.Usagef("the job has no process %q of OpenPAI", job.WorkerName(r.Role, r.Index))
	}
	return nil
}

// addressOf returns the address of a task. OpenPAI before 0.14 has other variables than later ones, and those may have other names of roles.
func addressOf(env func(string) string, role string, index int) (string, error) {
	var host, port string
	task := role + "_" + strconv.Itoa(index)
	for _, name := range []string{role, job.PAIName(role)} {
		task := name + "_" + strconv.Itoa(index)
		host = cmp.Or(host, env("PAI_HOST_IP_"+task))
		if list := strings.Split(env("PAI_TASK_ROLE_"+name+"_HOST_LIST"), ","); host == "" && index < len(list) {
			host, _, _ = strings.Cut(list[index], ":")
		}
		port = cmp.Or(port, env("PAI_PORT_LIST_"+task+"_pfs"), env("PAI_"+task+"_pfs_PORT"))
	}
	port, _, _ = strings.Cut(port, ",")
	if host == "" || port == "" {
		return "", cliargs.Usagef("OpenPAI does not tell the address of %s-%d: PAI_HOST_IP_%s is %q and PAI_PORT_LIST_%s_pfs is %q", role, index, task, host, task, port)
	}
	return host + ":" + port, nil
}

// run runs the launcher as a process of its own, and the uploader in this one. It returns the exit code of the launcher. ctx ends if a
// signal comes before run takes them over.
func (t *tasking) run(ctx context.Context) (int, error) {
	own, err := os.Executable()
	if err != nil {
		return 0, err
	}
	r := &t.rank
	c := exec.Command(own, "launch", "--openpai", "--spec="+t.spec, "--dir="+t.dir, "--job-root="+t.dir, "--root=", "--grace="+taskGrace.String())
	if r.Spec.Package != "" {
		c.Args = append(c.Args, "--package="+t.packageDir())
	}
	c.Env = append(os.Environ(), "PFS_ROLE="+r.Role, "PFS_INDEX="+strconv.Itoa(r.Index), "PFS_ATTEMPT="+strconv.Itoa(r.Attempt),
		"PFS_TRAINERS="+strings.Join(r.Trainers, ","), "PFS_PSERVERS="+strings.Join(r.Pservers, ","))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	signal.Reset(syscall.SIGTERM, syscall.SIGINT) // the program would end
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return 0, err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(uploadMemory)
	}
	u := &uploading{rankOptions: &t.rankOptions, fs: t.fs, once: true, asked: make(chan struct{})}
	uploaded := make(chan error, 1)
	go func() { uploaded <- u.run(context.WithoutCancel(ctx)) }()
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var late <-chan time.Time
	if r.Spec.TimeLimit > 0 {
		late = time.After(r.Spec.TimeLimit)
	}
	early := ctx.Done()
	for running := true; running; {
		select {
		case <-early:
			early = nil
			_ = c.Process.Signal(syscall.SIGTERM)
		case s := <-signals:
			_ = c.Process.Signal(s) // it may just have ended
		case <-late:
			t.a.Message("the time limit of %v is over: the entry is asked to end", r.Spec.TimeLimit)
			_ = c.Process.Signal(syscall.SIGTERM)
		case err = <-ended:
			running = false
		}
	}
	close(u.asked)
	if failed := <-uploaded; failed != nil { // the marker tells, or its absence
		t.a.Message("the outputs: %v", failed)
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	status := c.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}
