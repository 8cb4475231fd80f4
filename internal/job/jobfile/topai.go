package jobfile

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// paiVariable matches a variable that OpenPAI sets.
var paiVariable = atFirstUse(`\$\{?(PAI_[A-Za-z0-9_]+)`)

// paiVariables notes the variables of a role that only OpenPAI sets.
func (w *writer) paiVariables(i int) {
	if f := w.job.doc.format; f != OpenPAI1 && f != OpenPAI2 {
		return
	}
	said := map[string]bool{}
	for n, arg := range w.job.Roles[i].main().Args {
		for _, m := range paiVariable().FindAllStringSubmatch(arg, -1) {
			if !said[m[1]] {
				said[m[1]] = true
				w.note(fieldOf(i, fmt.Sprintf("template.spec.containers[0].args[%d]", n)), "only OpenPAI sets the variable %s, which the command uses", m[1])
			}
		}
	}
}

var (
	notPAIName  = atFirstUse(`[^A-Za-z0-9\-._~]`)
	notPAI2Name = atFirstUse(`[^a-zA-Z0-9_-]`)
	notPAIRole  = atFirstUse(`[^A-Za-z0-9._~]`)
	notPAITask  = atFirstUse(`\W`)
)

// taskOf is what both versions of OpenPAI have of a role.
type taskOf struct {
	image, command   string
	milliCPU, memory int64
	gpu              int64
	shm              *int64 // MiB
	env              map[string]string
}

// task takes a role.
func (w *writer) task(i int) taskOf {
	role := &w.rest.Roles[i]
	c := role.main()
	var t taskOf
	t.image, t.command, t.env = take(&c.Image), bashScript(c), plainEnv(role)
	if t.command == "" {
		w.note(fieldOf(i, "template.spec.containers[0]"), "%s needs a command, and that of the image is not known here", w.to)
	}
	t.milliCPU, t.gpu, t.memory = takeResources(role)
	if size, ok := w.dropShm(role); ok && size > 0 {
		t.shm = ptr(ceil(size, 1<<20))
	}
	c.Name, c.Command, c.Args, role.Template.Spec.RestartPolicy = "", nil, nil, ""
	return t
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

func (w *writer) pai1() *paiJob {
	r := w.rest
	p := &paiJob{JobName: w.paiName(notPAIName()), VirtualCluster: take(&r.Queue), CodeDir: take(&r.CodeDir), DataDir: take(&r.DataDir), OutputDir: take(&r.OutputDir)}
	if n := take(&r.MaxAttempts); n != nil {
		p.RetryCount = *n - 1
	}
	var tasks []taskOf
	var envs []map[string]string
	for i := range r.Roles {
		tasks = append(tasks, w.task(i))
		envs = append(envs, tasks[i].env)
	}
	common := mergeEnv(envs)
	for name, value := range common {
		if p.JobEnvs == nil {
			p.JobEnvs = map[string]lax{}
		}
		p.JobEnvs[name] = lax(expandKube(value))
	}
	for i := range r.Roles {
		role, t := &r.Roles[i], tasks[i]
		if p.Image == "" {
			p.Image = t.image
		}
		if t.image != p.Image {
			w.note(fieldOf(i, "template.spec.containers[0].image"), "the job has one image, %s, and not also %s", p.Image, t.image)
		}
		q := paiRole{Name: notPAIRole().ReplaceAllString(take(&role.Name), "_"), TaskNumber: ptr(role.count()), Command: exports(t.env, common) + t.command,
			MinFailed: take(&role.MinFailed), MinSucceeded: take(&role.MinSucceeded), ShmMB: t.shm}
		role.Replicas = nil
		if t.milliCPU == 0 || t.memory == 0 {
			w.note(fieldOf(i, "template.spec.containers[0].resources"), "processors and memory are not given: openpai-v1 then gives 1 and 100 MB")
		}
		q.CPUNumber, q.MemoryMB = ptr(max(1, int(ceil(t.milliCPU, 1000)))), ptr(int64(100))
		if t.milliCPU%1000 != 0 {
			w.note(fieldOf(i, "template.spec.containers[0].resources"), "whole processors are needed: %d", *q.CPUNumber)
		}
		if t.memory > 0 {
			q.MemoryMB = ptr(ceil(t.memory, 1<<20))
		}
		if t.gpu > 0 {
			q.GPUNumber = &t.gpu
		}
		for _, port := range take(&role.Ports) {
			q.PortList = append(q.PortList, paiPort{port.Label, port.First, ptr(max(1, port.Count))})
		}
		q.PortList = append(q.PortList, kubePorts(role.main())...)
		p.TaskRoles = append(p.TaskRoles, q)
	}
	return p
}

// kubePorts takes the ports of a container.
func kubePorts(c *corev1.Container) (list []paiPort) {
	for _, port := range take(&c.Ports) {
		label := port.Name
		if label == "" {
			label = fmt.Sprintf("port%d", port.ContainerPort)
		}
		list = append(list, paiPort{label, int(port.ContainerPort), ptr(1)})
	}
	return list
}

// paiName sets the name of the job, with '_' in place of characters that are not allowed.
func (w *writer) paiName(not *regexp.Regexp) string {
	name := take(&w.rest.Name)
	if fixed := not.ReplaceAllString(name, "_"); fixed != name {
		w.note("name", "the name %q is not allowed in %s, and becomes %q", name, w.to, fixed)
		return fixed
	}
	return name
}

func (w *writer) pai2() *paiProtocol {
	r := w.rest
	p := &paiProtocol{ProtocolVersion: 2, Name: w.paiName(notPAI2Name()), Type: "job", TaskRoles: map[string]*paiTask{}}
	if n := take(&r.MaxAttempts); n != nil {
		p.JobRetryCount = ptr(*n - 1)
	}
	if r.Queue != "" {
		p.Defaults = &paiDefaults{VirtualCluster: take(&r.Queue)}
	}
	for i := range r.Roles {
		role, t := &r.Roles[i], w.task(i)
		q := &paiTask{Instances: ptr(role.count()), DockerImage: w.prerequisite(p, t.image), Resources: &paiResources{}}
		role.Replicas = nil
		if role.MinFailed != nil || role.MinSucceeded != nil {
			q.Completion = &paiCompletion{take(&role.MinFailed), take(&role.MinSucceeded)}
		}
		if t.shm != nil {
			q.Options = &paiOptions{ShmMB: t.shm}
		}
		if t.milliCPU > 0 {
			q.Resources.CPU = ptr(float64(t.milliCPU) / 1000)
		}
		if t.memory > 0 {
			q.Resources.MemoryMB = ptr(ceil(t.memory, 1<<20))
		}
		q.Resources.GPU = &t.gpu
		for n, port := range take(&role.Ports) {
			if port.First != 0 {
				w.note(fieldOf(i, fmt.Sprintf("ports[%d]", n)), "the ports of %s are chosen by OpenPAI, not from %d", port.Label, port.First)
			}
			w.port(q, port.Label, max(1, port.Count))
		}
		for n, port := range kubePorts(role.main()) {
			w.note(fieldOf(i, fmt.Sprintf("template.spec.containers[0].ports[%d]", n)), "the port is chosen by OpenPAI: it is in $PAI_PORT_LIST, not %d", port.BeginAt)
			w.port(q, port.Label, 1)
		}
		q.Commands = strings.Split(exports(t.env, nil)+t.command, "\n")
		if strings.Contains(t.command, "<<") || strings.Contains(t.command, "\\\n") || strings.Contains(t.command, "'") {
			q.Commands = []string{exports(t.env, nil) + t.command} // a line is not always a command
		}
		p.TaskRoles[notPAITask().ReplaceAllString(take(&role.Name), "_")] = q
	}
	w.storages(p)
	return p
}

func (w *writer) port(q *paiTask, label string, count int) {
	if q.Resources.Ports == nil {
		q.Resources.Ports = map[string]int{}
	}
	q.Resources.Ports[notPAITask().ReplaceAllString(label, "_")] = count
}

// prerequisite returns the name of the prerequisite of an image.
func (w *writer) prerequisite(p *paiProtocol, image string) string {
	for _, q := range p.Prerequisites {
		if q.URI == image {
			return q.Name
		}
	}
	name := "image"
	if len(p.Prerequisites) > 0 {
		name = fmt.Sprintf("image_%d", len(p.Prerequisites)+1)
	}
	p.Prerequisites = append(p.Prerequisites, paiPrerequisite{Name: name, Type: "dockerimage", URI: image})
	return name
}

// storages takes the claims that all roles mount at the same place.
func (w *writer) storages(p *paiProtocol) {
	count := map[paiStorage]int{}
	var order []paiStorage
	each := func(do func(role *Role, volume, mount int, s paiStorage)) {
		for i := range w.rest.Roles {
			role := &w.rest.Roles[i]
			for m, mount := range role.main().VolumeMounts {
				for v, volume := range role.Template.Spec.Volumes {
					if claim := volume.PersistentVolumeClaim; claim != nil && volume.Name == mount.Name && mount.SubPath == "" {
						do(role, v, m, paiStorage{Name: claim.ClaimName, MountPath: mount.MountPath})
					}
				}
			}
		}
	}
	each(func(_ *Role, _, _ int, s paiStorage) {
		if count[s]++; count[s] == 1 {
			order = append(order, s)
		}
	})
	each(func(role *Role, volume, mount int, s paiStorage) {
		if count[s] == len(w.rest.Roles) && !role.main().VolumeMounts[mount].ReadOnly {
			role.Template.Spec.Volumes[volume], role.main().VolumeMounts[mount] = corev1.Volume{}, corev1.VolumeMount{}
		}
	})
	for _, s := range order {
		if count[s] == len(w.rest.Roles) {
			if p.Extras == nil {
				p.Extras = &paiExtras{}
			}
			p.Extras.Storages = append(p.Extras.Storages, s)
		}
	}
}
