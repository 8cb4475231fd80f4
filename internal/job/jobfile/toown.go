package jobfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

// own returns the job in this project's YAML.
func (w *writer) own() *ownJob {
	r := w.rest
	o := &ownJob{Package: take(&r.Package), Topology: take(&r.Topology), Passes: take(&r.Passes), Registry: take(&r.Registry), Inputs: take(&r.Inputs),
		Outputs: take(&r.Outputs), MaxAttempts: take(&r.MaxAttempts), Restart: take(&r.Restart), TimeLimit: take(&r.TimeLimit), UploadWait: take(&r.UploadWait), Datacenter: take(&r.Datacenter),
		Engine: take(&r.Engine), Scheduler: take(&r.Scheduler)}
	o.Name = r.Name
	if r.Name != "" && job.CheckName(r.Name) != "" {
		o.Name = w.name(63)
	}
	r.Name = ""
	if n := r.MinAvailable; n != nil && int(*n) == w.allPods() {
		r.MinAvailable = nil // all start together
	}
	entries := map[string]string{}
	for i := range r.Roles {
		role := &r.Roles[i]
		to := map[string]**ownRole{job.Trainer: &o.Trainers, job.Pserver: &o.Pservers}[role.Kind]
		if to == nil || *to != nil {
			continue
		}
		c := role.main()
		*to = w.ownResources(role)
		(*to).Replicas = ptr(role.count())
		role.Name, role.Replicas, role.Template.Spec.RestartPolicy, c.Name = "", nil, "", ""
		if role.MinFailed != nil && *role.MinFailed == 1 {
			role.MinFailed = nil // one failed process ends an attempt
		}
		if role.Template.Spec.SchedulerName == "volcano" {
			role.Template.Spec.SchedulerName, o.Scheduler = "", "volcano"
		}
		if entries[role.Kind] = commandLine(c); entries[role.Kind] == "" && o.Topology == "" {
			w.note(fieldOf(i, "template.spec.containers[0]"), "the command of the image is not known here, so entry is missing")
		}
		if o.Image == "" || o.Image == c.Image {
			o.Image, c.Image = c.Image, ""
		}
		w.paiVariables(i)
		c.Command, c.Args = nil, nil
		w.dropShm(role)
	}
	o.Claims, o.Nodes = w.takeClaims(), w.takeNodes()
	if w.job.doc.format == Volcano {
		o.Scheduler = "volcano"
	}
	if o.Scheduler != "" { // a queue of another system is not one of this
		o.Queue, o.Priority = take(&r.Queue), take(&r.Priority)
	}
	o.Env = w.ownEnv(entries)
	if n := take(&r.WithGloo); n != nil && *n > 0 && o.Pservers != nil {
		o.Env["PADDLE_WITH_GLOO"] = lax(strconv.Itoa(*n))
	}
	if r.Intranet != "Host" { // processes find each other by names, which lead to the addresses of their pods
		r.Intranet = ""
	}
	o.Entry = entries[job.Trainer]
	if server, ok := entries[job.Pserver]; ok && server != o.Entry {
		o.Entry = fmt.Sprintf("if [ \"$TRAINING_ROLE\" = PSERVER ]; then\n%s\nelse\n%s\nfi", indent(server), indent(o.Entry))
	}
	return o
}

// takeClaims takes the claims that all roles mount at the same directory.
func (w *writer) takeClaims() (list []string) {
	if len(w.rest.Roles) == 0 {
		return nil
	}
	for _, c := range claimsOf(&w.rest.Roles[0]) {
		if slices.ContainsFunc(w.rest.Roles, func(r Role) bool { return !slices.Contains(claimsOf(&r), c) }) {
			continue
		}
		for i := range w.rest.Roles {
			pod := &w.rest.Roles[i].Template.Spec
			mounts := pod.Containers[0].VolumeMounts
			at := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == c.Dir })
			name := mounts[at].Name
			mounts[at] = corev1.VolumeMount{}
			if !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == name }) {
				pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })] = corev1.Volume{}
			}
		}
		list = append(list, c.String())
	}
	return list
}

// claimsOf returns the claims that the main container of a role mounts as a whole.
func claimsOf(r *Role) (list []job.Claim) {
	for _, m := range r.main().VolumeMounts {
		for _, v := range r.Template.Spec.Volumes {
			if p := v.PersistentVolumeClaim; p != nil && v.Name == m.Name && m.SubPath+m.SubPathExpr == "" && m.MountPropagation == nil {
				list = append(list, job.Claim{Name: p.ClaimName, Dir: m.MountPath, ReadOnly: p.ReadOnly || m.ReadOnly})
			}
		}
	}
	return list
}

// takeNodes takes the labels of machines that all roles ask for.
func (w *writer) takeNodes() map[string]lax {
	nodes := map[string]lax{}
	if len(w.rest.Roles) == 0 {
		return nil
	}
	for name, value := range w.rest.Roles[0].Template.Spec.NodeSelector {
		if slices.ContainsFunc(w.rest.Roles, func(r Role) bool { v, ok := r.Template.Spec.NodeSelector[name]; return !ok || v != value }) {
			continue
		}
		nodes[name] = lax(value)
	}
	for i := range w.rest.Roles {
		for name := range nodes {
			delete(w.rest.Roles[i].Template.Spec.NodeSelector, name)
		}
	}
	return nodes
}

// allPods returns the number of all pods.
func (w *writer) allPods() (n int) {
	for i := range w.job.Roles {
		n += w.job.Roles[i].count()
	}
	return n
}

func indent(script string) string {
	if strings.TrimSpace(script) == "" {
		return "  :"
	}
	if strings.Contains(script, "<<") {
		return script // the end of a here document is not indented
	}
	return "  " + strings.ReplaceAll(script, "\n", "\n  ")
}

// ownEnv takes variables with a value. One that roles do not share is set in their entries.
func (w *writer) ownEnv(entries map[string]string) map[string]lax {
	var all []map[string]string
	for i := range w.rest.Roles {
		if role := &w.rest.Roles[i]; entries[role.Kind] != "" || role.Kind == job.Trainer {
			all = append(all, plainEnv(role))
		}
	}
	common := mergeEnv(all)
	env := map[string]lax{}
	for name, value := range common {
		env[name] = lax(expandKube(value))
	}
	n := 0
	for i := range w.rest.Roles {
		role := &w.rest.Roles[i]
		if entries[role.Kind] == "" && role.Kind != job.Trainer {
			continue
		}
		own := all[n]
		n++
		entries[role.Kind] = exports(own, common) + entries[role.Kind]
	}
	return env
}

// plainEnv takes the variables of a role that have a value in the file.
func plainEnv(role *Role) map[string]string {
	env := map[string]string{}
	c := role.main()
	for i := range c.Env {
		if c.Env[i].ValueFrom == nil {
			env[c.Env[i].Name] = c.Env[i].Value
			c.Env[i] = corev1.EnvVar{}
		}
	}
	return env
}

// exports returns commands that set the variables of env that are not in common.
func exports(env, common map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if _, ok := common[name]; !ok {
			fmt.Fprintf(&b, "export %s=%s\n", name, quote(env[name], nil))
		}
	}
	return b.String()
}

// expandKube returns what Kubernetes makes of a value without references.
func expandKube(value string) string { return strings.ReplaceAll(value, "$$", "$") }

// mergeEnv returns the variables that all have, with the same value.
func mergeEnv(all []map[string]string) map[string]string {
	if len(all) == 0 {
		return nil
	}
	common := maps.Clone(all[0])
	for _, env := range all[1:] {
		maps.DeleteFunc(common, func(name, value string) bool {
			v, ok := env[name]
			return !ok || v != value
		})
	}
	return common
}

// ownResources takes the processors, memory and GPUs of a role: limits, or else requests.
func (w *writer) ownResources(role *Role) *ownRole {
	o := &ownRole{}
	cpu, gpu, bytes := takeResources(role)
	if cpu > 0 {
		o.CPU = cpus(job.FormatCPU(cpu))
	}
	if bytes > 0 {
		o.Memory = memory(job.FormatMemory(bytes))
	}
	if gpu > 0 {
		o.GPU = &gpu
	}
	return o
}

// takeResources takes the resources that all formats have, as thousandths of processors, GPUs and bytes.
func takeResources(role *Role) (milliCPU, gpu, memory int64) {
	c := role.main()
	value := func(name corev1.ResourceName) (milli, n int64) {
		q, ok := c.Resources.Limits[name]
		if !ok {
			q = c.Resources.Requests[name]
		}
		delete(c.Resources.Limits, name)
		delete(c.Resources.Requests, name)
		return q.MilliValue(), q.Value()
	}
	milliCPU, _ = value(corev1.ResourceCPU)
	_, gpu = value(gpuResource)
	_, memory = value(corev1.ResourceMemory)
	return milliCPU, gpu, memory
}

// dropShm takes the shared memory, which all engines give, and returns its size, 0 if it has no limit.
func (w *writer) dropShm(role *Role) (size int64, found bool) {
	c := role.main()
	for i, m := range c.VolumeMounts {
		if m.MountPath != "/dev/shm" {
			continue
		}
		for k := range role.Template.Spec.Volumes {
			v := &role.Template.Spec.Volumes[k]
			if v.Name == m.Name && v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory {
				if v.EmptyDir.SizeLimit != nil {
					size = v.EmptyDir.SizeLimit.Value()
				}
				*v, c.VolumeMounts[i], found = corev1.Volume{}, corev1.VolumeMount{}, true
			}
		}
	}
	return size, found
}

// YAML prints a value by its JSON, without the empty fields that the types of Kubernetes always print.
func YAML(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var root yaml.Node // JSON is YAML; this keeps the order of keys
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	block(&root)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&root); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// block gives a node of JSON the style of YAML, and removes empty fields.
func block(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		value := n.Value
		if n.SetString(value); yaml11().MatchString(value) {
			n.Style = yaml.DoubleQuotedStyle // other programs read YAML 1.1
		}
	}
	if n.Kind == yaml.MappingNode {
		var kept []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			block(v)
			empty := v.Tag == "!!null" || v.Kind == yaml.MappingNode && len(v.Content) == 0 && k.Value != "emptyDir"
			if !empty {
				k.Style = 0
				kept = append(kept, k, v)
			}
		}
		if len(kept) > 3 && kept[0].Value == "kind" && kept[2].Value == "apiVersion" {
			kept[0], kept[1], kept[2], kept[3] = kept[2], kept[3], kept[0], kept[1] // as everybody writes it
		}
		n.Content = kept
		return
	}
	for _, c := range n.Content {
		block(c)
	}
}
