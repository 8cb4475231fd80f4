package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const submitOp = "kubernetes.Submit"

// Plan makes the checks of Submit and returns the objects that it would create. The token of the Secret is left out.
func (e *Engine) Plan(ctx context.Context, spec *job.Spec) ([]json.RawMessage, error) {
	if err := e.check(ctx, spec); err != nil {
		return nil, err
	}
	first := []object{}
	switch _, err := e.namespace(ctx, spec.User); {
	case errors.Is(err, pfs.NotExist):
		first = e.firstObjects(spec.User) // nothing can be checked in a namespace that does not exist
	case err != nil:
		return nil, err
	default:
		if err := e.checkCluster(ctx, spec); err != nil {
			return nil, err
		}
		if err := e.rehearse(ctx, spec); err != nil {
			return nil, err
		}
	}
	return asJSON(append(first, e.Config.objects(spec, 1)...))
}

// objects returns all objects of a job with its first attempt, in the order of their creation.
func (c *Config) objects(spec *job.Spec, attempt int) []object {
	return append(c.common(spec), c.attempt(spec, attempt)...)
}

// firstObjects are the objects that the first job of a user needs.
func (e *Engine) firstObjects(user string) []object {
	list := []object{e.Config.namespaceOf(user)}
	if e.Config.allows(PaddleJob) {
		list = append(list, limitsOf(user))
	}
	if len(e.Config.Quota) > 0 {
		list = append(list, e.Config.quotaOf(user))
	}
	if len(list) > 1 {
		list[0].GetAnnotations()[noteWhole] = quotaName
		list = append(list, wholeOf(user))
	}
	return list
}

// Submit starts a job.
func (e *Engine) Submit(ctx context.Context, spec *job.Spec) error {
	if err := e.check(ctx, spec); err != nil {
		return err
	}
	if err := e.makeNamespace(ctx, spec.User); err != nil {
		return err
	}
	j, err := e.read(ctx, job.Namespace(spec.User), job.ObjectName(spec.Name))
	switch {
	case err == nil && j.Spec.ID == spec.ID && j.Created > 0:
		return nil // this request was sent before, and its answer was lost
	case err == nil && j.Spec.ID != spec.ID:
		return inUse(j)
	case err == nil: // a replica of the service ended in the middle of this submission
	case !errors.Is(err, pfs.NotExist):
		return err
	default:
		if err := e.checkCluster(ctx, spec); err != nil {
			return err
		}
	}
	if err := e.rehearse(ctx, spec); err != nil {
		return err
	}
	if err := e.start(ctx, spec); err != nil {
		if errors.Is(err, errTaken) {
			return inUse(nil)
		}
		return errors.Join(err, e.rollBack(ctx, spec))
	}
	return nil
}

// check refuses what this engine cannot run.
func (e *Engine) check(ctx context.Context, spec *job.Spec) error {
	bad := func(format string, args ...any) error { return pfs.Errorf(submitOp, "", pfs.Invalid, format, args...) }
	most := max(len(strings.Join(trainers(spec, 1), ",")), len(strings.Join(endpoints(spec, 1, job.Pserver), ",")))
	if err := e.Config.checkEngine(spec); err != nil {
		return err
	}
	switch {
	case spec.Image == "" && spec.Tool == "":
		return bad("an image is needed on Kubernetes: add -image")
	case most > maxVariable:
		return bad("the addresses of so many processes do not fit into an environment variable of %d bytes", maxVariable)
	case e.Config.MaxGrace > 0 && Grace(spec) > e.Config.MaxGrace:
		return e.checkGrace(ctx, spec)
	}
	return nil
}

// checkGrace refuses a job whose --upload-wait is longer than the cluster waits for a pod, unless the rate of earlier jobs
// tells that all that fits on the disk of a pod can be uploaded in time.
func (e *Engine) checkGrace(ctx context.Context, spec *job.Spec) error {
	rate, err := e.rate(ctx, spec)
	if err != nil {
		return err
	}
	measured := "no earlier job has measured how fast outputs are uploaded"
	if rate > 0 {
		need := time.Duration(float64(e.Config.Storage.Value()) / float64(rate) * float64(time.Second)).Round(time.Second)
		if stopTime+need <= e.Config.MaxGrace {
			return nil
		}
		measured = fmt.Sprintf("the %s of its disk take %v at the rate of earlier jobs, %s a second", e.Config.Storage.String(), need, job.FormatMemory(rate>>20<<20))
	}
	return pfs.Errorf(submitOp, "", pfs.Invalid, "a pod that is killed would get %v for its outputs, and this cluster grants %v in all; %s: set --upload-wait to %v at most",
		spec.UploadWait, e.Config.MaxGrace, measured, max(0, e.Config.MaxGrace-stopTime))
}

// rate returns the lowest rate at which the last jobs of the user uploaded their outputs, in bytes a second; 0 if none tells.
func (e *Engine) rate(ctx context.Context, spec *job.Spec) (lowest int64, err error) {
	const last = 10
	fsys, err := e.Store(spec.User)
	if err != nil {
		return 0, err
	}
	var jobs []*job.Record
	for r, err := range job.Records(ctx, fsys, spec.Datacenter, spec.User) {
		if err == nil && r.State.Ended() { // a damaged record measures nothing
			jobs = append(jobs, r)
		} else if err != nil && pfs.KindOf(err).Temporary() {
			return 0, err
		}
	}
	slices.SortFunc(jobs, func(a, b *job.Record) int { return b.Ended.Compare(a.Ended) })
	for _, r := range jobs[:min(last, len(jobs))] {
		for _, w := range r.Workers {
			if w.Rate > 0 && (lowest == 0 || w.Rate < lowest) {
				lowest = w.Rate
			}
		}
	}
	return lowest, nil
}

// maxVariable is the length of an environment variable that Linux allows, less some for names.
const maxVariable = 127 << 10

// namespace returns the namespace of a user.
func (e *Engine) namespace(ctx context.Context, user string) (*corev1.Namespace, error) {
	ns, err := retried(ctx, func(ctx context.Context) (*corev1.Namespace, error) {
		return e.c.namespaces().Get(ctx, job.Namespace(user), metav1.GetOptions{})
	})
	switch {
	case err != nil:
		return nil, err
	case ns.DeletionTimestamp != nil:
		return nil, pfs.Errorf(submitOp, "", pfs.Conflict, "the namespace %s is being removed: try again when it is gone", ns.Name)
	case ns.Annotations[noteUser] != user:
		return nil, pfs.Errorf(submitOp, "", pfs.Permission, "the namespace %s is not the one of %s: it lacks the annotation %s", ns.Name, user, noteUser)
	}
	return ns, nil
}

// makeNamespace makes the namespace of a user, and its quota, if it does not exist, or if that was not completed.
func (e *Engine) makeNamespace(ctx context.Context, user string) error {
	ns, err := e.namespace(ctx, user)
	if err == nil && ns.Annotations[noteWhole] != "" {
		_, err = retried(ctx, func(ctx context.Context) (*corev1.ConfigMap, error) {
			return e.c.configMaps(ns.Name).Get(ctx, ns.Annotations[noteWhole], metav1.GetOptions{})
		})
	}
	if !errors.Is(err, pfs.NotExist) {
		return err
	}
	for _, o := range e.firstObjects(user) {
		if _, err := e.create(ctx, job.Namespace(user), o, false); err != nil && !errors.Is(err, pfs.Exist) {
			return err
		}
	}
	_, err = e.namespace(ctx, user)
	return err
}

// create creates an object, or rehearses that.
func (e *Engine) create(ctx context.Context, ns string, o object, dry bool) (object, error) {
	return retried(ctx, func(ctx context.Context) (object, error) {
		return e.c.create(ctx, ns, o, dry)
	})
}

// inUse refuses a name.
func inUse(j *entry) error {
	const format = "the name is in use by a job that %s"
	switch {
	case j == nil:
		return pfs.Errorf(submitOp, "", pfs.Exist, "the name is in use by a job that was submitted at the same time")
	case j.State.Ended():
		return pfs.Errorf(submitOp, "", pfs.Exist, format, fmt.Sprintf("has ended (%s): choose another one, or \"paddlectl delete %s\", which keeps its outputs", j.State, j.Spec.Name))
	case j.Kill:
		return pfs.Errorf(submitOp, "", pfs.Exist, format, fmt.Sprintf("is still ending: \"paddlectl wait %s\"", j.Spec.Name))
	}
	return pfs.Errorf(submitOp, "", pfs.Exist, format, fmt.Sprintf("has not ended: choose another one, or \"paddlectl kill %s\"", j.Spec.Name))
}

// checkCluster refuses a job whose name is in use, whose registry is missing, or for which the quota is too small.
func (e *Engine) checkCluster(ctx context.Context, spec *job.Spec) error {
	ns, name := job.Namespace(spec.User), job.ObjectName(spec.Name)
	switch j, err := e.read(ctx, ns, name); {
	case err == nil:
		return inUse(j)
	case !errors.Is(err, pfs.NotExist):
		return err
	}
	left, err := e.look(ctx, ns, selectorOf(name))
	if err != nil {
		return err
	}
	if s := left[key{ns, name}]; s != nil {
		return pfs.Errorf(submitOp, "", pfs.Exist, "a job of that name is still ending: it has %d pods; try again in a moment", len(s.pods))
	}
	switch remains, err := e.remains(ctx, ns, name); {
	case err != nil:
		return err
	case remains:
		return pfs.Errorf(submitOp, "", pfs.Exist, "a job of that name is still ending: the cluster has not removed its services yet; try again in a moment")
	}
	if spec.Registry != "" {
		if _, err := e.registry(ctx, spec.User, spec.Registry); err != nil {
			return err
		}
	}
	for _, c := range spec.Claims {
		_, err := retried(ctx, func(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
			return e.c.claims(ns).Get(ctx, c.Name, metav1.GetOptions{})
		})
		if errors.Is(err, pfs.NotExist) {
			return pfs.Errorf(submitOp, "", pfs.NotExist, "there is no claim %q in the namespace %s: an administrator must make it there", c.Name, ns)
		}
		if err != nil {
			return err
		}
	}
	if err := e.checkOperator(ctx, spec); err != nil {
		return err
	}
	return e.checkQuota(ctx, spec)
}

// rehearse lets the API server check all objects, and a pod of each role, without creating them.
func (e *Engine) rehearse(ctx context.Context, spec *job.Spec) error {
	ns := job.Namespace(spec.User)
	for _, o := range e.Config.objects(spec, 1) {
		if err := e.accepted(ctx, ns, o, true); err != nil && !errors.Is(err, pfs.Exist) {
			return err
		}
	}
	for _, r := range spec.Roles {
		p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		template := e.Config.pod(spec, r, 1)
		p.ObjectMeta, p.Spec = template.ObjectMeta, template.Spec
		p.Namespace, p.GenerateName = ns, attemptName(spec, 1, r.Name)+"-"
		if err := e.accepted(ctx, ns, p, true); err != nil {
			return err
		}
	}
	return nil
}

// accepted creates an object and compares the stored object with it.
func (e *Engine) accepted(ctx context.Context, ns string, o object, dry bool) error {
	got, err := e.create(ctx, ns, o, dry)
	if err != nil {
		return err
	}
	return compare(o, got)
}

// errTaken says that another submission has taken the name.
var errTaken = errors.New("the name is taken")

// start creates the objects of a job. It can be repeated.
func (e *Engine) start(ctx context.Context, spec *job.Spec) error {
	if err := e.createAll(ctx, spec, e.Config.common(spec)); err != nil {
		return err
	}
	if err := e.createAll(ctx, spec, e.Config.attempt(spec, 1)); err != nil {
		return err
	}
	j, err := e.read(ctx, job.Namespace(spec.User), job.ObjectName(spec.Name))
	if err != nil {
		return err
	}
	j, err = e.change(ctx, j, func(j *entry) {
		if !j.Kill {
			j.Attempt, j.Created, j.State = 1, 1, job.Pending
		}
	})
	if err == nil && j.Kill {
		return pfs.Errorf(submitOp, "", pfs.Conflict, "somebody has killed the job while it was submitted")
	}
	return err
}

// createAll creates objects, reads them back and compares them. One that this submission created before is left as it
// is.
func (e *Engine) createAll(ctx context.Context, spec *job.Spec, objects []object) error {
	for _, o := range objects {
		ns := o.GetNamespace()
		if s, ok := o.(*corev1.Secret); ok {
			if err := e.fill(s, spec.User); err != nil {
				return err
			}
		}
		err := e.accepted(ctx, ns, o, false)
		if errors.Is(err, pfs.Exist) {
			var own bool
			if own, err = e.isOurs(ctx, o); err == nil && !own {
				err = errTaken
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOurs reports whether the object that exists with the name of o is of the same submission.
func (e *Engine) isOurs(ctx context.Context, o object) (bool, error) {
	found, err := retried(ctx, func(ctx context.Context) (object, error) { return e.c.get(ctx, o) })
	if err != nil {
		return false, err
	}
	if found.GetDeletionTimestamp() != nil {
		return false, nil
	}
	return found.GetAnnotations()[noteID] == o.GetAnnotations()[noteID], nil
}

// rollBackTime bounds how long a failed submission waits for the removal of its objects.
const rollBackTime = time.Minute

// rollBack removes the objects of a failed submission. It does not depend on the caller's context.
func (e *Engine) rollBack(ctx context.Context, spec *job.Spec) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
	defer cancel()
	err := e.remove(ctx, job.Namespace(spec.User), job.ObjectName(spec.Name), nil)
	if err != nil {
		return pfs.Errorf(submitOp, "", pfs.KindOf(err), "and what was created could not be removed yet, which the service repeats: %w", err)
	}
	return nil
}
