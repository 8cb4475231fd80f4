package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// need is the sum of the requests of one role's pods, by the names of a ResourceQuota.
type need struct {
	role  job.Role
	total map[corev1.ResourceName]resource.Quantity
}

// needsOf returns the resources that a job needs at the same time.
func (c *Config) needsOf(spec *job.Spec) []need {
	var list []need
	for _, role := range spec.Roles {
		p := c.pod(spec, role, 1).Spec
		total := map[corev1.ResourceName]resource.Quantity{corev1.ResourcePods: *resource.NewQuantity(int64(role.Replicas), resource.DecimalSI)}
		for name, q := range effective(p, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }) {
			q.Mul(int64(role.Replicas))
			total[name], total["requests."+name] = q, q
		}
		for name, q := range effective(p, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }) {
			q.Mul(int64(role.Replicas))
			total["limits."+name] = q
		}
		list = append(list, need{role, total})
	}
	return list
}

// effective returns what Kubernetes counts for a pod: its containers and sidecars together, or more if an init container
// needs more.
func effective(p corev1.PodSpec, of func(corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}
	add := func(to, from corev1.ResourceList) corev1.ResourceList {
		sum := maps.Clone(to)
		for name, q := range from {
			q := q.DeepCopy()
			q.Add(sum[name])
			sum[name] = q
		}
		return sum
	}
	atLeast := func(list corev1.ResourceList) {
		for name, q := range list {
			if m := most[name]; q.Cmp(m) > 0 {
				most[name] = q
			}
		}
	}
	for _, c := range p.InitContainers {
		with := add(sidecars, of(c.Resources))
		if c.RestartPolicy != nil {
			sidecars = with
		}
		atLeast(with)
	}
	all := sidecars
	for _, c := range p.Containers {
		all = add(all, of(c.Resources))
	}
	atLeast(all)
	return most
}

// quotasOf returns the quotas of a namespace that count every pod.
func (e *Engine) quotasOf(ctx context.Context, ns string) ([]corev1.ResourceQuota, error) {
	list, err := all(ctx, metav1.ListOptions{}, e.c.quotas(ns).List, func(l *corev1.ResourceQuotaList) []corev1.ResourceQuota { return l.Items })
	return slices.DeleteFunc(list, func(q corev1.ResourceQuota) bool { return len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil }), err
}

// checkQuota refuses a job that the quotas of its namespace cannot admit now.
func (e *Engine) checkQuota(ctx context.Context, spec *job.Spec) error {
	list, err := e.quotasOf(ctx, job.Namespace(spec.User))
	if err != nil {
		return err
	}
	if text := shortage(list, e.Config.needsOf(spec)); text != "" {
		return pfs.Errorf(submitOp, "", pfs.Quota, "%s", text)
	}
	return nil
}

// shortage returns the arithmetic for the first resource that is short, or "".
func shortage(list []corev1.ResourceQuota, needs []need) string {
	for _, q := range list {
		for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			hard, used := q.Spec.Hard[name], q.Status.Used[name]
			sum := resource.Quantity{}
			var parts []string
			for _, n := range needs {
				part, ok := n.total[name]
				if !ok {
					continue
				}
				sum.Add(part)
				parts = append(parts, fmt.Sprintf("%d %ss %s", n.role.Replicas, n.role.Name, part.String()))
			}
			free := hard.DeepCopy()
			free.Sub(used)
			if sum.Sign() > 0 && sum.Cmp(free) > 0 {
				return fmt.Sprintf("not enough %s: the job needs %s (%s, with what runs beside them), and %s of %s are free (%s in use, quota %s of the namespace %s)",
					name, sum.String(), strings.Join(parts, " + "), free.String(), hard.String(), used.String(), q.Name, q.Namespace)
			}
		}
	}
	return ""
}

// Quota returns the quotas of the user's namespace.
func (e *Engine) Quota(ctx context.Context, user string) ([]job.Quota, error) {
	if _, err := e.namespace(ctx, user); errors.Is(err, pfs.NotExist) {
		return quotaLines([]corev1.ResourceQuota{*e.Config.quotaOf(user)}, e.Config.GPUResource), nil // that of the first job
	} else if err != nil {
		return nil, err
	}
	list, err := e.quotasOf(ctx, job.Namespace(user))
	if err != nil {
		return nil, err
	}
	return quotaLines(list, e.Config.GPUResource), nil
}

func quotaLines(list []corev1.ResourceQuota, gpu corev1.ResourceName) []job.Quota {
	var lines []job.Quota
	for _, q := range list {
		for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			hard, used := q.Spec.Hard[name], q.Status.Used[name]
			line := job.Quota{Resource: strings.TrimPrefix(string(name), "requests."), Used: used.Value(), Limit: hard.Value()}
			switch line.Resource {
			case "cpu", "limits.cpu":
				line.Resource = strings.TrimSuffix(line.Resource, "cpu") + "milli_cpu"
				line.Used, line.Limit = used.MilliValue(), hard.MilliValue()
			case string(gpu):
				line.Resource = "gpu"
			}
			lines = append(lines, line)
		}
	}
	return lines
}
