package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/urfave/cli/v2"
)

// Get returns the command get.
func Get(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "get", Args: "jobs|workers|quota|registry|outputs [NAME]",
		Summary: "print jobs, workers, quotas, registries and outputs",
		Text:    `Prints resources of jobs.`,
		Subs:    []*cli.Command{getJobs(a), getWorkers(a), getQuota(a), getRegistry(a), getOutputs(a)},
	})
}

type getOptions struct {
	shape
	datacenter string
	all, watch bool
	attempt    int
}

// every is the time between two looks of --watch and of wait.
const every = time.Second

func (o *getOptions) flags(more ...cli.Flag) []cli.Flag {
	return append(more, datacenterFlag(&o.datacenter), o.legacyFlag(), app.JSONFlag(&o.json))
}

func getJobs(a *app.App) *cli.Command {
	o := &getOptions{}
	return a.NewCommand(app.Spec{
		Name: "jobs", Args: "[NAME...]", Most: -1,
		Summary: "list jobs",
		Text: `Lists your jobs, or only the named ones. Without -a, ended jobs that the engine has
forgotten are omitted. TRAINERS is the number of trainers that run or have succeeded.
REASON tells why a job waits or has failed.`,
		Examples: []string{"paddlectl get jobs -a", "paddlectl get jobs --watch fit"},
		Exits:    exits(cliio.Partly),
		Flags: o.flags(
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also list ended jobs that only the store remembers", Destination: &o.all},
			&cli.BoolFlag{Name: "watch", Usage: "print each change until interrupted, or until all named jobs have ended", Destination: &o.watch}),
		Run: func(ctx context.Context, operands []string) error {
			s, err := openFor(ctx, a, o.datacenter, o.json, operands...)
			if err != nil {
				return err
			}
			return s.watched(ctx, o, operands, s.printJobs)
		},
	})
}

// watched prints the jobs, and with --watch again those that have changed.
func (s *session) watched(ctx context.Context, o *getOptions, names []string, print func(o *getOptions, list []job.Record, first bool) error) error {
	last := map[string][]byte{}
	for first := true; ; first = false {
		list, failed, err := s.chosen(ctx, o, names)
		if err != nil {
			return err
		}
		ended := len(names) > 0
		var changed []job.Record
		for _, r := range list {
			ended = ended && r.State.Ended()
			r.Updated = time.Time{}
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if !bytes.Equal(text, last[r.Spec.Name]) {
				last[r.Spec.Name] = text
				changed = append(changed, r)
			}
		}
		if err := print(o, changed, first); err != nil {
			return err
		}
		if !o.watch || failed != nil || ended {
			return failed
		}
		_ = s.Out.Flush() // finish reports an error
		if err := retry.Sleep(ctx, every); err != nil {
			return err
		}
	}
}

// chosen returns the jobs that are named, or all. failed is the error for those that could not be read,
// which was reported.
func (s *session) chosen(ctx context.Context, o *getOptions, names []string) (list []job.Record, failed, err error) {
	if len(names) > 0 {
		tally := cliio.NewTally(s.ReportFailure)
		for _, name := range names {
			r, _, err := s.job(ctx, name)
			if tally.Add(err); err == nil {
				list = append(list, *r)
			}
		}
		if len(names) == 1 && tally.Err() != nil {
			return nil, nil, tally.Err()
		}
		return list, tally.Err(), nil
	}
	list, damaged, err := s.all(ctx, o.all)
	if err != nil {
		return nil, nil, err
	}
	for _, err := range damaged {
		s.ReportFailure(err)
		failed = cliio.Reported(cliio.Partly)
	}
	return list, failed, nil
}

func (s *session) printJobs(o *getOptions, list []job.Record, first bool) error {
	if o.json {
		for i := range list {
			if err := s.JSON(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if o.legacy {
		rows := [][]string{{"NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE"}}
		for i := range list {
			r := &list[i]
			rows = append(rows, []string{
				strconv.Itoa(i), s.Name(r.Spec.Name), legacyCount(count(r, job.Succeeded)), legacyCount(count(r, job.Failed, job.Killed)),
				legacyTime(r.Started), legacyTime(r.Ended), legacyCount(count(r, job.Running, job.Uploading)),
			})
		}
		return legacyTable(s.Out, rows[skip(first):])
	}
	rows := [][]string{{"NAME", "STATE", "TRAINERS", "ATTEMPT", "START", "END", "ENGINE", "REASON"}}
	for i := range list {
		r := &list[i]
		engine := r.Engine
		if r.Host != "" && r.Host != host() {
			engine += " on " + r.Host
		}
		rows = append(rows, []string{
			r.Spec.Name, string(r.State), trainers(r), strconv.Itoa(r.Attempt), clock(r.Started), clock(r.Ended), engine, orDash(cliio.Escape(reason(r))),
		})
	}
	return table(s.Out, rows[skip(first):])
}

// skip returns 0 for a table with its header, 1 without.
func skip(first bool) int {
	if first {
		return 0
	}
	return 1
}

func getWorkers(a *app.App) *cli.Command {
	o := &getOptions{}
	return a.NewCommand(app.Spec{
		Name: "workers", Args: "[NAME...]", Most: -1,
		Summary: "list the workers of jobs",
		Text: `Lists the workers of the last attempt: trainers and parameter servers. Without NAME it
lists the workers of all jobs that have not ended. EXIT is the exit code of the program, or
the signal that ended it; OUTPUTS is the marker of its outputs.`,
		Examples: []string{"paddlectl get workers fit"},
		Exits:    exits(cliio.Partly),
		Flags:    o.flags(&cli.BoolFlag{Name: "watch", Usage: "print each change until interrupted, or until all named jobs have ended", Destination: &o.watch}),
		Run: func(ctx context.Context, operands []string) error {
			s, err := openFor(ctx, a, o.datacenter, o.json, operands...)
			if err != nil {
				return err
			}
			return s.watched(ctx, o, operands, func(o *getOptions, list []job.Record, first bool) error {
				if len(operands) == 0 {
					list = slices.DeleteFunc(list, func(r job.Record) bool { return r.State.Ended() })
				}
				return s.printWorkers(o, list, first)
			})
		},
	})
}

// workerJSON is a worker with its job.
type workerJSON struct {
	Job string `json:"job"`
	job.Worker
}

func (s *session) printWorkers(o *getOptions, list []job.Record, first bool) error {
	rows := [][]string{{"JOB", "WORKER", "STATE", "ATTEMPT", "RESTARTS", "START", "END", "EXIT", "OUTPUTS", "REASON"}}
	if o.legacy {
		rows = [][]string{{"NAME", "STATUS", "START"}}
	}
	for i := range list {
		for _, w := range list[i].Workers {
			name := list[i].Spec.Name
			switch {
			case o.json:
				if err := s.JSON(workerJSON{name, w}); err != nil {
					return err
				}
			case o.legacy:
				rows = append(rows, []string{name + "-" + w.Name, string(w.State), legacyTime(w.Started)})
			default:
				rows = append(rows, []string{
					name, w.Name, string(w.State), strconv.Itoa(w.Attempt), strconv.Itoa(w.Restarts), clock(w.Started), clock(w.Ended), ending(&w),
					orDash(w.Outputs), orDash(cliio.Escape(w.Reason)),
				})
			}
		}
	}
	switch {
	case o.json:
		return nil
	case o.legacy:
		return legacyTable(s.Out, rows[skip(first):])
	}
	return table(s.Out, rows[skip(first):])
}

func getQuota(a *app.App) *cli.Command {
	o := &getOptions{}
	return a.NewCommand(app.Spec{
		Name:    "quota",
		Summary: "show the limits of your jobs",
		Text: `Shows what your jobs use and may use at the same time. An engine without limits has an
empty table. paddlectl quota shows the limits of files.`,
		Examples: []string{"paddlectl get quota"},
		Exits:    app.RemoteExits(),
		Flags:    o.flags(),
		Run: func(ctx context.Context, _ []string) error {
			s, err := open(ctx, a, o.datacenter, o.json)
			if err != nil {
				return err
			}
			list, err := s.engine.Quota(ctx, s.user)
			if err != nil {
				return err
			}
			return s.printQuota(o, list)
		},
	})
}

// quotaNames are the names of 2017.
var quotaNames = map[string]string{"memory": "Memory", "milli_cpu": "CPU", "gpu": "GPU", "pods": "MaxParallism"}

func (s *session) printQuota(o *getOptions, list []job.Quota) error {
	rows := [][]string{{"RESOURCE", "USED", "LIMIT", "FREE"}}
	if o.legacy {
		rows = [][]string{{"RESOURCE", "LIMIT"}, {"-----", "-----"}}
	}
	for _, q := range list {
		amount, name := strconv.FormatInt, q.Resource
		text := func(n int64) string { return amount(n, 10) }
		switch {
		case strings.HasSuffix(q.Resource, "milli_cpu"):
			name, text = strings.TrimSuffix(q.Resource, "milli_cpu")+"cpu", job.FormatCPU
		case strings.HasSuffix(q.Resource, "memory"):
			text = job.FormatMemory
		}
		switch legacy, ok := quotaNames[q.Resource]; {
		case o.json:
			if err := s.JSON(q); err != nil {
				return err
			}
		case o.legacy && ok:
			rows = append(rows, []string{legacy, text(q.Limit)})
		default:
			rows = append(rows, []string{name, text(q.Used), text(q.Limit), text(max(0, q.Limit-q.Used))})
		}
	}
	switch {
	case o.json:
		return nil
	case len(list) == 0:
		s.Message("the engine %q of datacenter %q has no limits", s.kind, s.dc)
	}
	return table(s.Out, rows)
}

func getRegistry(a *app.App) *cli.Command {
	o := &getOptions{}
	return a.NewCommand(app.Spec{
		Name:    "registry",
		Summary: "list the registries of images",
		Text:    `Lists the registries that paddlectl registry has added.`,
		Exits:   app.RemoteExits(),
		Flags:   o.flags(),
		Run: func(ctx context.Context, _ []string) error {
			s, err := open(ctx, a, o.datacenter, o.json)
			if err != nil {
				return err
			}
			if s.kind == local.Name {
				s.Message("the engine %q of datacenter %q has no registries", s.kind, s.dc)
				return s.printRegistries(o, nil)
			}
			r, err := s.registrar()
			if err != nil {
				return err
			}
			list, err := r.Registries(ctx, s.user)
			if err != nil {
				return err
			}
			return s.printRegistries(o, list)
		},
	})
}

func (s *session) printRegistries(o *getOptions, list []job.Registry) error {
	rows := [][]string{{"NAME", "SERVER", "USERNAME", "CREATED"}}
	if o.legacy {
		rows = [][]string{{"ID", "NAME", "DATA"}}
	}
	for i, r := range list {
		switch {
		case o.json:
			if err := s.JSON(r); err != nil {
				return err
			}
		case o.legacy:
			rows = append(rows, []string{strconv.Itoa(i), r.Name, legacyTime(r.Created)})
		default:
			rows = append(rows, []string{r.Name, r.Server, r.Username, clock(r.Created)})
		}
	}
	if o.json {
		return nil
	}
	return table(s.Out, rows)
}

func getOutputs(a *app.App) *cli.Command {
	o := &getOptions{}
	return a.NewCommand(app.Spec{
		Name: "outputs", Args: "NAME...", Least: 1, Most: -1,
		Summary: "show and verify the outputs of jobs",
		Text: `Shows the outputs of the last attempt, and verifies them: all files are read and compared
with the manifest. The MARKER _SUCCESS or _FAILED tells how the program ended; with
_INCOMPLETE outputs are missing. Without a marker the outputs are not committed, and
must not be used. COMMITTED tells whether every trainer of the attempt has succeeded.

The exit code is 0 if all outputs are whole, 8 if any is incomplete or not committed,
and 7 if a file differs from its manifest.`,
		Examples: []string{"paddlectl get outputs fit", "paddlectl get outputs --attempt 1 --json fit"},
		Exits:    exits(cliio.Integrity, cliio.Partly),
		Flags: o.flags(
			&cli.IntFlag{Name: "attempt", Usage: "show attempt `N`", DefaultText: "the last", Destination: &o.attempt},
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "show all attempts", Destination: &o.all}),
		Run: func(ctx context.Context, operands []string) error {
			if o.attempt < 0 || o.attempt > 0 && o.all {
				return cliargs.Usagef("--attempt %d: a number from 1 up is needed, and not with --all", o.attempt)
			}
			s, err := openFor(ctx, a, o.datacenter, o.json, operands...)
			if err != nil {
				return err
			}
			return app.EachOf(ctx, a, operands, func(name string) error { return s.outputs(ctx, o, name) })
		},
	})
}

// outputJSON is the outputs of one worker.
type outputJSON struct {
	Job       string `json:"job"`
	Attempt   int    `json:"attempt"`
	Committed bool   `json:"committed"` // the attempt
	*output.Report
}

// outputs prints the outputs of a job. The record of the job need not exist.
func (s *session) outputs(ctx context.Context, o *getOptions, name string) error {
	if reason := job.CheckName(name); reason != "" {
		return cliargs.Usagef("the name %q: %s", name, reason)
	}
	attempts, err := s.attempts(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case o.attempt > 0 && !slices.Contains(attempts, o.attempt):
		return pfs.Errorf("paddlectl.outputs", "", pfs.NotExist, "the job %q has no outputs of attempt %d", name, o.attempt)
	case o.attempt > 0:
		attempts = []int{o.attempt}
	case len(attempts) > 0 && !o.all:
		attempts = attempts[len(attempts)-1:]
	}
	if len(attempts) == 0 {
		if _, _, err := s.job(ctx, name); err != nil {
			return err
		}
		s.Message("%s has no outputs yet", name)
		return cliio.Reported(cliio.Partly)
	}
	rows := [][]string{{"ATTEMPT", "COMMITTED", "WORKER", "MARKER", "FILES", "SIZE", "VERIFIED", "REASON"}}
	code := cliio.Done
	worse := func(c cliio.Code) {
		if code != cliio.Integrity && c != cliio.Done {
			code = c
		}
	}
	for _, n := range attempts {
		dir := job.Dir(s.dc, s.user, name).Join("attempts").Join(strconv.Itoa(n))
		committed, err := output.Committed(ctx, s.fs, dir)
		if err != nil {
			return err
		}
		if !committed && n == attempts[len(attempts)-1] {
			worse(cliio.Partly)
		}
		runs, err := output.Runs(ctx, s.fs, dir)
		if err != nil {
			return err
		}
		reports, err := output.Lost(ctx, s.fs, dir)
		if err != nil {
			return err
		}
		for _, run := range runs {
			r, err := output.Verify(ctx, s.fs, run, nil)
			if err != nil {
				return err
			}
			reports = append(reports, r)
		}
		for _, r := range reports {
			switch {
			case r.Wrong > 0:
				worse(cliio.Integrity)
			case !r.Whole():
				worse(cliio.Partly)
			}
			if o.json {
				if err := s.JSON(outputJSON{name, n, committed, r}); err != nil {
					return err
				}
				continue
			}
			for _, p := range r.Problems {
				s.Message("%s/%s: %s", r.Dir, p.Path, p.Reason)
			}
			why := strings.Join(r.Reasons, "; ")
			switch {
			case r.Wrong > 0:
				why = fmt.Sprintf("%d files are not as the manifest says", r.Wrong)
			case why == "" && r.LeftOut > 0:
				why = fmt.Sprintf("%d left out; %s names them", r.LeftOut, output.Manifest)
			case why == "" && r.Exit != nil:
				why = r.Exit.Reason
			}
			rows = append(rows, []string{
				strconv.Itoa(n), yes(committed), strings.TrimPrefix(string(r.Dir), string(dir)+"/"), orDash(r.Marker), strconv.FormatInt(r.Files, 10),
				cliio.ShortSize(r.Bytes), yes(r.Verified), orDash(cliio.Escape(why)),
			})
		}
	}
	if !o.json {
		if err := table(s.Out, rows); err != nil {
			return err
		}
	}
	if code != cliio.Done {
		return cliio.Reported(code)
	}
	return nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// attempts returns the numbers of the attempts that have files at the store, sorted.
func (s *session) attempts(ctx context.Context, name string) (list []int, err error) {
	for e, err := range pfs.Entries(ctx, s.fs, job.Dir(s.dc, s.user, name).Join("attempts"), nil) {
		if errors.Is(err, pfs.NotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(e.Name); err == nil && n > 0 && e.IsDir() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}
