package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// waiting explains why the main container of a pod has not started.
func waiting(p *corev1.Pod, main *corev1.ContainerStatus, notes []corev1.Event) string {
	if lost := lostSidecar(p); lost != "" {
		return lost
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if strings.Contains(c.Message, notReady) {
				return gangWaits + ": " + gangText(c.Message, true)
			}
			return fmt.Sprintf("no node has what its pod needs, %s: %s", requests(p), clean(c.Message))
		}
	}
	for _, s := range append(slices.Clone(p.Status.InitContainerStatuses), *main) {
		if w := s.State.Waiting; w != nil && !slices.Contains([]string{"", "PodInitializing", "ContainerCreating"}, w.Reason) {
			return waitReason(p, s.Name, w)
		}
	}
	for i := range p.Status.InitContainerStatuses {
		s := &p.Status.InitContainerStatuses[i]
		switch {
		case s.Name == stageContainer && s.State.Running != nil:
			return "its inputs are being copied"
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			return fmt.Sprintf("the container %s failed: %s", s.Name, clean(cmp.Or(s.State.Terminated.Message, s.State.Terminated.Reason)))
		}
	}
	for _, n := range slices.Backward(notes) {
		if n.InvolvedObject.Name == p.Name {
			return noteText(n)
		}
	}
	return "its containers are being started"
}

// requests returns what a pod needs of its node.
func requests(p *corev1.Pod) string {
	var list []string
	all := effective(p.Spec, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		q := all[name]
		list = append(list, fmt.Sprintf("%s %s", q.String(), name))
	}
	return strings.Join(list, ", ")
}

// pullFailures are the reasons for which a container waits whose image cannot be pulled.
var pullFailures = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError"}

// unpullable explains why an image of a pod cannot be pulled, and returns the time since which the pod has a node; "" if it can.
func unpullable(p *corev1.Pod) (reason string, since time.Time) {
	for _, s := range append(slices.Clone(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && slices.Contains(pullFailures, w.Reason) {
			reason = waitReason(p, s.Name, w)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime.Time
		}
	}
	return reason, since
}

// waitReason explains why a container waits.
func waitReason(p *corev1.Pod, name string, w *corev1.ContainerStateWaiting) string {
	image := ""
	for _, c := range append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...) {
		if c.Name == name {
			image = c.Image
		}
	}
	if slices.Contains(pullFailures, w.Reason) {
		return fmt.Sprintf("the image %s cannot be pulled: %s", image, clean(w.Message))
	}
	switch w.Reason {
	case "CrashLoopBackOff":
		return fmt.Sprintf("the container %s fails again and again: %s", name, clean(w.Message))
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return fmt.Sprintf("the container %s cannot be started: %s", name, clean(w.Message))
	}
	return clean(w.Reason + ": " + w.Message)
}

// failure explains why the program of a pod failed.
func failure(p *corev1.Pod, main *corev1.ContainerStatus) string {
	if text := taken(p); text != "" {
		return text
	}
	for _, s := range p.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && main.State.Running == nil && s.Name != uploadContainer && s.Name != mountContainer {
			what := "the container " + s.Name
			if s.Name == stageContainer {
				what = "copying the inputs"
			}
			return fmt.Sprintf("%s failed with exit code %d: %s", what, t.ExitCode, clean(cmp.Or(t.Message, t.Reason)))
		}
	}
	t := main.State.Terminated
	switch {
	case t == nil:
		return clean(cmp.Or(p.Status.Message, p.Status.Reason, "its pod failed"))
	case t.Reason == "OOMKilled":
		return "out of memory: killed at its limit of " + memoryLimit(p)
	}
	if x, ok := exitOf(t); ok && x.Reason != "" {
		return x.Reason
	} else if ok && x.Stopped && x.Code == 0 {
		return "the cluster asked it to end, and it ended with 0"
	}
	if signal := signalOf(t); signal != "" {
		return "ended by the signal " + signal
	}
	if t.Reason != "Error" && t.Reason != "Completed" {
		return clean(t.Reason + ": " + t.Message)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}

// lost explains why the pod p of a worker, nil if it is gone, did not commit the outputs.
func lost(w *job.Worker, p *corev1.Pod) string {
	if p == nil {
		return cmp.Or(w.Reason, "its pod is gone")
	}
	main, upload := statusOf(p, mainContainer), statusOf(p, uploadContainer)
	if main.State.Terminated == nil || main.State.Terminated.ExitCode != 0 {
		return failure(p, &main)
	}
	for _, t := range []*corev1.ContainerStateTerminated{upload.State.Terminated, upload.LastTerminationState.Terminated} {
		if t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("the container %s failed with exit code %d: %s", uploadContainer, t.ExitCode, clean(cmp.Or(t.Message, t.Reason)))
		}
	}
	if m, ok := exitOf(main.State.Terminated); ok && m.Uploaded != nil && m.Uploaded.Reason != "" {
		return clean(m.Uploaded.Reason)
	}
	return "its pod has ended"
}

// taken explains why the cluster takes a pod away, or returns "" if it does not.
func taken(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return disruption(c)
		}
	}
	if p.Status.Reason == "Evicted" {
		return "evicted from its node: " + clean(p.Status.Message)
	}
	return ""
}

// disruption explains why the cluster took a pod away.
func disruption(c corev1.PodCondition) string {
	switch c.Reason {
	case "PreemptionByScheduler":
		return "preempted: a pod of higher priority needed its place"
	case "DeletionByTaintManager", "DeletionByPodGC":
		return "its node is gone: " + clean(c.Message)
	case "EvictionByEvictionAPI":
		return "evicted from its node: " + clean(c.Message)
	case "TerminationByKubelet":
		return "ended by its node: " + clean(c.Message)
	}
	return "ended by the cluster: " + clean(cmp.Or(c.Message, c.Reason))
}

func memoryLimit(p *corev1.Pod) string {
	for _, c := range p.Spec.Containers {
		if c.Name == mainContainer {
			return job.FormatMemory(c.Resources.Limits.Memory().Value())
		}
	}
	return ""
}

// lostSidecar reports that a webhook made an ordinary container of the uploader, in which the pod would wait for ever.
func lostSidecar(p *corev1.Pod) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == uploadContainer && (c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways || slices.Contains(c.Command, onceFlag)) {
			return ""
		}
	}
	return fmt.Sprintf("the container %s is no sidecar any more: a webhook of the cluster removes restartPolicy from init containers, and an administrator must update it", uploadContainer)
}

// noteReason returns the text of the latest warning about the job's objects.
func noteReason(notes []corev1.Event) string {
	if len(notes) == 0 {
		return ""
	}
	return noteText(notes[len(notes)-1])
}

func noteText(n corev1.Event) string {
	if strings.Contains(n.Message, notReady) {
		return gangWaits + ": " + gangText(n.Message, true)
	}
	switch n.Reason {
	case "FailedMount", "FailedAttachVolume":
		return "/pfs or another volume cannot be mounted: " + clean(n.Message)
	case "FailedCreate":
		if q := quotaText(n.Message); q != "" {
			return q
		}
		return "a pod is refused: " + clean(n.Message)
	case "Unhealthy": // only the container that mounts has a probe
		return "/pfs is being mounted: " + strings.TrimPrefix(clean(n.Message), "Startup probe failed: ")
	case batchv1.JobReasonPodFailurePolicy:
		return "a process has failed, and the others end"
	}
	return clean(n.Message)
}

// exceeded matches the message of Kubernetes for a quota that is used up.
var exceeded = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)`)

// quotaText returns the arithmetic of a refusal for lack of quota, "" if message is not one.
func quotaText(message string) string {
	m := exceeded.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return fmt.Sprintf("the quota %s is used up: a pod needs %s; in use: %s; limit: %s", m[1], m[2], m[3], m[4])
}

func isQuota(err error) bool { return apierrors.IsForbidden(err) && quotaText(err.Error()) != "" }

// jobFailure explains why a Job failed, or returns "" if it has not.
func jobFailure(b *batchv1.Job) string {
	for _, c := range b.Status.Conditions {
		if (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget) && c.Status == corev1.ConditionTrue {
			if c.Reason == batchv1.JobReasonDeadlineExceeded {
				return "the time limit has passed"
			}
			if strings.Contains(c.Message, string(corev1.DisruptionTarget)) { // and nobody has seen why
				return "the cluster took a pod away: " + clean(c.Message)
			}
			return clean(cmp.Or(c.Message, c.Reason))
		}
	}
	return ""
}

// maxReason bounds the length of a message that becomes a reason.
const maxReason = 400

// clean returns a message as one line of bounded length.
func clean(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "..."
	}
	return s
}
