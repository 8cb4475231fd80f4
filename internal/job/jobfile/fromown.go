package jobfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	corev1 "k8s.io/api/core/v1"
)

func (j *Job) fromOwn(o *ownJob) {
	j.Name, j.Package, j.Topology, j.Registry, j.Datacenter = take(&o.Name), take(&o.Package), take(&o.Topology), take(&o.Registry), take(&o.Datacenter)
	j.Engine, j.Scheduler, j.Queue, j.Priority = take(&o.Engine), take(&o.Scheduler), take(&o.Queue), take(&o.Priority)
	j.Passes, j.MaxAttempts, j.Restart = take(&o.Passes), take(&o.MaxAttempts), take(&o.Restart)
	j.Inputs, j.Outputs, j.TimeLimit, j.UploadWait = take(&o.Inputs), take(&o.Outputs), take(&o.TimeLimit), take(&o.UploadWait)
	for field, source := range map[string]string{"maxAttempts": "max-attempts", "timeLimit": "time-limit", "uploadWait": "upload-wait"} {
		j.from(field, source)
	}
	entry, image, env := take(&o.Entry), take(&o.Image), environment(take(&o.Env))
	claims, nodes := take(&o.Claims), plain(take(&o.Nodes))
	add := func(kind, at string, of *ownRole) {
		r := Role{Name: kind, Kind: kind, Replicas: take(&of.Replicas)}
		if kind == job.Pserver && r.Replicas == nil {
			r.Replicas = j.Roles[0].Replicas // as many as trainers
		}
		c := r.main()
		c.Name, c.Image, c.Env = "main", image, slices.Clone(env)
		if entry != "" {
			c.Command, c.Args = []string{"sh", "-c"}, []string{escapeKube(entry)}
		}
		cpu, _ := job.ParseCPU(string(of.CPU))
		memory, _ := job.ParseMemory(string(of.Memory))
		c.Resources = resources(cpu, deref(of.GPU, 0), memory)
		mountClaims(&r.Template.Spec, claims)
		r.Template.Spec.NodeSelector = nodes
		to := "roles[" + strconv.Itoa(len(j.Roles)) + "]"
		j.from(to, at)
		for field, source := range map[string]string{"args": "entry", "command": "entry", "image": "image", "env": "env"} {
			j.from(to+".template.spec.containers[0]."+field, source)
		}
		for field, source := range map[string]string{"volumes": "claims", "containers[0].volumeMounts": "claims", "nodeSelector": "node-selector"} {
			j.from(to+".template.spec."+field, source)
		}
		j.from(to+".template.spec.containers[0].resources", at)
		*of = ownRole{}
		j.Roles = append(j.Roles, r)
	}
	if o.Trainers == nil {
		o.Trainers = &ownRole{}
	}
	add(job.Trainer, "trainers", o.Trainers)
	switch {
	case o.Pservers != nil:
		add(job.Pserver, "pservers", o.Pservers)
		if j.Roles[1].count() == 0 {
			j.Roles = j.Roles[:1]
		}
	case j.Topology != "":
		add(job.Pserver, "topology", &ownRole{})
	}
}

// mountClaims adds claims to a pod.
func mountClaims(pod *corev1.PodSpec, list []string) {
	for i, text := range list {
		c, err := job.ParseClaim(text)
		if err != nil {
			continue // Check says so
		}
		name := "claim-" + strconv.Itoa(i)
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name, ReadOnly: c.ReadOnly}}})
		main := &pod.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: c.Dir, ReadOnly: c.ReadOnly})
	}
}

// plain returns a map of texts.
func plain(m map[string]lax) map[string]string {
	if m == nil {
		return nil
	}
	texts := map[string]string{}
	for k, v := range m {
		texts[k] = string(v)
	}
	return texts
}

// Setting is a value of a job in this project's YAML. Key is as in a file, with a point below trainers and pservers.
type Setting struct {
	Key, Text string
	Place     string // FILE:LINE:COLUMN
}

// Settings returns the job as keys of this project's YAML, and the fields that the YAML lacks.
func (f *File) Settings() ([]Setting, []Left, error) {
	if err := f.Err(); err != nil {
		return nil, nil, err
	}
	d, err := f.jobDocument()
	if err != nil {
		return nil, nil, err
	}
	if own, ok := d.value.(*ownJob); ok {
		return own.settings(func(key string) string { return d.left(key, "").Place() }), nil, nil
	}
	j, left, err := f.Job()
	if err != nil {
		return nil, nil, err
	}
	rest := clone(j)
	w := &writer{job: j, rest: rest, to: PFS}
	own := w.own()
	return own.settings(func(string) string { return f.Name }), append(left, w.finish()...), nil
}

// settings lists the keys that are set.
func (o *ownJob) settings(place func(key string) string) (list []Setting) {
	add := func(key, text string) {
		if text != "" {
			list = append(list, Setting{key, text, place(key)})
		}
	}
	number := func(key string, n *int) {
		if n != nil {
			add(key, strconv.Itoa(*n))
		}
	}
	for key, text := range map[string]string{"name": o.Name, "package": o.Package, "entry": o.Entry, "topology": o.Topology, "image": o.Image, "registry": o.Registry,
		"restart": string(o.Restart), "time-limit": o.TimeLimit, "upload-wait": o.UploadWait, "datacenter": o.Datacenter,
		"engine": o.Engine, "scheduler": string(o.Scheduler), "queue": o.Queue, "priority": o.Priority} {
		add(key, text)
	}
	number("passes", o.Passes)
	number("max-attempts", o.MaxAttempts)
	for key, r := range map[string]*ownRole{"trainers": o.Trainers, "pservers": o.Pservers} {
		if r == nil {
			continue
		}
		number(key+".replicas", r.Replicas)
		add(key+".cpu", string(r.CPU))
		add(key+".memory", string(r.Memory))
		if r.GPU != nil && (key == "trainers" || *r.GPU > 0) {
			add(key+".gpu", strconv.FormatInt(*r.GPU, 10))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		list = append(list, Setting{"env", name + "=" + string(o.Env[name]), place(child("env", name))})
	}
	for i, p := range o.Inputs {
		list = append(list, Setting{"inputs", p, place("inputs[" + strconv.Itoa(i) + "]")})
	}
	for i, c := range o.Claims {
		list = append(list, Setting{"claims", c, place("claims[" + strconv.Itoa(i) + "]")})
	}
	for _, name := range slices.Sorted(maps.Keys(o.Nodes)) {
		list = append(list, Setting{"node-selector", name + "=" + string(o.Nodes[name]), place(child("node-selector", name))})
	}
	for i, p := range o.Outputs {
		list = append(list, Setting{"outputs", p, place("outputs[" + strconv.Itoa(i) + "]")})
	}
	slices.SortStableFunc(list, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}
