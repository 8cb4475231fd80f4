package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names of the engine. Each name stands for other objects that make the pods of an attempt. The cluster must have the
// operators that Config.Operators names.
const (
	Name      = "kubernetes" // a Job for trainers, and a StatefulSet for parameter servers
	PaddleJob = "paddlejob"  // a PaddleJob of the paddle-operator
	Volcano   = "volcano"    // a Job of Volcano
)

// engineOf returns the name of the engine of a job.
func engineOf(spec *job.Spec) string { return cmp.Or(spec.Engine, Name) }

// The resources of the operators.
var (
	paddleJobs  = schema.GroupVersionResource{Group: "batch.paddlepaddle.org", Version: "v1", Resource: "paddlejobs"}
	volcanoJobs = schema.GroupVersionResource{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}
	podGroups   = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"}
	queues      = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
)

// queueOf returns the queue in which a gang waits. Without a webhook of Volcano, only this name stands for none.
func queueOf(spec *job.Spec) string { return cmp.Or(spec.Queue, "default") }

// kinds has the kinds of the resources.
var kinds = map[schema.GroupVersionResource]string{paddleJobs: "PaddleJob", volcanoJobs: "Job", podGroups: "PodGroup"}

// resourceOf returns the resource of an object of an operator.
func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	for r, kind := range kinds {
		if o.GroupVersionKind() == r.GroupVersion().WithKind(kind) {
			return r
		}
	}
	panic("an object of no known type")
}

// controller is the object that makes the pods of trainers in an attempt.
type controller struct {
	metav1.ObjectMeta
	resource schema.GroupVersionResource // of an operator; empty for a Job of Kubernetes
	complete bool                        // all have succeeded, or as many as have to
	mixed    bool                        // all have ended, and some have failed, which the rules of the role allow
	failure  string                      // why it failed; "" if it has not
}

// jobController is the state of a Job.
func jobController(b batchv1.Job) controller {
	c := controller{ObjectMeta: b.ObjectMeta, failure: jobFailure(&b)}
	for _, d := range b.Status.Conditions {
		c.complete = c.complete || d.Type == batchv1.JobComplete && d.Status == corev1.ConditionTrue
		c.mixed = c.mixed || d.Type == batchv1.JobFailed && d.Status == corev1.ConditionTrue && d.Reason == batchv1.JobReasonFailedIndexes
	}
	if c.mixed {
		c.failure = ""
	}
	return c
}

// operatorController is the state of an object of an operator.
func operatorController(resource schema.GroupVersionResource, o *unstructured.Unstructured) controller {
	c := controller{ObjectMeta: metaOf(o), resource: resource}
	path, message := []string{"status", "phase"}, []string{"status", "message"}
	if resource == volcanoJobs {
		path, message = []string{"status", "state", "phase"}, []string{"status", "state", "message"}
	}
	phase, _, _ := unstructured.NestedString(o.Object, path...)
	switch phase {
	case "Completed":
		c.complete = true
	case "Failed", "Terminated", "Aborted":
		text, _, _ := unstructured.NestedString(o.Object, message...)
		c.failure = clean(cmp.Or(text, fmt.Sprintf("the operator says that the %s is %s", kinds[resource], phase)))
	}
	return c
}

func metaOf(o *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		DeletionTimestamp: o.GetDeletionTimestamp(), CreationTimestamp: o.GetCreationTimestamp(),
	}
}

// allows reports whether the cluster has the operator.
func (c *Config) allows(operator string) bool { return slices.Contains(c.Operators, operator) }

// operatorResources returns the resources of the operators that the cluster has.
func (c *Config) operatorResources() (list []schema.GroupVersionResource) {
	if c.allows(PaddleJob) {
		list = append(list, paddleJobs)
	}
	if c.allows(Volcano) {
		list = append(list, volcanoJobs, podGroups)
	}
	return list
}

// checkEngine refuses what the engine of a job cannot do.
func (c *Config) checkEngine(spec *job.Spec) error {
	bad := func(format string, args ...any) error { return pfs.Errorf(submitOp, "", pfs.Invalid, format, args...) }
	known := append([]string{Name}, c.Operators...)
	switch engine := engineOf(spec); {
	case !slices.Contains(known, engine):
		return bad("this datacenter has no engine %q; there are %s", engine, strings.Join(known, ", "))
	case spec.Scheduler != "" && spec.Scheduler != Volcano:
		return bad("there is no scheduler %q; there is %q, or none for that of Kubernetes", spec.Scheduler, Volcano)
	case gang(spec) && !c.allows(Volcano):
		return bad("this datacenter has no scheduler %q", Volcano)
	case !gang(spec) && (spec.Queue != "" || spec.Priority != ""):
		return bad("a queue and a priority need the scheduler %q", Volcano)
	case engine != Name && spec.PAI != nil:
		return bad("the engine %q runs trainers and parameter servers, and not the task roles of OpenPAI: use the engine %q", engine, Name)
	case engine != Name && spec.Restart == job.RestartRank:
		return bad("the engine %q cannot start one process again: use --restart job, or the engine %q", engine, Name)
	case engine == PaddleJob && c.Mount == Sidecar:
		return bad("the engine %q needs the node plugin: the paddle-operator removes the sidecar that mounts /pfs", engine)
	}
	return nil
}

// checkOperator refuses a job whose operator is missing in the cluster.
func (e *Engine) checkOperator(ctx context.Context, spec *job.Spec) error {
	var needed []schema.GroupVersionResource
	switch engineOf(spec) {
	case PaddleJob:
		needed = append(needed, paddleJobs)
	case Volcano:
		needed = append(needed, volcanoJobs)
	}
	if gang(spec) {
		needed = append(needed, podGroups)
	}
	for _, r := range needed {
		_, err := retried(ctx, func(ctx context.Context) (*unstructured.UnstructuredList, error) {
			return e.c.dynamic.Resource(r).Namespace(job.Namespace(spec.User)).List(ctx, metav1.ListOptions{Limit: 1})
		})
		if errors.Is(err, pfs.NotExist) {
			return pfs.Errorf(submitOp, "", pfs.Unsupported, "the cluster has no %s of %s: an administrator must install the operator in this version, or use the engine %q",
				r.Resource, r.GroupVersion(), Name)
		}
		if err != nil {
			return err
		}
	}
	if gang(spec) {
		if text, err := e.closedQueue(ctx, spec); err != nil || text != "" {
			return cmp.Or(err, pfs.Errorf(submitOp, "", pfs.Invalid, "%s: choose another queue", text))
		}
	}
	return nil
}

// closedQueue explains why the queue of a gang starts none; "" if it does. The scheduler says nothing of jobs in a queue that does not exist.
func (e *Engine) closedQueue(ctx context.Context, spec *job.Spec) (string, error) {
	q, err := retried(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return e.c.dynamic.Resource(queues).Get(ctx, queueOf(spec), metav1.GetOptions{})
	})
	switch {
	case errors.Is(err, pfs.NotExist):
		return fmt.Sprintf("Volcano has no queue %q", queueOf(spec)), nil
	case err != nil:
		return "", err
	}
	if state, _, _ := unstructured.NestedString(q.Object, "status", "state"); state != "" && state != "Open" {
		return fmt.Sprintf("the queue %q of Volcano is %s", q.GetName(), state), nil
	}
	return "", nil
}

// remains reports whether there are services or ConfigMaps that an operator made for a job. The cluster removes them some time after
// their owner. A new job of that name would begin with the addresses of the old one.
func (e *Engine) remains(ctx context.Context, ns, name string) (bool, error) {
	if len(e.Config.Operators) == 0 {
		return false, nil
	}
	services, err := all(ctx, metav1.ListOptions{}, e.c.services(ns).List, func(l *corev1.ServiceList) []corev1.Service { return l.Items })
	if err != nil {
		return false, err
	}
	configs, err := all(ctx, metav1.ListOptions{}, e.c.configMaps(ns).List, func(l *corev1.ConfigMapList) []corev1.ConfigMap { return l.Items })
	if err != nil {
		return false, err
	}
	owned := func(owners []metav1.OwnerReference) bool {
		return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return isOf(o.Name, name) })
	}
	return slices.ContainsFunc(services, func(s corev1.Service) bool { return owned(s.OwnerReferences) }) ||
		slices.ContainsFunc(configs, func(c corev1.ConfigMap) bool { return owned(c.OwnerReferences) }), nil
}

// gang reports whether Volcano schedules the pods of a job: all of them, or none.
func gang(spec *job.Spec) bool { return spec.Scheduler == Volcano || spec.Engine == Volcano }

// operatorName names the object of an operator in an attempt: SLUG-HASH-ATTEMPT.
func operatorName(spec *job.Spec, attempt int) string {
	return fmt.Sprintf("%s-%d", job.ObjectName(spec.Name), attempt)
}

// operatorObject returns an object of an operator.
func operatorObject(resource schema.GroupVersionResource, spec *job.Spec, attempt int, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	o.SetGroupVersionKind(resource.GroupVersion().WithKind(kinds[resource]))
	m := meta(spec, operatorName(spec, attempt), roleLabels(job.Trainer, attempt))
	o.SetName(m.Name)
	o.SetNamespace(m.Namespace)
	o.SetLabels(m.Labels)
	o.SetAnnotations(m.Annotations)
	return o
}

// processes returns the number of all processes.
func processes(spec *job.Spec) (n int64) {
	for _, r := range spec.Roles {
		n += int64(r.Replicas)
	}
	return n
}

// optional sets a field that is not empty.
func optional(fields map[string]any, name, value string) {
	if value != "" {
		fields[name] = value
	}
}

// podGroup returns the PodGroup with which Volcano starts all pods of an attempt, or none.
func (c *Config) podGroup(spec *job.Spec, attempt int) object {
	fields := map[string]any{"minMember": processes(spec), "queue": queueOf(spec)}
	optional(fields, "priorityClassName", spec.Priority)
	return operatorObject(podGroups, spec, attempt, fields)
}

// paddleRoles are the names that a PaddleJob has for roles: in its fields, and in the names of its pods.
var paddleRoles = map[string]string{job.Trainer: "worker", job.Pserver: "ps"}

// paddleJob returns the PaddleJob of an attempt. Its operator keeps the pods, for their exit records.
func (c *Config) paddleJob(spec *job.Spec, attempt int) object {
	fields := map[string]any{"cleanPodPolicy": "Never"}
	for _, r := range spec.Roles {
		fields[paddleRoles[r.Name]] = map[string]any{"replicas": int64(r.Replicas), "template": templateTree(c.pod(spec, r, attempt))}
	}
	return operatorObject(paddleJobs, spec, attempt, fields)
}

// volcanoJob returns the Job of Volcano for an attempt. A failed pod ends it; the last trainer that succeeds ends the parameter
// servers.
func (c *Config) volcanoJob(spec *job.Spec, attempt int) object {
	var tasks []any
	for _, r := range spec.Roles {
		task := map[string]any{"name": r.Name, "replicas": int64(r.Replicas), "template": templateTree(c.pod(spec, r, attempt))}
		if r.Name == job.Trainer {
			task["policies"] = []any{map[string]any{"event": "TaskCompleted", "action": "CompleteJob"}}
		}
		tasks = append(tasks, task)
	}
	fields := map[string]any{
		"schedulerName": Volcano, "minAvailable": processes(spec), "maxRetry": int64(1), "tasks": tasks, "queue": queueOf(spec),
		"plugins":  map[string]any{"svc": []any{"--disable-network-policy=true"}}, // host names for pods
		"policies": []any{map[string]any{"event": "PodFailed", "action": "TerminateJob"}, map[string]any{"event": "PodEvicted", "action": "TerminateJob"}},
	}
	optional(fields, "priorityClassName", spec.Priority)
	return operatorObject(volcanoJobs, spec, attempt, fields)
}

// templateTree returns the fields of a template.
func templateTree(t corev1.PodTemplateSpec) map[string]any {
	tree, err := treeOf(t)
	if err != nil {
		panic(err) // a template is valid JSON
	}
	return tree
}

// groupReason explains why Volcano does not start the pods of an attempt; "" if it does.
func (s *seen) groupReason(attempt string) string {
	for _, g := range s.groups {
		if g.GetName() != attempt && !isOf(g.GetName(), attempt) {
			continue
		}
		phase, _, _ := unstructured.NestedString(g.Object, "status", "phase")
		if phase == "Running" || phase == "Completed" {
			return ""
		}
		queue, _, _ := unstructured.NestedString(g.Object, "spec", "queue")
		text := fmt.Sprintf("%s, and wait in the queue %q", gangWaits, cmp.Or(queue, "default"))
		if s.closed != "" {
			return text + ": " + s.closed
		}
		list, _, _ := unstructured.NestedSlice(g.Object, "status", "conditions")
		for _, c := range slices.Backward(list) {
			m, _ := c.(map[string]any)
			if m["type"] == "Unschedulable" && m["status"] == "True" {
				return text + ": " + gangText(fmt.Sprint(m["message"]), phase == "Inqueue")
			}
		}
		return text
	}
	return s.closed
}

const (
	// notReady is in the messages of Volcano about a gang that does not start, and about its pods.
	notReady = "pod group is not ready"
	// gangWaits begins our own.
	gangWaits = "all processes start at once"
)

var (
	// homeless matches the number of pods in a message of Volcano that no node can take.
	homeless = regexp.MustCompile(`; Pending: (?:.*, )?([0-9]+) Unschedulable`)
	// origin matches why, for one of them.
	origin = regexp.MustCompile(`\. Origin reason is(?: [^ ]+)?: (.+)$`)
)

// gangText explains the message of Volcano about a gang. A gang is admitted when its queue has the requested resources.
func gangText(message string, admitted bool) string {
	if !strings.Contains(message, notReady) {
		return clean(message)
	}
	text := "the queue or the cluster has not enough left for all of them"
	if n := homeless.FindStringSubmatch(message); n != nil {
		text = "no node has what " + n[1] + " of them need"
	} else if admitted {
		text = "no nodes have been found for them yet"
	}
	if why := origin.FindStringSubmatch(message); why != nil {
		text += ": " + why[1]
	}
	return clean(text)
}
