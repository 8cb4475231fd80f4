package jobfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Job has the common fields of the formats. Containers are described as in Kubernetes; the first container of a role
// is the one that trains.
type Job struct {
	Name        string            `json:"name,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Roles       []Role            `json:"roles,omitempty"`

	Queue        string    `json:"queue,omitempty"` // or virtual cluster
	Priority     string    `json:"priority,omitempty"`
	MinAvailable *int32    `json:"minAvailable,omitempty"` // pods that start together
	MaxAttempts  *int      `json:"maxAttempts,omitempty"`
	TimeLimit    string    `json:"timeLimit,omitempty"`
	KeepSeconds  *int32    `json:"keepSeconds,omitempty"` // of the object, after the end
	CleanPods    cleanPods `json:"cleanPods,omitempty"`

	// Of PaddleJobs.
	Intranet intranet `json:"intranet,omitempty"`
	WithGloo *int     `json:"withGloo,omitempty"`
	Elastic  *int     `json:"elastic,omitempty"`

	// Of OpenPAI.
	CodeDir   string `json:"codeDir,omitempty"`
	DataDir   string `json:"dataDir,omitempty"`
	OutputDir string `json:"outputDir,omitempty"`

	// Of this project.
	Package    string       `json:"package,omitempty"`
	Topology   string       `json:"topology,omitempty"`
	Passes     *int         `json:"passes,omitempty"`
	Registry   string       `json:"registry,omitempty"`
	Inputs     []string     `json:"inputs,omitempty"`
	Outputs    []string     `json:"outputs,omitempty"`
	Restart    restart      `json:"restart,omitempty"`
	UploadWait string       `json:"uploadWait,omitempty"`
	Datacenter string       `json:"datacenter,omitempty"`
	Engine     string       `json:"engine,omitempty"`
	Scheduler  ownScheduler `json:"scheduler,omitempty"`

	doc     *document
	origins map[string]string // of fields, by their paths in a Job
}

// Role is a set of equal pods.
type Role struct {
	Name         string                 `json:"name,omitempty"` // in the file
	Kind         string                 `json:"kind,omitempty"` // job.Trainer, job.Pserver, Heter, or empty
	Replicas     *int                   `json:"replicas,omitempty"`
	MinAvailable *int32                 `json:"minAvailable,omitempty"`
	MinFailed    *int                   `json:"minFailed,omitempty"`    // failures that end the job
	MinSucceeded *int                   `json:"minSucceeded,omitempty"` // successes that end it
	Ports        []Port                 `json:"ports,omitempty"`
	Template     corev1.PodTemplateSpec `json:"template,omitempty"`
}

// Heter is the kind of the third role of a PaddleJob.
const Heter = "heter"

// Port is a number of ports with a name. First is 0 if any will do.
type Port struct {
	Label string `json:"label"`
	First int    `json:"first,omitempty"`
	Count int    `json:"count,omitempty"`
}

// count returns the number of pods.
func (r *Role) count() int {
	if r.Replicas == nil {
		return 1
	}
	return *r.Replicas
}

// main returns the container that trains.
func (r *Role) main() *corev1.Container {
	if len(r.Template.Spec.Containers) == 0 {
		r.Template.Spec.Containers = []corev1.Container{{}}
	}
	return &r.Template.Spec.Containers[0]
}

// role returns the first role of a kind, or nil.
func (j *Job) role(kind string) *Role {
	for i := range j.Roles {
		if j.Roles[i].Kind == kind {
			return &j.Roles[i]
		}
	}
	return nil
}

// Format returns the format of the file's job, or "".
func (f *File) Format() Format {
	if d, err := f.jobDocument(); err == nil {
		return d.format
	}
	return ""
}

// Err returns the first error of f.Findings that keeps the file from being used, or nil.
func (f *File) Err() error {
	for i := range f.Findings {
		if f.Findings[i].Severity == Error {
			return &f.Findings[i]
		}
	}
	return nil
}

// jobDocument returns the document of the job.
func (f *File) jobDocument() (*document, error) {
	var found *document
	for _, d := range f.docs {
		switch {
		case d.format == "":
		case found != nil:
			return nil, pfs.Errorf("jobfile.Job", "", pfs.Invalid, "%s has more than one job, the second on line %d: put each into its own file", f.Name, d.at("").Line)
		default:
			found = d
		}
	}
	if found == nil {
		return nil, pfs.Errorf("jobfile.Job", "", pfs.Invalid, "%s has no job", f.Name)
	}
	return found, nil
}

// Job translates the job of a file. It fails if the file has errors.
func (f *File) Job() (*Job, []Left, error) {
	if err := f.Err(); err != nil {
		return nil, nil, err
	}
	d, err := f.jobDocument()
	if err != nil {
		return nil, nil, err
	}
	j := &Job{doc: d, origins: map[string]string{}}
	var left []Left
	rest := j.read()
	for _, field := range remaining(d.value, rest) {
		left = append(left, d.left(field, "it is not carried over"))
	}
	for _, other := range f.docs {
		switch v := other.value.(type) {
		case *podGroup:
			if v.Metadata.Name == j.Name && j.MinAvailable == nil {
				left = append(left, j.gang(other, v)...)
				continue
			}
		case nil:
			continue
		}
		if other != d {
			left = append(left, other.left("", "the %s is not part of the job: create it yourself", other.kind))
		}
	}
	j.kinds()
	return j, left, nil
}

// gang takes a PodGroup into the job of its name.
func (j *Job) gang(d *document, group *podGroup) (left []Left) {
	g := clone(group)
	j.MinAvailable = ptr(take(&g.Spec.MinMember))
	if j.Queue == "" {
		j.Queue = take(&g.Spec.Queue)
	}
	if j.Priority == "" {
		j.Priority = take(&g.Spec.PriorityClassName)
	}
	g.TypeMeta, g.Status = metav1.TypeMeta{}, nil
	g.Metadata.Name, g.Metadata.Namespace = "", ""
	for _, field := range remaining(group, g) {
		left = append(left, d.left(field, "it is not carried over"))
	}
	return left
}

// kinds gives roles without a kind the one that their names suggest.
func (j *Job) kinds() {
	for i := range j.Roles {
		if r := &j.Roles[i]; r.Kind == "" && j.role(job.Pserver) == nil {
			switch name := strings.ToLower(r.Name); {
			case name == "ps", strings.HasPrefix(name, "ps-"), strings.HasPrefix(name, "ps_"), strings.Contains(name, "pserver"), strings.Contains(name, "server"), strings.Contains(name, "master"):
				r.Kind = job.Pserver
			}
		}
	}
	for i := range j.Roles {
		if r := &j.Roles[i]; r.Kind == "" && j.role(job.Trainer) == nil {
			r.Kind = job.Trainer
		}
	}
	if r := j.role(job.Pserver); r != nil && len(j.Roles) == 1 {
		r.Kind = job.Trainer
	}
}

// Write returns the job in a format, and the fields that the format lacks.
func (j *Job) Write(to Format) ([]byte, []Left, error) {
	rest := clone(j)
	rest.doc, rest.origins = j.doc, j.origins
	w := &writer{job: j, rest: rest, to: to}
	var objects []any
	switch to {
	case PFS:
		objects = []any{w.own()}
	case PaddleJob:
		objects = []any{w.paddle()}
	case Volcano:
		objects = []any{w.volcano()}
	case OpenPAI1:
		objects = []any{w.pai1()}
	case OpenPAI2:
		objects = []any{w.pai2()}
	case Kubernetes:
		objects = w.kubernetes()
	default:
		return nil, nil, pfs.Errorf("jobfile.Write", "", pfs.Invalid, "the format %q cannot be written: it is one of %s", to, strings.Join(Formats(), ", "))
	}
	text, err := w.print(objects)
	return text, w.finish(), err
}

// writer translates a job into a format.
type writer struct {
	job  *Job // as it was read
	rest *Job // what is not carried yet
	to   Format
	left []Left
}

// note records fields that are changed or left out.
func (w *writer) note(field, format string, args ...any) {
	w.left = append(w.left, w.job.doc.left(w.job.source(field), format, args...))
}

// finish returns the fields that were left out.
func (w *writer) finish() []Left {
	for i := range w.rest.Roles {
		w.rest.Roles[i].Kind = ""
	}
	for _, field := range remaining(w.job, w.rest) {
		w.note(field, "%s has no equivalent", w.to)
	}
	slices.SortStableFunc(w.left, func(a, b Left) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return slices.Compact(w.left)
}

// name takes the name of the job, in the form that check accepts. Slug makes one if it does not.
func (w *writer) name(most int) string {
	name := take(&w.rest.Name)
	if fixed := kubeName(name, most); fixed != name {
		w.note("name", "the name %q is not allowed in %s, and becomes %q", name, w.to, fixed)
		return fixed
	}
	return name
}

// kubeName returns the name itself if it is a label of DNS of at most most characters, else one like it.
func kubeName(name string, most int) string {
	if len(name) <= most && dnsLabel().MatchString(name) {
		return name
	}
	return job.Slug(name, most)
}

// dnsLabel matches the names that services of Kubernetes may have.
var dnsLabel = atFirstUse(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

func ptr[T any](v T) *T { return &v }

func fieldOf(i int, name string) string { return fmt.Sprintf("roles[%d].%s", i, name) }
