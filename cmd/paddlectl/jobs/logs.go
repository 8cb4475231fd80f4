package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type logsOptions struct {
	datacenter   string
	lines        int
	worker, rank string
	follow       bool
	since        sinceFlag
	attempt      int
	json         bool
}

// sinceFlag is a time, or a duration before now.
type sinceFlag struct{ time time.Time }

func (f *sinceFlag) Set(s string) error {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			f.time = t
			return nil
		}
	}
	d, err := job.ParseDuration(s)
	if err != nil {
		return errors.New("neither a time such as 2026-01-31T12:00:00Z nor a duration such as 10m")
	}
	f.time = time.Now().Add(-d)
	return nil
}

func (f *sinceFlag) String() string { return "" }

// Logs returns the command logs.
func Logs(a *app.App) *cli.Command {
	o := &logsOptions{}
	return a.NewCommand(app.Spec{
		Name: "logs", Args: "NAME", Least: 1, Most: 1,
		Summary: "print logs of the job",
		Text: `Prints the standard output and standard error of the workers of a job in the last attempt,
worker by worker. With -f it then prints new lines in the order of arrival, until the job
has ended. The logs of ended jobs are in the store.`,
		Examples: []string{"paddlectl logs fit", "paddlectl logs -n 20 -f fit", "paddlectl logs -w trainer-0 --attempt 1 fit"},
		Exits:    exits(),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "lines", Aliases: []string{"n"}, Usage: "print the last `N` lines of each worker", Value: -1, DefaultText: "all", Destination: &o.lines},
			&cli.StringFlag{Name: "worker", Aliases: []string{"w"}, Usage: "print only the log of `WORKER`, such as trainer-0", Destination: &o.worker},
			&cli.StringFlag{Name: "rank", Usage: "print only the log of trainer `N`", Destination: &o.rank},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the job has ended", Destination: &o.follow},
			&cli.GenericFlag{Name: "since", Usage: "print lines since `TIME`, or for a duration such as 10m", Value: &o.since},
			&cli.IntFlag{Name: "attempt", Usage: "print the logs of attempt `N`", DefaultText: "the last", Destination: &o.attempt},
			datacenterFlag(&o.datacenter),
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error {
			if err := checkAttempt(o.attempt); err != nil {
				return err
			}
			if o.lines < -1 {
				return cliargs.Usagef("--lines %d: a number from 0 up is needed", o.lines)
			}
			if o.rank != "" && o.worker != "" {
				return cliargs.Usagef("--rank and --worker contradict each other")
			}
			s, err := openFor(ctx, a, o.datacenter, o.json, operands...)
			if err != nil {
				return err
			}
			return (&logs{session: s, o: *o}).run(ctx, operands[0])
		},
	})
}

// logs is one run of the command.
type logs struct {
	*session
	o       logsOptions
	rec     *job.Record
	attempt int
	here    bool // this machine has all lines
	workers []string
	source  job.Logs
	heads   bool   // each worker has a heading
	at      string // the worker whose lines are being printed
	mid     bool   // the last line has not ended
}

func (l *logs) run(ctx context.Context, name string) error {
	var known bool
	var err error
	if l.rec, known, err = l.job(ctx, name); err != nil {
		return err
	}
	l.here = known && l.kind == local.Name
	if l.o.follow && known && l.rec.Attempt == 0 {
		if err := l.begun(ctx, name); err != nil {
			return err
		}
	}
	if l.attempt = l.o.attempt; l.attempt == 0 {
		l.attempt = l.rec.Attempt
	}
	if err := l.choose(ctx); err != nil {
		return err
	}
	if l.o.follow && !known && !l.rec.State.Ended() && l.rec.Host != "" {
		return l.elsewhere(l.rec, "logs -f")
	}
	l.heads = len(l.workers) > 1 && !l.o.json
	l.source = job.Logs{FS: l.fs, Engine: l.engine, Spec: &l.rec.Spec, Attempt: l.attempt, Workers: l.workers, Ahead: readAhead}
	if known {
		return l.merged(ctx)
	}
	for _, w := range l.workers {
		if err := l.stored(ctx, w, l.print); err != nil {
			return err
		}
	}
	return nil
}

// begun waits until a job that waits has begun or ended.
func (l *logs) begun(ctx context.Context, name string) (err error) {
	for said := ""; l.rec.Attempt == 0 && !l.rec.State.Ended(); {
		if why := reason(l.rec); why != said {
			said = why
			l.Message("%s is %s: %s", name, l.rec.State, why)
		}
		if err := retry.Sleep(ctx, every); err != nil {
			return err
		}
		if l.rec, _, err = l.job(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// choose selects the workers to print logs of.
func (l *logs) choose(ctx context.Context) error {
	spec := &l.rec.Spec
	var all []string
	for _, role := range spec.Roles {
		for i := range role.Replicas {
			all = append(all, job.WorkerName(role.Name, i))
		}
	}
	want := strings.TrimPrefix(l.o.worker, spec.Name+"-") // as the tables of 2017 name it
	if l.o.rank != "" {
		want = spec.Roles[0].Name + "-" + l.o.rank
	}
	if want != "" {
		if !slices.Contains(all, want) {
			return pfs.Errorf("paddlectl.logs", "", pfs.NotExist, "the job %q has no worker %q: it has %s to %s", spec.Name, want, all[0], all[len(all)-1])
		}
		all = []string{want}
	}
	l.workers = all
	if l.o.attempt > max(1, l.rec.Attempt) {
		return pfs.Errorf("paddlectl.logs", "", pfs.NotExist, "the job %q has %d attempts, not %d", spec.Name, l.rec.Attempt, l.o.attempt)
	}
	return nil
}

// merged prints the lines of the store, then those that only the engine has: worker by worker, or with
// --follow those of all workers at the same time.
func (l *logs) merged(ctx context.Context) error {
	opts := job.LogOptions{Attempt: l.attempt, Lines: l.o.lines, Since: l.o.since.time, Follow: l.o.follow}
	if l.o.follow {
		opts.Attempt = l.o.attempt // 0: also those that come
		if len(l.workers) == 1 {
			opts.Worker = l.workers[0]
		}
		for _, w := range l.workers {
			if err := l.stored(ctx, w, l.print); err != nil {
				return err
			}
		}
		return l.source.Live(ctx, opts, l.print)
	}
	for _, w := range l.workers {
		opts.Worker = w
		emit, lines := l.print, []job.LogLine(nil)
		if l.o.lines >= 0 {
			emit = func(_ string, line job.LogLine) error {
				line.Text = bytes.Clone(line.Text)
				lines = append(lines, line)
				return nil
			}
		}
		if err := l.stored(ctx, w, emit); err != nil {
			return err
		}
		if err := l.source.Live(ctx, opts, emit); err != nil {
			return err
		}
		for _, line := range lines[max(0, len(lines)-max(0, l.o.lines)):] {
			if err := l.print(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored passes the lines that the store has of a worker to emit.
func (l *logs) stored(ctx context.Context, worker string, emit func(string, job.LogLine) error) error {
	if l.here {
		return nil
	}
	opts := job.LogOptions{Lines: l.o.lines, Since: l.o.since.time}
	return l.source.Stored(ctx, worker, opts, func(line job.LogLine) error { return emit(worker, line) })
}

// readAhead is job.Logs.Ahead.
func readAhead(ctx context.Context, f pfs.File) (io.Reader, func()) {
	r := transfer.NewReadAhead(ctx, f, 0, f.Info().Size)
	return r, r.Stop
}

// logJSON is a line with --json.
type logJSON struct {
	Worker  string    `json:"worker"`
	Time    time.Time `json:"time"`
	Stream  string    `json:"stream"`
	Text    string    `json:"text"`
	Partial bool      `json:"partial,omitempty"` // the line goes on in the next one of its stream
}

// heading is that of 2017, above the log of a worker.
const heading = "=========================="

// print prints a line. A worker's name is above its lines.
func (l *logs) print(worker string, line job.LogLine) error {
	if l.o.json {
		return l.JSON(logJSON{worker, line.Time, line.Stream, string(line.Text), line.Partial})
	}
	if l.heads && worker != l.at {
		if l.mid {
			l.Printf("\n")
		}
		l.Printf("%s%s%s\n", heading, l.rec.Spec.Name+"-"+worker, heading)
	}
	l.at, l.mid = worker, line.Partial
	end := "\n"
	if line.Partial {
		end = ""
	}
	_, err := fmt.Fprintf(l.Out, "%s%s", l.Name(string(line.Text)), end)
	return err
}
