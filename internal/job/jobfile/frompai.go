package jobfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// gpuResource is the name of GPUs in Kubernetes.
const gpuResource = corev1.ResourceName("nvidia.com/gpu")

// resources returns the requests and limits of a container. Those that are 0 are not set.
func resources(milliCPU, gpu, memory int64) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	if milliCPU > 0 {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)
	}
	if memory > 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(memory, resource.BinarySI)
	}
	if gpu > 0 {
		list[gpuResource] = *resource.NewQuantity(gpu, resource.DecimalSI)
	}
	if len(list) == 0 {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: list, Limits: maps.Clone(list)}
}

// shm gives the pods of a role shared memory.
func (r *Role) shm(bytes int64) {
	limit := resource.NewQuantity(bytes, resource.BinarySI)
	r.Template.Spec.Volumes = append(r.Template.Spec.Volumes, corev1.Volume{
		Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: limit}},
	})
	c := r.main()
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "shm", MountPath: "/dev/shm"})
}

// environment returns variables in the order of their names.
func environment(env map[string]lax) (list []corev1.EnvVar) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, corev1.EnvVar{Name: name, Value: escapeKube(string(env[name]))})
	}
	return list
}

func deref[T any](p *T, preset T) T {
	if p == nil {
		return preset
	}
	return *p
}

func (j *Job) fromPAI1(p *paiJob) {
	j.Name, j.Queue = take(&p.JobName), take(&p.VirtualCluster)
	j.from("name", "jobName")
	j.from("queue", "virtualCluster")
	j.CodeDir, j.DataDir, j.OutputDir = take(&p.CodeDir), take(&p.DataDir), take(&p.OutputDir)
	if p.RetryCount > 0 {
		j.MaxAttempts = ptr(take(&p.RetryCount) + 1)
		j.from("maxAttempts", "retryCount")
	}
	image, env := take(&p.Image), environment(take(&p.JobEnvs))
	for i := range p.TaskRoles {
		t := &p.TaskRoles[i]
		r := Role{Name: take(&t.Name), Replicas: take(&t.TaskNumber), MinFailed: take(&t.MinFailed), MinSucceeded: take(&t.MinSucceeded)}
		at, to := fmt.Sprintf("taskRoles[%d]", i), fmt.Sprintf("roles[%d]", i)
		for field, source := range map[string]string{"": "", ".replicas": ".taskNumber", ".minFailed": ".minFailedTaskCount", ".minSucceeded": ".minSucceededTaskCount", ".ports": ".portList",
			".template.spec.containers[0].args": ".command", ".template.spec.containers[0].command": ".command", ".template.spec.volumes": ".shmMB", ".template.spec.containers[0].volumeMounts": ".shmMB"} {
			j.from(to+field, at+source)
		}
		j.from(to+".template.spec.containers[0].image", "image")
		j.from(to+".template.spec.containers[0].env", "jobEnvs")
		c := r.main()
		c.Name, c.Image, c.Env = "main", image, slices.Clone(env)
		c.Command, c.Args = []string{"bash", "-c"}, []string{escapeKube(take(&t.Command))}
		c.Resources = resources(int64(deref(take(&t.CPUNumber), 1))*1000, deref(take(&t.GPUNumber), 0), deref(take(&t.MemoryMB), 100)<<20)
		if shm := take(&t.ShmMB); shm != nil {
			r.shm(*shm << 20)
		}
		for _, port := range take(&t.PortList) {
			r.Ports = append(r.Ports, Port{port.Label, port.BeginAt, deref(port.PortNumber, 1)})
		}
		j.Roles = append(j.Roles, r)
	}
}

// template matches what OpenPAI replaces in commands.
var template = atFirstUse(`<%\s*\$(parameters|secrets)\.([A-Za-z_][A-Za-z0-9_]*)\s*%>`)

func (j *Job) fromPAI2(p *paiProtocol) {
	p.ProtocolVersion, p.Type = nil, ""
	j.Name = take(&p.Name)
	if n := p.JobRetryCount; n != nil && *n >= 0 {
		j.MaxAttempts, p.JobRetryCount = ptr(*n+1), nil
		j.from("maxAttempts", "jobRetryCount")
	}
	deployment := ""
	if p.Defaults != nil {
		j.Queue, deployment = take(&p.Defaults.VirtualCluster), take(&p.Defaults.Deployment)
		j.from("queue", "defaults.virtualCluster")
	}
	used := map[string]bool{}
	expand := func(text string) string {
		return template().ReplaceAllStringFunc(text, func(m string) string {
			parts := template().FindStringSubmatch(m)
			value, ok := p.Parameters[parts[2]]
			if _, deep := value.(map[string]any); !ok || deep || parts[1] != "parameters" {
				return m
			}
			used[parts[2]] = true
			return fmt.Sprint(value)
		})
	}
	pre, post := p.deployed(deployment)
	images := map[string]string{}
	for i := range p.Prerequisites {
		q := &p.Prerequisites[i]
		if uri, ok := q.URI.(string); ok && q.Type == "dockerimage" {
			images[q.Name] = uri
			q.Name, q.Type, q.URI, q.Version = "", "", nil, ""
		}
	}
	for i, name := range slices.Sorted(maps.Keys(p.TaskRoles)) {
		t := p.TaskRoles[name]
		if t == nil {
			t = &paiTask{}
		}
		r := Role{Name: name, Replicas: take(&t.Instances)}
		at, to := child("taskRoles", name), fmt.Sprintf("roles[%d]", i)
		for field, source := range map[string]string{"": "", ".replicas": ".instances", ".minFailed": ".completion.minFailedInstances", ".minSucceeded": ".completion.minSucceededInstances", ".ports": ".resourcePerInstance.ports",
			".template.spec.containers[0].args": ".commands", ".template.spec.containers[0].command": ".commands", ".template.spec.containers[0].image": ".dockerImage", ".template.spec.containers[0].resources": ".resourcePerInstance",
			".template.spec.volumes": ".extraContainerOptions", ".template.spec.containers[0].volumeMounts": ".extraContainerOptions"} {
			j.from(to+field, at+source)
		}
		c := r.main()
		c.Name, c.Image = "main", images[t.DockerImage]
		if c.Image != "" {
			t.DockerImage = ""
		}
		commands := slices.Concat(pre[name], take(&t.Commands), post[name])
		c.Command, c.Args = []string{"bash", "-c"}, []string{escapeKube(expand(strings.Join(commands, "\n")))}
		if done := t.Completion; done != nil {
			r.MinFailed, r.MinSucceeded = take(&done.MinFailed), take(&done.MinSucceeded)
		}
		if res := t.Resources; res != nil {
			c.Resources = resources(int64(deref(take(&res.CPU), 0)*1000), deref(take(&res.GPU), 0), deref(take(&res.MemoryMB), 0)<<20)
			ports := take(&res.Ports)
			for _, label := range slices.Sorted(maps.Keys(ports)) {
				r.Ports = append(r.Ports, Port{Label: label, Count: ports[label]})
			}
		}
		if t.Options != nil && t.Options.ShmMB != nil {
			r.shm(*take(&t.Options.ShmMB) << 20)
		}
		j.Roles = append(j.Roles, r)
	}
	for name := range used {
		delete(p.Parameters, name)
	}
	j.extras(p.Extras)
}

// deployed takes the commands of a deployment, by role.
func (p *paiProtocol) deployed(name string) (pre, post map[string][]string) {
	pre, post = map[string][]string{}, map[string][]string{}
	for i := range p.Deployments {
		d := &p.Deployments[i]
		if d.Name != name {
			continue
		}
		d.Name = ""
		for role, commands := range d.TaskRoles {
			if commands != nil {
				pre[role], post[role] = take(&commands.PreCommands), take(&commands.PostCommands)
			}
		}
	}
	return pre, post
}

// extras takes the priority, and storages as the claims that they are.
func (j *Job) extras(e *paiExtras) {
	if e == nil {
		return
	}
	e.SubmitFrom = ""
	if deref(e.Gang, true) {
		e.Gang = nil // all formats begin together
	}
	if e.Hived != nil {
		j.Priority = string(take(&e.Hived.JobPriorityClass))
		j.from("priority", "extras.hivedScheduler.jobPriorityClass")
	}
	for n := range e.Storages {
		s := &e.Storages[n]
		name, readOnly := take(&s.Name), deref(take(&s.ReadOnly), false)
		dir := take(&s.MountPath)
		if dir == "" {
			dir = "/mnt/" + name
		}
		for i := range j.Roles {
			r := &j.Roles[i]
			if len(r.Template.Spec.Volumes) == 0 {
				j.from(fmt.Sprintf("roles[%d].template.spec.volumes", i), "extras.storages")
				j.from(fmt.Sprintf("roles[%d].template.spec.containers[0].volumeMounts", i), "extras.storages")
			}
			j.from(fmt.Sprintf("roles[%d].template.spec.volumes[%d]", i, len(r.Template.Spec.Volumes)), fmt.Sprintf("extras.storages[%d]", n))
			j.from(fmt.Sprintf("roles[%d].template.spec.containers[0].volumeMounts[%d]", i, len(r.main().VolumeMounts)), fmt.Sprintf("extras.storages[%d]", n))
			r.Template.Spec.Volumes = append(r.Template.Spec.Volumes, corev1.Volume{Name: job.Slug(name, 63), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: readOnly}}})
			r.main().VolumeMounts = append(r.main().VolumeMounts, corev1.VolumeMount{Name: job.Slug(name, 63), MountPath: dir, ReadOnly: readOnly})
		}
	}
}
