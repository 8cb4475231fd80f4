package jobfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// restartPolicies are those of pods by those of Kubeflow.
var restartPolicies = map[kubeflowRestart]corev1.RestartPolicy{"Always": corev1.RestartPolicyAlways, "OnFailure": corev1.RestartPolicyOnFailure, "Never": corev1.RestartPolicyNever}

// The largest lengths of names: the paddle-operator and Volcano add role and index for a host name of at most 63 bytes.
const (
	maxPaddleName = 52
	maxKubeName   = 40
)

// meta takes the metadata of the job.
func (w *writer) meta(most int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.name(most), Namespace: take(&w.rest.Namespace), Labels: take(&w.rest.Labels), Annotations: take(&w.rest.Annotations)}
}

// pods takes what the templates of Kubernetes carry of a role.
func (w *writer) pods(i int) corev1.PodTemplateSpec {
	r := &w.rest.Roles[i]
	t := take(&r.Template)
	if len(t.Spec.Containers) > 0 {
		c := &t.Spec.Containers[0]
		if c.Name == "" {
			c.Name = "main"
		}
		for n, p := range take(&r.Ports) {
			if p.First == 0 {
				w.note(fieldOf(i, fmt.Sprintf("ports[%d]", n)), "%s does not choose ports: the program must", w.to)
				continue
			}
			for k := range max(1, p.Count) {
				c.Ports = append(c.Ports, corev1.ContainerPort{Name: portName(p.Label, k), ContainerPort: int32(p.First + k)})
			}
		}
	}
	w.paiVariables(i)
	return t
}

func portName(label string, k int) string {
	name := job.Slug(label, 12)
	if k > 0 {
		name += "-" + strconv.Itoa(k)
	}
	return name
}

func (w *writer) paddle() *paddleJob {
	r := w.rest
	p := &paddleJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch.paddlepaddle.org/v1", Kind: "PaddleJob"}, Metadata: w.meta(maxPaddleName)}
	s := &p.Spec
	s.CleanPodPolicy, s.Intranet, s.WithGloo, s.Elastic = take(&r.CleanPods), take(&r.Intranet), take(&r.WithGloo), take(&r.Elastic)
	if r.Queue != "" || r.Priority != "" || r.MinAvailable != nil {
		s.SchedulingPolicy = &schedulingPolicy{Queue: take(&r.Queue), PriorityClass: take(&r.Priority), MinAvailable: take(&r.MinAvailable)}
	}
	taken := map[string]bool{}
	for i := range r.Roles {
		role := &r.Roles[i]
		to := map[string]**paddleRole{job.Trainer: &s.Worker, job.Pserver: &s.PS, Heter: &s.Heter}[role.Kind]
		if to == nil || taken[role.Kind] {
			continue // what is left of the role says so
		}
		taken[role.Kind] = true
		*to = &paddleRole{Replicas: ptr(role.count()), Template: w.pods(i)}
		role.Name, role.Replicas = "", nil
	}
	return p
}

// gangPolicies are the policies of a Volcano job of which one failure ends an attempt.
func gangPolicies(again bool) []volcanoPolicy {
	failed := volcanoAction("TerminateJob")
	if again {
		failed = "RestartJob"
	}
	return []volcanoPolicy{{Event: "PodEvicted", Action: "RestartJob"}, {Event: "PodFailed", Action: failed}}
}

func (w *writer) volcano() *volcanoJob {
	r := w.rest
	v := &volcanoJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job"}, Metadata: w.meta(maxPaddleName)}
	s := &v.Spec
	r.Scheduler = ""
	s.SchedulerName, s.Queue, s.PriorityClassName, s.TTLSecondsAfterFinished = "volcano", take(&r.Queue), take(&r.Priority), take(&r.KeepSeconds)
	s.Plugins = map[string][]string{"svc": {}, "env": {}}
	attempts := take(&r.MaxAttempts)
	again := attempts != nil && *attempts > 1
	if s.Policies = gangPolicies(again); again {
		s.MaxRetry = ptr(int32(*attempts))
	}
	names := map[string]string{}
	for i := range w.job.Roles {
		names[w.job.Roles[i].Name] = kubeName(w.job.Roles[i].Name, 20)
	}
	host := func(role *Role, index int) string {
		return fmt.Sprintf("%s-%s-%d.%s", v.Metadata.Name, names[role.Name], index, v.Metadata.Name)
	}
	for i := range r.Roles {
		role := &r.Roles[i]
		t := volcanoTask{Name: names[role.Name], Replicas: ptr(int32(role.count())), MinAvailable: take(&role.MinAvailable), Template: w.pods(i)}
		w.paddleEnv(i, &t.Template, host, "metadata.annotations['volcano.sh/task-index']")
		if t.Template.Spec.SchedulerName == "volcano" {
			t.Template.Spec.SchedulerName = ""
		}
		if t.Template.Spec.RestartPolicy == "" {
			t.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
		if role.Kind == job.Trainer && len(r.Roles) > 1 {
			t.Policies = []volcanoPolicy{{Event: "TaskCompleted", Action: "CompleteJob"}} // parameter servers do not end by themselves
		}
		role.Name, role.Replicas = "", nil
		s.Tasks = append(s.Tasks, t)
		s.MinAvailable += *t.Replicas
	}
	if n := take(&r.MinAvailable); n != nil {
		s.MinAvailable = *n
	}
	return v
}

// basePort is where programs listen, as with the paddle-operator.
const basePort = 36000

// paddleEnv adds the variables that the paddle-operator sets. index is the field of a pod with its index in the role.
func (w *writer) paddleEnv(i int, t *corev1.PodTemplateSpec, host func(role *Role, index int) string, index string) {
	kind := w.rest.Roles[i].Kind
	if kind == "" || len(t.Spec.Containers) == 0 {
		return
	}
	list := func(kind string, format string) string {
		role := w.job.role(kind)
		if role == nil {
			return ""
		}
		var hosts []string
		for n := range role.count() {
			hosts = append(hosts, fmt.Sprintf(format, host(role, n)))
		}
		return strings.Join(hosts, ",")
	}
	from := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	address := fmt.Sprintf("%%s:%d", basePort)
	training := map[string]string{job.Trainer: "TRAINER", job.Pserver: "PSERVER", Heter: "HETER"}[kind]
	env := []corev1.EnvVar{
		{Name: "POD_IP", ValueFrom: from("status.podIP")},
		{Name: "PADDLE_TRAINER_ID", ValueFrom: from(index)},
		{Name: "TRAINING_ROLE", Value: training},
		{Name: "PADDLE_TRAINING_ROLE", Value: training},
		{Name: "PADDLE_PORT", Value: strconv.Itoa(basePort)},
		{Name: "PADDLE_TRAINER_ENDPOINTS", Value: list(job.Trainer, address)},
		{Name: "PADDLE_TRAINERS", Value: list(job.Trainer, "%s")},
	}
	if role := w.job.role(job.Trainer); role != nil {
		env = append(env, corev1.EnvVar{Name: "PADDLE_TRAINERS_NUM", Value: strconv.Itoa(role.count())})
	}
	for name, kind := range map[string]string{"PADDLE_HETER_ENDPOINTS": Heter, "PADDLE_PSERVERS_IP_PORT_LIST": job.Pserver} {
		if hosts := list(kind, address); hosts != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: hosts})
		}
	}
	slices.SortStableFunc(env[7:], func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	c := &t.Spec.Containers[0]
	own := c.Env
	c.Env = slices.DeleteFunc(env, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(own, func(o corev1.EnvVar) bool { return o.Name == e.Name })
	})
	c.Env = append(c.Env, own...)
}

// kubernetes returns a headless Service, and one Job with an index for each role.
func (w *writer) kubernetes() []any {
	r := w.rest
	meta := w.meta(maxKubeName)
	const label = "pfs.paddlecloud.io/job"
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: *meta.DeepCopy(),
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{label: meta.Name},
			Ports: []corev1.ServicePort{{Name: "main", Port: basePort, TargetPort: intstr.FromInt32(basePort)}}},
	}
	objects := []any{service}
	names := map[string]string{}
	for i := range w.job.Roles {
		names[w.job.Roles[i].Name] = meta.Name + "-" + kubeName(w.job.Roles[i].Name, 12)
	}
	host := func(role *Role, index int) string {
		return fmt.Sprintf("%s-%d.%s", names[role.Name], index, meta.Name)
	}
	var limit *int64
	if d, err := time.ParseDuration(r.TimeLimit); err == nil && d > 0 {
		limit = ptr(int64(d.Seconds()))
		r.TimeLimit = ""
	}
	keep := take(&r.KeepSeconds)
	for i := range r.Roles {
		role := &r.Roles[i]
		n := int32(role.count())
		t := w.pods(i)
		w.paddleEnv(i, &t, host, "metadata.labels['"+batchv1.JobCompletionIndexAnnotation+"']")
		t.Spec.Subdomain = meta.Name
		if t.Spec.RestartPolicy == "" || t.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			t.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
		t.Labels = merged(t.Labels, map[string]string{label: meta.Name})
		j := &batchv1.Job{
			TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
			ObjectMeta: *meta.DeepCopy(),
			Spec: batchv1.JobSpec{Parallelism: &n, Completions: &n, CompletionMode: ptr(batchv1.IndexedCompletion), BackoffLimit: ptr(int32(0)),
				ActiveDeadlineSeconds: limit, TTLSecondsAfterFinished: keep, Template: t},
		}
		j.Name = names[role.Name]
		role.Name, role.Replicas = "", nil
		objects = append(objects, j)
	}
	return objects
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(b)
	maps.Copy(all, a)
	return all
}

// print returns objects as documents of YAML, or as JSON for the format that is JSON.
func (w *writer) print(objects []any) ([]byte, error) {
	var out bytes.Buffer
	for i, o := range objects {
		if w.to == OpenPAI1 {
			enc := json.NewEncoder(&out)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			err := enc.Encode(o)
			return out.Bytes(), err
		}
		text, err := YAML(o)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
