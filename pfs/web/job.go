package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// jobPage is the data of the template "job".
type jobPage struct {
	frame
	*job.Record
	Datacenter string
	Engine     string
	Reason     string
	Notice     string
	Live       bool // the state can change
	CanStop    bool
	CanDelete  bool
	Elsewhere  string // the machine that alone can end the job
	Rows       []workerRow
	More       int // workers that are not shown
	Attempts   []attempt
	Spec       *job.Spec
	Logged     []string // workers to choose from
}

// workerRow is a worker with the folder of its outputs.
type workerRow struct {
	job.Worker
	Exit string
	Dir  pfs.Path
}

// attempt is an attempt that has outputs.
type attempt struct {
	Number    int
	Dir       pfs.Path
	Committed bool
}

// The bounds of a page of a job.
const (
	maxWorkers  = 500
	maxAttempts = 20
)

// job shows a job.
func (x *Web) job(v *visit, _ pfs.Path) error {
	j, err := x.findJob(v)
	if err != nil {
		return err
	}
	p := jobPage{
		frame: v.frame(x, shown(j.Spec.Name)), Record: j.Record, Datacenter: j.dc.Name, Engine: engineOf(j.Record), Reason: reasonOf(j.Record), Notice: j.notice,
		Live: !j.State.Ended(), CanStop: j.canStop(), CanDelete: j.cannotDelete() == "", Spec: &j.Record.Spec,
	}
	p.Section = "jobs"
	if p.Live && j.engine == nil {
		p.Elsewhere = j.Host
	}
	for _, w := range j.Workers[:min(len(j.Workers), maxWorkers)] {
		row := workerRow{Worker: w, Exit: w.Signal, Dir: job.OutputDir(p.Spec, w.Attempt, w.Name)}
		if w.ExitCode != nil && w.Signal == "" {
			row.Exit = strconv.Itoa(*w.ExitCode)
		}
		p.Rows = append(p.Rows, row)
	}
	p.More = len(j.Workers) - len(p.Rows)
	p.Logged = workerNames(p.Spec)
	p.Logged = p.Logged[:min(len(p.Logged), maxWorkers)]
	ctx, cancel := context.WithTimeout(v.Context(), engineWait)
	defer cancel()
	err = v.session.Do(ctx, "job-outputs", func(ctx context.Context) (err error) {
		p.Attempts, err = attempts(ctx, v.session.FS(), p.Spec)
		return err
	})
	if err != nil {
		p.Notice = cmp.Or(p.Notice, "The outputs cannot be listed: "+textOf(err))
	}
	x.render(v.w, http.StatusOK, "job", p)
	return nil
}

// attempts returns the last attempts that have outputs, the last first.
func attempts(ctx context.Context, tree pfs.FileSystem, spec *job.Spec) (list []attempt, err error) {
	dir := job.Dir(spec.Datacenter, spec.User, spec.Name).Join("attempts")
	for e, err := range pfs.Entries(ctx, tree, dir, nil) {
		if errors.Is(err, pfs.NotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(e.Name); err == nil && n > 0 && e.IsDir() {
			list = append(list, attempt{Number: n, Dir: dir.Join(e.Name)})
		}
	}
	slices.SortFunc(list, func(a, b attempt) int { return b.Number - a.Number })
	list = list[:min(len(list), maxAttempts)]
	for i := range list {
		if list[i].Committed, err = pfs.Exists(ctx, tree, list[i].Dir.Join("_SUCCESS")); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// workerNames returns the names of all workers of a job.
func workerNames(spec *job.Spec) (names []string) {
	for _, role := range spec.Roles {
		for i := range role.Replicas {
			names = append(names, job.WorkerName(role.Name, i))
		}
	}
	return names
}

func (j *seenJob) canStop() bool {
	return j.engine != nil && !j.State.Ended() && j.State != job.Killing
}

// cannotDelete returns why a job cannot be deleted, or "".
func (j *seenJob) cannotDelete() string {
	switch {
	case j.State.Ended() || j.engine == nil && j.State == job.Submitting:
		return ""
	case j.engine == nil && j.Host != "":
		return fmt.Sprintf("The job runs on the machine %s: end it there with paddlectl kill %s.", j.Host, j.Spec.Name)
	}
	return fmt.Sprintf("The job is %s: stop it first.", j.State)
}

// refuse answers that a job does not allow the requested operation.
func (x *Web) refuse(v *visit, why string) error {
	p := errorPage{frame: v.frame(x, "Not possible"), Message: shown(why)}
	p.Section = "jobs"
	x.render(v.w, http.StatusConflict, "error", p)
	return nil
}

// jobQuestion is the data of the template "jobquestion", which asks before a job is stopped or deleted.
type jobQuestion struct {
	frame
	Datacenter, Name string
	Stop             bool
}

// askJob asks whether a job is to be stopped or deleted.
func (x *Web) askJob(stop bool) func(v *visit, _ pfs.Path) error {
	return func(v *visit, _ pfs.Path) error {
		j, err := x.findJob(v)
		if err != nil {
			return err
		}
		q := jobQuestion{frame: v.frame(x, "Delete "+shown(j.Spec.Name)), Datacenter: j.dc.Name, Name: j.Spec.Name, Stop: stop}
		if stop {
			q.Title = "Stop " + shown(j.Spec.Name)
		}
		q.Section = "jobs"
		x.render(v.w, http.StatusOK, "jobquestion", q)
		return nil
	}
}

// stopWait is how long the answer to a stop waits for the end. The page of the job shows the rest.
const stopWait = 5 * time.Second

// stopJob ends a job.
func (x *Web) stopJob(v *visit, _ pfs.Path) error {
	j, err := x.findJob(v)
	switch {
	case err != nil:
		return err
	case j.State.Ended():
		return v.redirect(jobAddress(j.dc.Name, j.Spec.Name))
	case j.engine == nil:
		return x.refuse(v, cmp.Or(j.cannotDelete(), "The job is being submitted, and does not run yet."))
	}
	ctx, cancel := context.WithTimeout(v.Context(), stopWait)
	defer cancel()
	begun := false
	err = j.engine.Kill(ctx, "", j.Spec.Name, func(*job.Record) { begun = true })
	if err != nil && !(begun && ctx.Err() != nil) { // the engine goes on without the request
		return err
	}
	return v.redirect(jobAddress(j.dc.Name, j.Spec.Name))
}

// deleteJob removes the record and the logs of a job that has ended.
func (x *Web) deleteJob(v *visit, _ pfs.Path) error {
	j, err := x.findJob(v)
	if err != nil {
		return err
	}
	if why := j.cannotDelete(); why != "" {
		return x.refuse(v, why)
	}
	ctx, cancel := context.WithTimeout(v.Context(), time.Minute)
	defer cancel()
	err = v.session.Change(ctx, "job-delete", func(ctx context.Context) error {
		return job.Delete(ctx, v.session.FS(), j.engine, j.dc.Name, v.session.User().Name, j.Spec.Name)
	}, "path", job.Dir(j.dc.Name, v.session.User().Name, j.Spec.Name))
	if err != nil {
		return err
	}
	return v.redirect("/ui/jobs")
}

// Role describes a role of the job, for the template.
func (p jobPage) Role(r job.Role) string {
	return fmt.Sprintf("%d, each with %s CPU, %d GPU, %s memory", r.Replicas, job.FormatCPU(r.CPU), r.GPU, job.FormatMemory(r.Memory))
}
