package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// newJob is the data of the template "newjob": a form of values, and a file.
type newJob struct {
	frame
	Datacenters []JobDatacenter // that can run jobs for the service
	Here        []string        // others
	Message     string          // why the form was not accepted
	Wrong       string          // the key of the field at fault
	Notes       []string
	FormOnly    bool // no file
	Fields      []jobField
	More        []jobField
	Values      map[string]string // by key

	Text        string // of the file
	FilePackage string
	FileDC      string
	FileMessage string
	Checked     *checked
}

// jobField is a field of the form. Key is as in a job file.
type jobField struct {
	Key, Label, Help string
	Kind             string // "": a line of text; "number", "text" for several lines, "path"
	Needed           bool
}

var jobFields = []jobField{
	{Key: "name", Label: "Name", Help: "letters, digits, '-' and '.'", Needed: true},
	{Key: "package", Label: "Package", Help: "the folder with the program, on the service", Kind: "path", Needed: true},
	{Key: "entry", Label: "Command", Help: "run in the package by sh -c, once for each worker", Kind: "text", Needed: true},
	{Key: "image", Label: "Image", Help: "of the container; empty: that of the engine"},
	{Key: "trainers.replicas", Label: "Trainers", Kind: "number"},
	{Key: "trainers.cpu", Label: "Processors of each trainer", Help: "such as 4, 0.5 or 500m"},
	{Key: "trainers.memory", Label: "Memory of each trainer", Help: "such as 1Gi or 512Mi"},
	{Key: "trainers.gpu", Label: "GPUs of each trainer", Kind: "number"},
	{Key: "pservers.replicas", Label: "Parameter servers", Kind: "number"},
	{Key: "pservers.cpu", Label: "Processors of each parameter server"},
	{Key: "pservers.memory", Label: "Memory of each parameter server"},
	{Key: "pservers.gpu", Label: "GPUs of each parameter server", Kind: "number"},
}

var moreJobFields = []jobField{
	{Key: "env", Label: "Variables", Help: "NAME=VALUE, one on each line", Kind: "text"},
	{Key: "inputs", Label: "Inputs", Help: "paths on the service that are copied to the machine before the start, one on each line", Kind: "text"},
	{Key: "outputs", Label: "Outputs", Help: "local directories besides $PFS_OUTPUT, one on each line", Kind: "text"},
	{Key: "claims", Label: "Claims", Help: "volumes of the cluster, NAME:DIR or NAME:DIR:ro, one on each line", Kind: "text"},
	{Key: "node-selector", Label: "Machines", Help: "labels that they have, KEY=VALUE, one on each line", Kind: "text"},
	{Key: "max-attempts", Label: "Attempts at most", Kind: "number"},
	{Key: "restart", Label: "Restart", Help: "after a failure: job (all workers) or rank (only the one that failed)"},
	{Key: "time-limit", Label: "Time limit of an attempt", Help: "such as 12h; empty: none"},
	{Key: "upload-wait", Label: "Wait for outputs", Help: "after the program has ended, such as 10m"},
	{Key: "passes", Label: "Passes", Help: "for the program", Kind: "number"},
	{Key: "topology", Label: "Topology", Help: "configuration file of PaddlePaddle v1, in the package", Kind: "path"},
	{Key: "registry", Label: "Registry", Help: "the name of the credentials for the image"},
	{Key: "engine", Label: "Engine", Help: "where the datacenter has several: kubernetes, paddlejob, volcano; empty: its own"},
	{Key: "scheduler", Label: "Scheduler", Help: "volcano starts all workers at once"},
	{Key: "queue", Label: "Queue", Help: "of the scheduler"},
	{Key: "priority", Label: "Priority class", Help: "of the scheduler"},
}

// shownField is a field of the form with its value.
type shownField struct {
	jobField
	Value string
	Wrong bool
}

// Field returns a field with its value, for the template.
func (p *newJob) Field(f jobField) shownField {
	return shownField{f, p.Values[f.Key], f.Key == p.Wrong}
}

// InMore reports whether the field at fault is among those that are folded away.
func (p *newJob) InMore() bool {
	return slices.ContainsFunc(p.More, func(f jobField) bool { return f.Key == p.Wrong })
}

// lists are the keys whose values are lists, one value on each line.
var lists = []string{"env", "inputs", "outputs", "claims", "node-selector"}

func (x *Web) newJob(v *visit) *newJob {
	p := &newJob{frame: v.frame(x, "New job"), Fields: jobFields, More: moreJobFields}
	p.Section = "jobs"
	for _, d := range x.cfg.Jobs.Datacenters {
		if d.Engine == "" {
			p.Here = append(p.Here, d.Name)
		} else {
			p.Datacenters = append(p.Datacenters, d)
		}
	}
	d := jobfile.NewDraft()
	p.fill(d.Finish())
	p.Values["name"], p.Values["pservers.replicas"] = "", "0"
	return p
}

// fill shows the values of a spec in the form.
func (p *newJob) fill(s *job.Spec) {
	p.Values = map[string]string{
		"name": s.Name, "datacenter": s.Datacenter, "package": string(s.Package), "entry": s.Entry, "topology": s.Topology, "passes": strconv.Itoa(s.Passes),
		"image": s.Image, "registry": s.Registry, "engine": s.Engine, "scheduler": s.Scheduler, "queue": s.Queue, "priority": s.Priority,
		"max-attempts": strconv.Itoa(s.MaxAttempts), "restart": string(s.Restart), "upload-wait": s.UploadWait.String(),
		"pservers.replicas": "0", "pservers.cpu": "1", "pservers.memory": "1Gi", "pservers.gpu": "0",
	}
	if s.TimeLimit > 0 {
		p.Values["time-limit"] = s.TimeLimit.String()
	}
	for _, r := range s.Roles {
		role := r.Name + "s."
		p.Values[role+"replicas"], p.Values[role+"cpu"], p.Values[role+"memory"] = strconv.Itoa(r.Replicas), job.FormatCPU(r.CPU), job.FormatMemory(r.Memory)
		p.Values[role+"gpu"] = strconv.FormatInt(r.GPU, 10)
	}
	var env, inputs, claims, labels []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if strings.ContainsAny(s.Env[name], "\r\n") {
			p.Notes = append(p.Notes, fmt.Sprintf("The variable %s has several lines, which this form cannot hold, and is left out.", name))
			continue
		}
		env = append(env, name+"="+s.Env[name])
	}
	for _, i := range s.Inputs {
		inputs = append(inputs, string(i))
	}
	for _, c := range s.Claims {
		claims = append(claims, c.String())
	}
	for _, name := range slices.Sorted(maps.Keys(s.NodeSelector)) {
		labels = append(labels, name+"="+s.NodeSelector[name])
	}
	for key, list := range map[string][]string{"env": env, "inputs": inputs, "outputs": s.Outputs, "claims": claims, "node-selector": labels} {
		p.Values[key] = strings.Join(list, "\n")
	}
}

// newJobPage shows the form, with the values of another job if the address names one.
func (x *Web) newJobPage(v *visit, _ pfs.Path) error {
	p := x.newJob(v)
	if v.PathValue("name") != "" {
		j, err := x.findJob(v)
		if err != nil {
			return err
		}
		p.FormOnly = true
		p.fill(&j.Record.Spec)
		p.Values["name"] = nextName(j.Spec.Name)
		if own := job.PackageDir(j.Spec.Datacenter, j.Spec.User, j.Spec.Name); j.Spec.Package.Within(own) {
			p.Notes = append(p.Notes, fmt.Sprintf("The package is that of the job %s, and is used as it is.", j.Spec.Name))
		}
		switch {
		case j.Spec.Tool != "":
			return x.refuse(v, "The job belongs to a command of paddlectl: run that command again.")
		case j.Spec.PAI != nil:
			return x.refuse(v, "The job came from a file of OpenPAI, whose roles the form does not have: submit that file again.")
		}
	}
	x.render(v.w, http.StatusOK, "newjob", p)
	return nil
}

// nextName returns a name for a copy of a job: NAME-2, NAME-3 and so on.
func nextName(name string) string {
	base, n := name, 1
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if last, err := strconv.Atoi(name[i+1:]); err == nil && last > 0 && last < 10000 {
			base, n = name[:i], last
		}
	}
	next := base + "-" + strconv.Itoa(n+1)
	if job.CheckName(next) != "" {
		return ""
	}
	return next
}

// submitForm starts the job that the form describes.
func (x *Web) submitForm(v *visit, _ pfs.Path) error {
	p := x.newJob(v)
	d := jobfile.NewDraft()
	var failed error
	for _, f := range append([]jobField{{Key: "datacenter"}}, slices.Concat(jobFields, moreJobFields)...) {
		value := strings.ReplaceAll(v.PostForm.Get(f.Key), "\r\n", "\n")
		p.Values[f.Key] = value
		values := []string{value}
		if slices.Contains(lists, f.Key) {
			values = strings.Split(value, "\n")
		}
		for _, text := range values {
			if strings.TrimSpace(text) == "" || failed != nil {
				continue
			}
			if err := d.Set(f.Key, strings.TrimSuffix(text, "\r")); err != nil {
				failed = &job.SpecError{Field: f.Key, Text: err.Error()}
			}
		}
	}
	if failed == nil && p.Values["name"] == "" {
		failed = &job.SpecError{Field: "name", Text: "a job needs a name"}
	}
	if failed == nil {
		failed = x.submit(v, d)
	}
	if failed == nil {
		return v.redirect(jobAddress(d.Datacenter, d.Spec.Name))
	}
	var status int
	p.FormOnly = true
	if p.Message, p.Wrong, status = refusal(failed); status == 0 {
		return failed
	}
	x.render(v.w, status, "newjob", p)
	return nil
}

// submitTime is how long a submit may take.
const submitTime = time.Minute

// submit starts the job d, whose package is a folder on the service.
func (x *Web) submit(v *visit, d *jobfile.Draft) error {
	i := slices.IndexFunc(x.cfg.Jobs.Datacenters, func(at JobDatacenter) bool { return at.Name == d.Datacenter })
	spec := d.Finish()
	spec.User, spec.Datacenter, spec.Package = v.session.User().Name, d.Datacenter, pfs.Path(strings.TrimSuffix(d.Package, "/"))
	switch {
	case i < 0:
		return &job.SpecError{Field: "datacenter", Value: d.Datacenter, Text: "choose a datacenter of this service"}
	case x.cfg.Jobs.Datacenters[i].Engine == "":
		return &job.SpecError{Field: "datacenter", Value: d.Datacenter, Text: "its jobs run on the machine that submits them, so use paddlectl submit there"}
	case spec.Engine == "local":
		return &job.SpecError{Field: "engine", Value: spec.Engine, Text: "such jobs run on the machine that submits them, so use paddlectl submit there"}
	}
	if err := d.Place(spec.User, spec.Datacenter); err != nil {
		return err
	}
	dc := x.cfg.Jobs.Datacenters[i]
	ctx, cancel := context.WithTimeout(v.Context(), submitTime)
	defer cancel()
	return v.session.Do(ctx, "job-submit", func(ctx context.Context) error { // the engine's part has the audit line
		return x.cfg.Jobs.Submit(ctx, v.session.FS(), x.engine(v, dc), dc.Engine, spec)
	})
}

// refusal returns the message for a submit that was refused, the key of the field at fault, and the status of the answer:
// 0 for an error that the form does not show.
func refusal(err error) (message, key string, status int) {
	kind := pfs.KindOf(err)
	if kind == pfs.Unauthenticated {
		return "", "", 0
	}
	message, status = textOf(err), wire.StatusOf(kind)
	var spec *job.SpecError
	if errors.As(err, &spec) {
		message = spec.Error()
		key = strings.ReplaceAll(spec.Field, "_", "-")
		for _, role := range []string{job.Trainer, job.Pserver} {
			if rest, ok := strings.CutPrefix(key, role+"."); ok {
				key = role + "s." + rest
			}
		}
	} else if kind == pfs.Exist {
		key = "name"
	}
	return message, key, status
}

// checked is what the linter says about a file.
type checked struct {
	Format           string
	Findings         []finding
	Errors, Warnings int
	Fixable          int
	Cut              int // findings that are not shown
	Note             string
}

// finding is a jobfile.Finding on a page.
type finding struct {
	jobfile.Finding
	Fixable bool
}

// maxFindings is the number of findings on a page.
const maxFindings = 200

// jobFile works on the file of the form: checks or corrects it, takes it into the form, or submits it.
func (x *Web) jobFile(v *visit, _ pfs.Path) error {
	p := x.newJob(v)
	p.Text = strings.ReplaceAll(v.PostForm.Get("text"), "\r\n", "\n") // as browsers send it
	p.FilePackage, p.FileDC = v.PostForm.Get("file-package"), v.PostForm.Get("file-datacenter")
	do := v.PostForm.Get("do")
	var f *jobfile.File
	err := v.session.Do(v.Context(), "job-check", func(ctx context.Context) error {
		return pfs.InTurn(ctx, func() error {
			f = p.check(do == "fix")
			return nil
		})
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if do == "form" || do == "submit" {
		d := jobfile.NewDraft()
		d.Datacenter = p.FileDC
		left, err := d.Load(f)
		for _, l := range left {
			p.Notes = append(p.Notes, l.String())
		}
		if p.FilePackage != "" {
			d.Package = p.FilePackage
		}
		switch {
		case err != nil:
		case do == "form" && d.Spec.PAI != nil:
			err = &job.SpecError{Field: "taskRoles", Text: "the form does not have the roles of OpenPAI: submit the file as it is"}
		case do == "form":
			p.FormOnly = true
			d.Spec.Package = pfs.Path(d.Package)
			d.Finish()
			d.Spec.Datacenter = d.Datacenter
			p.fill(&d.Spec)
		default:
			if err = d.Undecided(func(string) string { return "in the form" }); err == nil {
				err = x.submit(v, d)
			}
			if err == nil {
				return v.redirect(jobAddress(d.Datacenter, d.Spec.Name))
			}
		}
		if err != nil {
			if p.FileMessage, _, status = refusal(err); status == 0 {
				return err
			}
		}
	}
	x.render(v.w, status, "newjob", p)
	return nil
}

// check checks the file, after it has corrected it if fix is set.
func (p *newJob) check(fix bool) *jobfile.File {
	const name = "job"
	f := jobfile.Read(name, []byte(p.Text))
	p.Checked = &checked{}
	if strings.TrimSpace(p.Text) == "" {
		p.Checked = nil
		return f
	}
	found := jobfile.Check(f)
	if fix {
		text, n := f.Fix(found)
		p.Text = string(text)
		f = jobfile.Read(name, text)
		found = jobfile.Check(f)
		p.Checked.Note = fmt.Sprintf("Corrected %d.", n)
	}
	c := p.Checked
	c.Format = string(f.Format())
	for _, one := range found {
		switch one.Severity {
		case jobfile.Error:
			c.Errors++
		default:
			c.Warnings++
		}
		if one.Fixable() {
			c.Fixable++
		}
		if len(c.Findings) == maxFindings {
			c.Cut++
			continue
		}
		c.Findings = append(c.Findings, finding{one, one.Fixable()})
	}
	return f
}
