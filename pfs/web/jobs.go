package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Jobs configures the pages of jobs. They call the engines by the methods of package jobhttp, which Config.Service serves.
// Without datacenters there are no such pages.
type Jobs struct {
	Datacenters []JobDatacenter

	// Submit starts a job whose package is on the service. tree is what the user sees.
	Submit func(ctx context.Context, tree pfs.FileSystem, e job.Engine, kind string, spec *job.Spec) error
}

// JobDatacenter is a datacenter and the name of its engine, empty if jobs run on the machine that submits them.
type JobDatacenter struct{ Name, Engine string }

// engineWait is how long a page waits for an engine. The rest of the page is shown without it.
const engineWait = 10 * time.Second

// transport carries requests of jobhttp to the service, as those of the user.
type transport struct {
	x *Web
	v *visit
}

// Extension is jobhttp.Transport.
func (t transport) Extension(ctx context.Context, method string, request []byte, begin func() io.Writer) error {
	in, out := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := readFrames(ctx, in, begin())
		in.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
		read <- err
	}()
	to := &caught{limit: maxReply, sink: out}
	err := t.x.serve(t.v.WithContext(ctx), to, http.MethodPost, wire.PathCall+method, nil, t.v.access, bytes.NewReader(request), int64(len(request)))
	out.Close()
	failed := <-read
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != context.Canceled:
		return pfs.Errorf("web.Extension", "", pfs.Unavailable, "the engine has not answered in time")
	case err != nil:
		return err
	}
	return failed
}

// readFrames copies the answer of an extension to w, until ctx is done.
func readFrames(ctx context.Context, in io.Reader, w io.Writer) error {
	for {
		var f wire.Frame
		if err := cmp.Or(wire.ReadFrame(in, &f), ctx.Err()); err != nil {
			return err
		}
		if _, err := w.Write(f.Reply); err != nil {
			return err
		}
		switch {
		case f.Error != nil:
			return f.Error.Err()
		case f.Done:
			return nil
		}
	}
}

// engine returns the engine of a datacenter, or nil if its jobs run on the machine that submits them.
func (x *Web) engine(v *visit, d JobDatacenter) job.Engine {
	if d.Engine == "" {
		return nil
	}
	return jobhttp.NewClient(transport{x, v}, d.Name)
}

// jobsPage is the data of the template "jobs".
type jobsPage struct {
	frame
	Notices []string
	Jobs    []jobRow
	Newer   string // addresses
	Older   string
	Remote  bool // a datacenter has an engine
}

// jobRow is a job in the list.
type jobRow struct {
	Datacenter, Name, Engine, Workers string
	State                             job.State
	Reason                            string
	Submitted, Started, Ended         time.Time
}

// jobsOnPage is the number of jobs on a page of the list.
const jobsOnPage = 200

// maxReason bounds the reason of a job in the list, in bytes.
const maxReason = 400

// jobs lists the jobs of the user in all datacenters, the last first.
func (x *Web) jobs(v *visit, _ pfs.Path) error {
	p := jobsPage{frame: v.frame(x, "Jobs")}
	p.Section = "jobs"
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, d := range x.cfg.Jobs.Datacenters {
		p.Remote = p.Remote || d.Engine != ""
		work.Go(func() {
			rows, notices := x.jobsOf(v, d)
			mu.Lock()
			defer mu.Unlock()
			p.Jobs, p.Notices = append(p.Jobs, rows...), append(p.Notices, notices...)
		})
	}
	work.Wait()
	slices.Sort(p.Notices)
	slices.SortStableFunc(p.Jobs, func(a, b jobRow) int {
		return cmp.Or(b.Submitted.Compare(a.Submitted), strings.Compare(a.Name, b.Name), strings.Compare(a.Datacenter, b.Datacenter))
	})
	from, _ := strconv.Atoi(v.URL.Query().Get("from"))
	from = max(0, min(from, len(p.Jobs)))
	to := min(from+jobsOnPage, len(p.Jobs))
	if from > 0 {
		p.Newer = fmt.Sprintf("/ui/jobs?from=%d", max(0, from-jobsOnPage))
	}
	if to < len(p.Jobs) {
		p.Older = fmt.Sprintf("/ui/jobs?from=%d", to)
	}
	p.Jobs = p.Jobs[from:to]
	x.render(v.w, http.StatusOK, "jobs", p)
	return nil
}

// jobsOf returns the jobs of a datacenter: those that its engine knows, and others of which the store has the record.
func (x *Web) jobsOf(v *visit, d JobDatacenter) (rows []jobRow, notices []string) {
	known := map[string]bool{}
	add := func(r *job.Record) {
		if known[r.Spec.Name] {
			return
		}
		known[r.Spec.Name] = true
		row := jobRow{Datacenter: d.Name, Name: r.Spec.Name, Engine: engineOf(r), Workers: workersOf(r), State: r.State, Reason: reasonOf(r), Submitted: r.Submitted, Started: r.Started, Ended: r.Ended}
		if len(row.Reason) > maxReason {
			row.Reason = strings.ToValidUTF8(row.Reason[:maxReason], "") + "…"
		}
		rows = append(rows, row)
	}
	ctx, cancel := context.WithTimeout(v.Context(), engineWait)
	defer cancel()
	if e := x.engine(v, d); e != nil {
		list, err := e.Jobs(ctx, "")
		if err != nil {
			notices = append(notices, fmt.Sprintf("The engine of the datacenter %s does not say what it runs, so the states of its jobs may be old: %s", d.Name, textOf(err)))
		}
		for i := range list {
			add(&list[i])
		}
	}
	ctx, cancel = context.WithTimeout(v.Context(), engineWait)
	defer cancel()
	bad := 0
	err := v.session.Do(ctx, "jobs", func(ctx context.Context) error {
		for r, err := range job.Records(ctx, v.session.FS(), d.Name, v.session.User().Name) {
			switch {
			case err != nil && (ctx.Err() != nil || pfs.KindOf(err).Temporary()):
				return err
			case err != nil:
				if bad++; bad == 1 {
					notices = append(notices, "The record of a job cannot be read: "+textOf(err))
				}
			default:
				add(r)
			}
		}
		return nil
	})
	if err != nil {
		notices = append(notices, fmt.Sprintf("The store of the datacenter %s does not answer, so jobs are missing here: %s", d.Name, textOf(err)))
	}
	return rows, notices
}

// engineOf returns where a job runs.
func engineOf(r *job.Record) string {
	if r.Host != "" {
		return r.Engine + " on " + r.Host
	}
	return cmp.Or(r.Spec.Engine, r.Engine)
}

// reasonOf returns why a job waits or has failed.
func reasonOf(r *job.Record) string {
	if r.Reason == "" && r.State == job.Submitting {
		return "the package is being uploaded"
	}
	return r.Reason
}

// workersOf says how many workers of a job run, or have succeeded.
func workersOf(r *job.Record) string {
	all, up := 0, 0
	for _, role := range r.Spec.Roles {
		all += role.Replicas
	}
	for _, w := range r.Workers {
		switch w.State {
		case job.Running, job.Uploading, job.Succeeded:
			up++
		}
	}
	return fmt.Sprintf("%d of %d", up, all)
}

// jobAddress returns the address of a page of a job: "" for its own, or another, such as "log".
func jobAddress(datacenter, name string, page ...string) string {
	parts := append([]string{"/ui/jobs", url.PathEscape(datacenter), url.PathEscape(name)}, page...)
	return strings.Join(parts, "/")
}

// seenJob is a job, as a page found it.
type seenJob struct {
	*job.Record
	dc     JobDatacenter
	engine job.Engine // nil if it does not know the job
	notice string     // why the record may be old
}

// findJob finds the job that the address names: at the engine or, failing that, in the store.
func (x *Web) findJob(v *visit) (*seenJob, error) {
	const op = "web.findJob"
	name, dc := v.PathValue("name"), v.PathValue("dc")
	i := slices.IndexFunc(x.cfg.Jobs.Datacenters, func(d JobDatacenter) bool { return d.Name == dc })
	if i < 0 || job.CheckName(name) != "" {
		return nil, pfs.Errorf(op, "", pfs.NotExist, "there is no such job")
	}
	j := &seenJob{dc: x.cfg.Jobs.Datacenters[i]}
	ctx, cancel := context.WithTimeout(v.Context(), engineWait)
	defer cancel()
	var away error
	if e := x.engine(v, j.dc); e != nil {
		r, err := e.Job(ctx, "", name)
		switch {
		case err == nil && r.Spec.Name == name:
			j.Record, j.engine = r, e
			return j, nil
		case err != nil && !errors.Is(err, pfs.NotExist):
			away = err
			j.notice = "The engine does not answer, so this is what the store has, and may be old: " + textOf(err)
		}
	}
	ctx, cancel = context.WithTimeout(v.Context(), engineWait)
	defer cancel()
	err := v.session.Do(ctx, "job", func(ctx context.Context) (err error) {
		j.Record, err = job.ReadRecord(ctx, v.session.FS(), dc, v.session.User().Name, name)
		return err
	})
	if errors.Is(err, pfs.NotExist) && away != nil {
		return nil, away
	}
	return j, err
}

// stateClass returns the class of style for a state.
func stateClass(s job.State) string {
	switch s {
	case job.Running, job.Uploading:
		return "state up"
	case job.Succeeded:
		return "state good"
	case job.Failed:
		return "state bad"
	}
	return "state"
}

// lines returns a text of several lines as a page shows it.
func lines(text string) string {
	all := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range all {
		all[i] = shown(line)
	}
	return strings.Join(all, "\n")
}

// ofJobs are what templates of jobs call.
var ofJobs = template.FuncMap{"job": jobAddress, "state": stateClass, "lines": lines}
