package jobfile

import (
	"fmt"
	"path"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// tasks is what a Draft takes from a job of OpenPAI.
type tasks struct {
	name, image      string
	env              map[string]string
	attempts         int
	roles            []job.Role
	pai              *job.PAI
	codeDir, dataDir string // as in the file
}

// tasks translates a job of OpenPAI; it returns nil for other formats.
func (f *File) tasks() (*tasks, []Left, error) {
	j, left, err := f.Job()
	if err != nil || j.doc.format != OpenPAI1 && j.doc.format != OpenPAI2 {
		return nil, nil, err
	}
	w := &writer{job: j, rest: clone(j), to: PFS}
	t := w.tasks()
	return t, append(left, w.finish()...), nil
}

// tasks takes everything that engines can carry out.
func (w *writer) tasks() *tasks {
	r := w.rest
	name := take(&r.Name)
	t := &tasks{
		name: name, env: map[string]string{}, attempts: max(1, deref(take(&r.MaxAttempts), 1)), codeDir: take(&r.CodeDir), dataDir: take(&r.DataDir),
		pai: &job.PAI{Protocol: 1, Name: name, Cluster: "default"},
	}
	if w.job.doc.format == OpenPAI2 {
		t.pai.Protocol = 2
	}
	if job.CheckName(t.name) != "" {
		t.name = ownSlug(t.name)
		w.note("name", "the job is called %s here; $PAI_JOB_NAME stays as it was", t.name)
	}
	if r.Queue != "" {
		t.pai.Cluster = take(&r.Queue)
		if t.pai.Cluster != "default" {
			w.note("queue", "it chooses machines only on OpenPAI; elsewhere it is only in the variables of the job")
		}
	}
	if take(&r.OutputDir) != "" {
		w.note("outputDir", "the outputs are committed in the directory of the job; $PAI_OUTPUT_DIR is $PFS_OUTPUT")
	}
	for i := range r.Roles {
		t.roles = append(t.roles, w.taskRole(i, t))
	}
	return t
}

// anyTemplate matches what OpenPAI replaces in a command, of any kind.
var anyTemplate = atFirstUse(`<%[^%]*%>`)

// taskRole takes a task role.
func (w *writer) taskRole(i int, t *tasks) job.Role {
	r, of := &w.rest.Roles[i], w.task(i)
	role := job.Role{Name: strings.ReplaceAll(take(&r.Name), "~", "_"), Replicas: r.count(), CPU: of.milliCPU, GPU: of.gpu, Memory: of.memory}
	r.Replicas = nil
	if role.CPU == 0 {
		role.CPU = 1000
	}
	if role.Memory == 0 {
		role.Memory = 1 << 30
	}
	if of.shm != nil {
		role.SharedMemory = *of.shm << 20
	}
	role.MinFailed, role.MinSucceeded = deref(take(&r.MinFailed), 0), max(0, deref(take(&r.MinSucceeded), 0))
	if n := w.job.doc.places[w.job.source(fieldOf(i, "minFailed"))].value; n != nil && n.Tag == "!!null" {
		role.MinFailed = -1
	}
	for _, p := range take(&r.Ports) {
		role.Ports = append(role.Ports, job.Port{Label: p.Label, First: p.First, Count: max(1, p.Count)})
	}
	for name, value := range of.env {
		t.env[name] = expandKube(value)
	}
	script := of.command
	if t.pai.Protocol == 2 {
		script = "set -o errexit\n" + script // as in the script that OpenPAI makes of the commands
	}
	if m := anyTemplate().FindString(script); m != "" {
		w.note(fieldOf(i, "template.spec.containers[0].args[0]"), "nothing replaces %s here", shorten(m))
	}
	role.Entry = "exec bash -c " + quote(escapeKube(script), nil)
	switch {
	case t.image == "":
		t.image = of.image
	case of.image != t.image:
		w.note(fieldOf(i, "template.spec.containers[0].image"), "a job has one image here, %s, and not also %s", t.image, of.image)
	}
	return role
}

// setTasks applies a setting of trainers, which d has already, to the task roles.
func (d *Draft) setTasks(key string) error {
	roles := d.tasks.roles
	one := len(roles) == 1
	for i := range roles {
		switch r := &roles[i]; key {
		case "trainers.cpu":
			r.CPU = d.Trainer.CPU
		case "trainers.gpu":
			r.GPU = d.Trainer.GPU
		case "trainers.memory":
			r.Memory = d.Trainer.Memory
		case "trainers.replicas":
			r.Replicas = d.Trainer.Replicas
		case "entry":
			r.Entry = d.Spec.Entry
		}
	}
	switch {
	case !one && (key == "trainers.replicas" || key == "entry"):
		return fmt.Errorf("the job has %d task roles: change the file", len(roles))
	case key == "topology" || strings.HasPrefix(key, "pservers."):
		return fmt.Errorf("a job of OpenPAI has it not: its file has the task roles")
	case key == "name":
		d.Spec.PAI.Name = d.Spec.Name
	}
	return nil
}

// Rename gives a job of OpenPAI a name that no other has, as OpenPAI's client does, and returns it.
func (d *Draft) Rename() string {
	tag := pfs.NewID()[:8]
	d.Spec.Name += "-" + tag
	d.Spec.PAI.Name += "_" + tag
	return d.Spec.Name
}

// paiReference matches the variables that may be in the paths of a job of OpenPAI.
var paiReference = atFirstUse(`\$\{?(PAI_DEFAULT_FS_URI|PAI_USER_NAME|PAI_USERNAME|PAI_JOB_NAME)\b\}?`)

// Place finds codeDir and dataDir of a job of OpenPAI on the service, when all is set. Package overrides codeDir, and an
// input dataDir.
func (d *Draft) Place(user, datacenter string) error {
	t, spec := d.tasks, &d.Spec
	if t == nil {
		return nil
	}
	expand := func(text string) string {
		return paiReference().ReplaceAllStringFunc(text, func(m string) string {
			switch strings.Trim(m, "${}") {
			case "PAI_DEFAULT_FS_URI":
				return "/pfs/" + datacenter + "/home"
			case "PAI_JOB_NAME":
				return spec.PAI.Name
			}
			return user
		})
	}
	place := func(field, text, way string) (pfs.Path, error) {
		p, err := pfs.CleanPath(expand(text))
		if err != nil || !p.Within("/pfs") {
			return "", &job.SpecError{Field: field, Value: text, Text: "it is not on this service: " + way}
		}
		return p, nil
	}
	var err error
	if t.codeDir != "" {
		spec.PAI.CodeName = path.Base(expand(t.codeDir))
		if d.Package == "" {
			if spec.Package, err = place("codeDir", t.codeDir, "name the directory with the program as PACKAGE"); err != nil {
				return err
			}
		}
	}
	if t.dataDir == "" {
		return nil
	}
	if len(spec.Inputs) == 0 {
		data, err := place("dataDir", t.dataDir, "name the data as input")
		if err != nil {
			return err
		}
		spec.Inputs = append(spec.Inputs, data)
	}
	spec.PAI.Data = string(spec.Inputs[0])
	return nil
}
