package jobfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// read takes the document's value into j, and returns the fields that it did not take.
func (j *Job) read() (rest any) {
	switch v := j.doc.value.(type) {
	case *ownJob:
		return taken(v, j.fromOwn)
	case *paddleJob:
		return taken(v, j.fromPaddle)
	case *kubeflowJob:
		return taken(v, j.fromKubeflow)
	case *volcanoJob:
		return taken(v, j.fromVolcano)
	case *paiJob:
		return taken(v, j.fromPAI1)
	case *paiProtocol:
		return taken(v, j.fromPAI2)
	}
	return j.doc.value
}

// taken returns the remaining fields of a copy of v after take.
func taken[T any](v *T, take func(*T)) *T {
	c := clone(v)
	take(c)
	return c
}

// from records where a field of j comes from.
func (j *Job) from(field, source string) { j.origins[field] = source }

// metadata takes the metadata that users set, and drops those that the cluster sets.
func (j *Job) metadata(t *metav1.TypeMeta, m *metav1.ObjectMeta, status *any) {
	*t, *status = metav1.TypeMeta{}, nil
	j.Name, j.Namespace, j.Labels, j.Annotations = take(&m.Name), take(&m.Namespace), take(&m.Labels), take(&m.Annotations)
	delete(j.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	m.UID, m.ResourceVersion, m.Generation, m.ManagedFields = "", "", 0, nil
	m.CreationTimestamp = metav1.Time{}
	for _, field := range []string{"name", "namespace", "labels", "annotations"} {
		j.from(field, "metadata."+field)
	}
}

func (j *Job) scheduling(p *schedulingPolicy, at string) {
	if p != nil {
		j.Queue, j.Priority, j.MinAvailable = take(&p.Queue), take(&p.PriorityClass), take(&p.MinAvailable)
		j.from("queue", at+".queue")
		j.from("priority", at+".priorityClass")
		j.from("minAvailable", at+".minAvailable")
	}
}

func (j *Job) fromPaddle(p *paddleJob) {
	j.metadata(&p.TypeMeta, &p.Metadata, &p.Status)
	s := &p.Spec
	j.CleanPods, j.Intranet, j.WithGloo, j.Elastic = take(&s.CleanPodPolicy), take(&s.Intranet), take(&s.WithGloo), take(&s.Elastic)
	j.from("cleanPods", "spec.cleanPodPolicy")
	for _, field := range []string{"intranet", "withGloo", "elastic"} {
		j.from(field, "spec."+field)
	}
	j.scheduling(s.SchedulingPolicy, "spec.schedulingPolicy")
	for _, r := range []struct {
		of         *paddleRole
		name, kind string
	}{{s.Worker, "worker", job.Trainer}, {s.PS, "ps", job.Pserver}, {s.Heter, Heter, Heter}} {
		if r.of != nil {
			j.from(fmt.Sprintf("roles[%d]", len(j.Roles)), "spec."+r.name)
			j.Roles = append(j.Roles, Role{Name: r.name, Kind: r.kind, Replicas: take(&r.of.Replicas), Template: take(&r.of.Template)})
		}
	}
}

func (j *Job) fromKubeflow(k *kubeflowJob) {
	j.metadata(&k.TypeMeta, &k.Metadata, &k.Status)
	p := &k.Spec.RunPolicy
	j.scheduling(p.SchedulingPolicy, "spec.runPolicy.schedulingPolicy")
	if n := take(&p.BackoffLimit); n != nil {
		j.MaxAttempts = ptr(int(*n) + 1)
		j.from("maxAttempts", "spec.runPolicy.backoffLimit")
	}
	if n := take(&p.ActiveDeadlineSeconds); n != nil {
		j.TimeLimit = (time.Duration(*n) * time.Second).String()
		j.from("timeLimit", "spec.runPolicy.activeDeadlineSeconds")
	}
	j.KeepSeconds = take(&p.TTLSecondsAfterFinished)
	j.from("keepSeconds", "spec.runPolicy.ttlSecondsAfterFinished")
	j.from("cleanPods", "spec.runPolicy.cleanPodPolicy")
	switch p.CleanPodPolicy {
	case "All":
		j.CleanPods, p.CleanPodPolicy = "Always", ""
	case "None":
		j.CleanPods, p.CleanPodPolicy = "Never", ""
	}
	for _, r := range []struct{ name, kind string }{{"Worker", job.Trainer}, {"Master", job.Pserver}} {
		of := k.Spec.Replicas[r.name]
		if of == nil {
			continue
		}
		role := Role{Name: r.name, Kind: r.kind, Template: take(&of.Template)}
		if n := take(&of.Replicas); n != nil {
			role.Replicas = ptr(int(*n))
		}
		if of.RestartPolicy != "ExitCode" && role.Template.Spec.RestartPolicy == "" {
			role.Template.Spec.RestartPolicy = restartPolicies[take(&of.RestartPolicy)]
		}
		at := child("spec.paddleReplicaSpecs", r.name)
		j.from(fmt.Sprintf("roles[%d]", len(j.Roles)), at)
		j.from(fmt.Sprintf("roles[%d].template.spec.restartPolicy", len(j.Roles)), at+".restartPolicy")
		j.Roles = append(j.Roles, role)
	}
}

func (j *Job) fromVolcano(v *volcanoJob) {
	j.metadata(&v.TypeMeta, &v.Metadata, &v.Status)
	s := &v.Spec
	if s.SchedulerName == "volcano" {
		s.SchedulerName = ""
	}
	if n := take(&s.MinAvailable); n > 0 {
		j.MinAvailable = &n
	}
	j.Queue, j.Priority, j.KeepSeconds = take(&s.Queue), take(&s.PriorityClassName), take(&s.TTLSecondsAfterFinished)
	for field, source := range map[string]string{"minAvailable": "minAvailable", "queue": "queue", "priority": "priorityClassName", "keepSeconds": "ttlSecondsAfterFinished", "maxAttempts": "maxRetry"} {
		j.from(field, "spec."+source)
	}
	if slices.ContainsFunc(s.Policies, func(p volcanoPolicy) bool { return p.Event == "PodFailed" && p.Action == "RestartJob" }) {
		j.MaxAttempts = ptr(max(1, int(deref(take(&s.MaxRetry), 3))))
	}
	for name, args := range s.Plugins {
		if (name == "svc" || name == "env") && len(args) == 0 {
			delete(s.Plugins, name) // the writer needs them
		}
	}
	dropPolicies(s.Policies, append(gangPolicies(true), gangPolicies(false)...))
	for i := range s.Tasks {
		t := &s.Tasks[i]
		r := Role{Name: take(&t.Name), MinAvailable: take(&t.MinAvailable), Template: take(&t.Template)}
		if n := take(&t.Replicas); n != nil {
			r.Replicas = ptr(int(*n))
		}
		dropPolicies(t.Policies, []volcanoPolicy{{Event: "TaskCompleted", Action: "CompleteJob"}})
		at := fmt.Sprintf("spec.tasks[%d]", i)
		j.from(fmt.Sprintf("roles[%d]", i), at)
		j.Roles = append(j.Roles, r)
	}
}

// dropPolicies clears those policies that the writer makes itself.
func dropPolicies(list, ours []volcanoPolicy) {
	for i, p := range list {
		same := func(q volcanoPolicy) bool { return p.Event == q.Event && p.Action == q.Action }
		if p.Events == nil && p.ExitCode == nil && p.Timeout == nil && slices.ContainsFunc(ours, same) {
			list[i] = volcanoPolicy{}
		}
	}
}
