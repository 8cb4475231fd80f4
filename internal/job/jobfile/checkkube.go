package jobfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rolePods are the pods of one role, as a check sees them.
type rolePods struct {
	at       string // the field of the role
	template string // of the template
	replicas int
	pod      *corev1.PodTemplateSpec
}

// objectName checks the name of an object, from which the system makes those of services and hosts.
func (d *document) objectName(m *metav1.ObjectMeta, most int, why string) {
	if m.Name == "" {
		if m.GenerateName == "" {
			d.need("", map[string]bool{"metadata.name": true})
		}
		return
	}
	if fixed := kubeName(m.Name, most); fixed != m.Name {
		d.badName("metadata.name", m.Name, fixed, "the name %.80q is not allowed: %s, so it has at most %d lower-case letters, digits and '-', and begins with a letter", m.Name, why, most)
	}
	if fixed := kubeName(m.Namespace, 63); m.Namespace != "" && fixed != m.Namespace {
		d.badName("metadata.namespace", m.Namespace, fixed, "the name %.80q is not that of a namespace", m.Namespace)
	}
}

func (c *checker) paddle(d *document, p *paddleJob) {
	d.objectName(&p.Metadata, maxPaddleName, "it becomes that of services and hosts, with role and index")
	s := &p.Spec
	var roles []rolePods
	for _, r := range []struct {
		name string
		of   *paddleRole
	}{{"worker", s.Worker}, {"ps", s.PS}, {"heter", s.Heter}} {
		if r.of == nil {
			continue
		}
		at := "spec." + r.name
		d.need(at, map[string]bool{"replicas": r.of.Replicas == nil})
		for name, n := range map[string]*int{"requests": r.of.Requests, "limits": r.of.Limits} {
			if n != nil {
				d.warn("no-effect", at+"."+name, "", "the operator does not read this field: it is for nothing")
			}
		}
		roles = append(roles, rolePods{at, at + ".template", deref(r.of.Replicas, 1), &r.of.Template})
	}
	switch {
	case len(roles) == 0 && !d.wasWrong("spec"):
		d.fail("roles", "spec", "", "the job has no worker, so nothing runs")
	case s.Worker == nil && s.Elastic != nil:
		d.fail("elastic", "spec.elastic", "", "an elastic job needs a worker: the operator crashes without one")
	case s.Worker == nil && s.PS != nil:
		d.fail("roles", "spec.ps", "", "the job has parameter servers and no worker: it never ends")
	}
	if s.Elastic != nil && s.Worker != nil {
		if *s.Elastic == 0 {
			d.warn("elastic", "spec.elastic", "", "the operator takes elastic: 0 for an elastic job: leave it out")
		}
		if s.PS != nil {
			d.warn("elastic", "spec.elastic", "", "elastic jobs have no parameter servers: the operator gives their addresses only to jobs that are not elastic")
		}
	}
	if s.WithGloo != nil && *s.WithGloo > 0 && s.PS == nil {
		d.warn("no-effect", "spec.withGloo", "", "it has an effect only with parameter servers (ps)")
	}
	c.pods(d, roles)
	total := 0
	for _, r := range roles {
		total += r.replicas
		if r.pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			d.restarts(r)
		}
		d.operatorPorts(r)
	}
	if policy := s.SchedulingPolicy; policy != nil {
		d.gang("spec.schedulingPolicy.minAvailable", policy.MinAvailable, total)
	}
}

// restarts reports pods that would run their program for ever.
func (d *document) restarts(r rolePods) {
	field := r.template + ".spec.restartPolicy"
	d.fail("restart-policy", field, "OnFailure", "with Always a program that has ended begins again, so the job never ends").edit = d.replaceValue(field, "OnFailure")
}

// gang checks the number of pods that start together.
func (d *document) gang(field string, least *int32, pods int) {
	switch {
	case least == nil || pods == 0:
	case int(*least) > pods:
		d.fail("gang", field, strconv.Itoa(pods), "the job has %d pods, so %d never start together, and it waits for ever", pods, *least).edit = d.replaceValue(field, strconv.Itoa(pods))
	case int(*least) < pods:
		d.warn("gang", field, strconv.Itoa(pods), "the job has %d pods, and begins when %d have a place: these hold it while they wait for the others", pods, *least).edit = d.replaceValue(field, strconv.Itoa(pods))
	}
}

// operatorPorts reports ports that the operator uses itself.
func (d *document) operatorPorts(r rolePods) {
	for i, c := range r.pod.Spec.Containers {
		for k, port := range c.Ports {
			if port.ContainerPort >= basePort && port.ContainerPort < basePort+20 {
				d.warn("port", fmt.Sprintf("%s.spec.containers[%d].ports[%d].containerPort", r.template, i, k), "", "the operator uses the ports %d to %d itself", basePort, basePort+19)
			}
		}
	}
}

func (c *checker) kubeflow(d *document, k *kubeflowJob) {
	d.objectName(&k.Metadata, maxPaddleName, "it becomes that of services and hosts, with role and index")
	var roles []rolePods
	total := 0
	for _, name := range slices.Sorted(maps.Keys(k.Spec.Replicas)) {
		r := k.Spec.Replicas[name]
		at := child("spec.paddleReplicaSpecs", name)
		d.refers(at, name, []string{"Master", "Worker"}, "role of a PaddleJob of Kubeflow called")
		if r == nil {
			continue
		}
		roles = append(roles, rolePods{at, at + ".template", int(deref(r.Replicas, 1)), &r.Template})
		total += int(deref(r.Replicas, 1))
		if r.RestartPolicy == "Always" {
			d.fail("restart-policy", at+".restartPolicy", "OnFailure", "with Always a program that has ended begins again, so the job never ends").edit = d.replaceValue(at+".restartPolicy", "OnFailure")
		}
		if len(r.Template.Spec.Containers) > 0 && !slices.ContainsFunc(r.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "paddle" }) {
			field := at + ".template.spec.containers[0].name"
			d.fail("name", field, "paddle", "the operator looks for a container called paddle").edit = d.replaceValue(field, "paddle")
		}
	}
	if len(roles) == 0 && !d.wasWrong("spec") {
		d.fail("roles", "spec", "", "paddleReplicaSpecs has no Worker, so nothing runs")
	}
	if e := k.Spec.ElasticPolicy; e != nil {
		switch least, most := deref(e.MinReplicas, 1), deref(e.MaxReplicas, 10000); {
		case k.Spec.Replicas["Worker"] == nil:
			d.fail("elastic", "spec.elasticPolicy", "", "an elastic job needs a Worker")
		case least > most:
			d.fail("elastic", "spec.elasticPolicy.minReplicas", "", "at least %d replicas are more than at most %d", least, most)
		}
	}
	if policy := k.Spec.RunPolicy.SchedulingPolicy; policy != nil {
		d.gang("spec.runPolicy.schedulingPolicy.minAvailable", policy.MinAvailable, total)
	}
	c.pods(d, roles)
}

func (c *checker) volcano(d *document, v *volcanoJob) {
	d.objectName(&v.Metadata, maxPaddleName, "it becomes that of pods and hosts, with task and index")
	s := &v.Spec
	if len(s.Tasks) == 0 && !d.wasWrong("spec") {
		d.fail("roles", "spec", "", "the job has no tasks, so nothing runs")
	}
	var roles []rolePods
	total := 0
	seen := map[string]bool{}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		at := fmt.Sprintf("spec.tasks[%d]", i)
		d.need(at, map[string]bool{"name": t.Name == ""})
		d.kubeName(at+".name", t.Name, 63)
		if seen[t.Name] && t.Name != "" {
			d.fail("duplicate-name", at+".name", "", "there is another task %q", t.Name)
		}
		seen[t.Name] = true
		n := int(deref(t.Replicas, 1))
		total += n
		if t.MinAvailable != nil && int(*t.MinAvailable) > n {
			d.gang(at+".minAvailable", t.MinAvailable, n)
		}
		if t.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			d.restarts(rolePods{template: at + ".template"})
		}
		roles = append(roles, rolePods{at, at + ".template", n, &t.Template})
	}
	if int(s.MinAvailable) > total {
		d.gang("spec.minAvailable", &s.MinAvailable, total)
	}
	if s.SchedulerName != "" && s.SchedulerName != "volcano" {
		d.warn("scheduler", "spec.schedulerName", "volcano", "the pods start together only with the scheduler volcano").edit = d.replaceValue("spec.schedulerName", "volcano")
	}
	for i, m := range s.Volumes {
		c.claim(d, m.VolumeClaimName, fmt.Sprintf("spec.volumes[%d]", i), total)
	}
	c.pods(d, roles)
}

func (c *checker) podGroup(d *document, g *podGroup) {
	if g.Metadata.Name == "" {
		d.need("", map[string]bool{"metadata.name": true})
		return
	}
	var names []string
	for _, other := range c.docs {
		p, ok := other.value.(*paddleJob)
		if !ok {
			continue
		}
		names = append(names, p.Metadata.Name)
		if p.Metadata.Name != g.Metadata.Name {
			continue
		}
		total, ours := 0, false
		for _, r := range []*paddleRole{p.Spec.Worker, p.Spec.PS, p.Spec.Heter} {
			if r != nil {
				total += deref(r.Replicas, 1)
				ours = ours || r.Template.Spec.SchedulerName == "volcano"
			}
		}
		if g.Spec.MinMember == 0 {
			if !d.wasWrong("spec.minMember") {
				d.need("spec", map[string]bool{"minMember": true})
			}
		} else {
			d.gang("spec.minMember", &g.Spec.MinMember, total)
		}
		if !ours {
			other.warn("scheduler", "spec.worker", "schedulerName: volcano", "there is a PodGroup for the job, and no role has schedulerName: volcano: the pods do not start together")
		}
		return
	}
	if len(names) > 0 {
		d.refers("metadata.name", g.Metadata.Name, names, "PaddleJob in these files with the name of this PodGroup,")
	}
}

// kubeName checks a name that becomes a part of others.
func (d *document) kubeName(field, name string, most int) {
	if fixed := kubeName(name, most); name != "" && fixed != name {
		d.badName(field, name, fixed, "the name %.80q is not allowed: it has at most %d lower-case letters, digits and '-', and begins with a letter", name, most)
	}
}

// pods checks the pods of all roles of a job.
func (c *checker) pods(d *document, roles []rolePods) {
	claims := map[string]int{} // pods by claim
	places := map[string]string{}
	for _, r := range roles {
		at := r.template + ".spec"
		spec := &r.pod.Spec
		if len(spec.Containers) == 0 && !d.wasWrong(at+".containers") {
			d.fail("required", r.at, "", "%s.containers is missing", at)
		}
		volumes := d.volumeNames(at, spec)
		names := map[string]bool{}
		for i := range spec.InitContainers {
			field := fmt.Sprintf("%s.initContainers[%d]", at, i)
			d.container(field, &spec.InitContainers[i], names, volumes, false)
			if p := spec.InitContainers[i].RestartPolicy; p != nil && d.format == PaddleJob {
				d.fail("native-sidecar", field+".restartPolicy", "", "the PaddleJob of the operator drops this field, so the sidecar becomes an init container that never ends, and the job never begins: make it a container that ends by itself")
			}
		}
		for i := range spec.Containers {
			d.container(fmt.Sprintf("%s.containers[%d]", at, i), &spec.Containers[i], names, volumes, true)
		}
		if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 30 {
			field := at + ".terminationGracePeriodSeconds"
			d.warn("grace", field, "600", "a pod that is stopped has %d seconds to save what it has, and is then killed: 30 without this field, and an upload needs minutes", *grace).edit = d.replaceValue(field, "600")
		}
		for i, v := range spec.Volumes {
			if claim := v.PersistentVolumeClaim; claim != nil {
				if claims[claim.ClaimName] == 0 {
					places[claim.ClaimName] = fmt.Sprintf("%s.volumes[%d].persistentVolumeClaim.claimName", at, i)
				}
				claims[claim.ClaimName] += r.replicas
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		c.claim(d, name, places[name], claims[name])
	}
}

// volumeNames checks the volumes of a pod, and returns whether each is used.
func (d *document) volumeNames(at string, spec *corev1.PodSpec) map[string]bool {
	names := map[string]bool{}
	for i, v := range spec.Volumes {
		field := fmt.Sprintf("%s.volumes[%d]", at, i)
		d.need(field, map[string]bool{"name": v.Name == ""})
		d.kubeName(field+".name", v.Name, 63)
		if _, twice := names[v.Name]; twice {
			d.fail("duplicate-name", field+".name", "", "there is another volume %q", v.Name)
		}
		names[v.Name] = false
	}
	return names
}

// container checks a container. volumes has those of the pod.
func (d *document) container(field string, c *corev1.Container, names, volumes map[string]bool, main bool) {
	d.need(field, map[string]bool{"name": c.Name == "", "image": c.Image == ""})
	d.kubeName(field+".name", c.Name, 63)
	if names[c.Name] && c.Name != "" {
		d.fail("duplicate-name", field+".name", "", "there is another container %q", c.Name)
	}
	names[c.Name] = true
	known := slices.Sorted(maps.Keys(volumes))
	paths := map[string]bool{}
	for i, m := range c.VolumeMounts {
		at := fmt.Sprintf("%s.volumeMounts[%d]", field, i)
		d.need(at, map[string]bool{"name": m.Name == "", "mountPath": m.MountPath == ""})
		d.refers(at+".name", m.Name, known, "volume")
		switch {
		case m.MountPath == "":
		case !strings.HasPrefix(m.MountPath, "/"):
			d.fail("reference", at+".mountPath", "/"+m.MountPath, "%q does not begin with a slash", m.MountPath).edit = d.replaceValue(at+".mountPath", "/"+m.MountPath)
		case paths[m.MountPath]:
			d.fail("duplicate-name", at+".mountPath", "", "another volume is mounted at %q", m.MountPath)
		}
		paths[m.MountPath] = true
	}
	ports := map[string]bool{}
	for i, port := range c.Ports {
		at := fmt.Sprintf("%s.ports[%d]", field, i)
		key := fmt.Sprint(port.ContainerPort, port.Protocol)
		switch {
		case port.ContainerPort < 1 || port.ContainerPort > 65535:
			if !d.wasWrong(at + ".containerPort") {
				d.fail("port", at+".containerPort", "", "%d is not a port from 1 to 65535", port.ContainerPort)
			}
		case ports[key]:
			d.fail("port", at+".containerPort", "", "the container has the port %d already", port.ContainerPort)
		}
		ports[key] = true
		d.kubeName(at+".name", port.Name, 15)
	}
	env := map[string]bool{}
	for i, e := range c.Env {
		at := fmt.Sprintf("%s.env[%d]", field, i)
		d.need(at, map[string]bool{"name": e.Name == ""})
		if env[e.Name] && e.Name != "" {
			d.warn("duplicate-name", at+".name", "", "the variable %s is set again: the last value holds", e.Name)
		}
		env[e.Name] = true
	}
	if main && !d.wasWrong(field+".resources") {
		d.resources(field, c)
	}
}

// resources reports a container without requests for processors and memory.
func (d *document) resources(field string, c *corev1.Container) {
	var missing []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		_, limit := c.Resources.Limits[name]
		_, request := c.Resources.Requests[name]
		if !limit && !request {
			missing = append(missing, string(name))
		}
		least, most := c.Resources.Requests[name], c.Resources.Limits[name]
		if limit && request && least.Cmp(most) > 0 {
			at := child(field+".resources.requests", string(name))
			d.fail("range", at, most.String(), "more %s is requested (%s) than the limit allows (%s)", name, least.String(), most.String()).edit = d.replaceValue(at, most.String())
		}
	}
	if len(missing) > 0 {
		d.warn("no-resources", field, "resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}",
			"the container %q does not say how much %s it needs: it shares a machine with others without a bound, is the first to be killed, and a quota on these refuses it", c.Name, strings.Join(missing, " and "))
	}
}

// claim checks a claim that pods of a job use.
func (c *checker) claim(d *document, name, field string, pods int) {
	for _, other := range c.docs {
		claim, ok := other.value.(*corev1.PersistentVolumeClaim)
		if !ok || claim.Name != name || name == "" {
			continue
		}
		modes := claim.Spec.AccessModes
		for i, mode := range modes {
			at := fmt.Sprintf("spec.accessModes[%d]", i)
			if pods < 2 || len(modes) > 1 {
				break
			}
			switch mode {
			case corev1.ReadWriteOncePod:
				other.fail("claim-shared", at, "ReadWriteMany", "%d pods of the job %s use the claim, and ReadWriteOncePod allows one: the others wait for ever", pods, d.jobName()).edit = other.replaceValue(at, "ReadWriteMany")
			case corev1.ReadWriteOnce:
				other.warn("claim-shared", at, "ReadWriteMany", "%d pods of the job %s use the claim, and ReadWriteOnce allows one machine: pods on others wait for ever where that is enforced", pods, d.jobName()).edit = other.replaceValue(at, "ReadWriteMany")
				c.sharedVolume(claim, pods)
			}
		}
		return
	}
}

// sharedVolume reports the volume of a claim that several pods use, since its modes must be those of the claim.
func (c *checker) sharedVolume(claim *corev1.PersistentVolumeClaim, pods int) {
	for _, d := range c.docs {
		v, ok := d.value.(*corev1.PersistentVolume)
		if ok && v.Name == claim.Spec.VolumeName && len(v.Spec.AccessModes) == 1 && v.Spec.AccessModes[0] == corev1.ReadWriteOnce {
			d.warn("claim-shared", "spec.accessModes[0]", "ReadWriteMany", "%d pods use the volume through the claim %s, and ReadWriteOnce allows one machine", pods, claim.Name).edit = d.replaceValue("spec.accessModes[0]", "ReadWriteMany")
		}
	}
}

// jobName returns the name of the document's job.
func (d *document) jobName() string {
	if p, ok := d.places["metadata.name"]; ok {
		return p.value.Value
	}
	return "without a name"
}

// volume checks volumes and claims.
func (c *checker) volume(d *document) {
	switch v := d.value.(type) {
	case *corev1.PersistentVolume:
		if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
			field := "spec.persistentVolumeReclaimPolicy"
			d.warn("reclaim-policy", field, "Retain", "Recycle deletes all files of the volume when its claim is deleted, and is deprecated").edit = d.replaceValue(field, "Retain")
		}
		d.need("spec", map[string]bool{"accessModes": len(v.Spec.AccessModes) == 0, "capacity": len(v.Spec.Capacity) == 0})
	case *corev1.PersistentVolumeClaim:
		d.need("spec", map[string]bool{"accessModes": len(v.Spec.AccessModes) == 0, "resources": len(v.Spec.Resources.Requests) == 0})
		for _, other := range c.docs {
			if of, ok := other.value.(*corev1.PersistentVolume); ok && of.Name == v.Spec.VolumeName && of.Name != "" {
				d.fits(v, of)
			}
		}
	}
}

// fits checks a claim against its volume.
func (d *document) fits(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) {
	for i, mode := range claim.Spec.AccessModes {
		if !slices.Contains(volume.Spec.AccessModes, mode) {
			d.fail("claim-volume", fmt.Sprintf("spec.accessModes[%d]", i), "", "the volume %s does not have the mode %s: the claim waits for ever", volume.Name, mode)
		}
	}
	want, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], volume.Spec.Capacity[corev1.ResourceStorage]
	if want.Cmp(have) > 0 {
		d.fail("claim-volume", "spec.resources.requests.storage", have.String(), "the volume %s has %s, less than %s: the claim waits for ever", volume.Name, have.String(), want.String()).edit = d.replaceValue("spec.resources.requests.storage", have.String())
	}
	if class := deref(claim.Spec.StorageClassName, ""); class != volume.Spec.StorageClassName {
		d.fail("claim-volume", "spec.storageClassName", volume.Spec.StorageClassName, "the volume %s has the class %q: the claim waits for ever", volume.Name, volume.Spec.StorageClassName)
	}
}
