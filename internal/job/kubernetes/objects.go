package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels and annotations of our objects.
const (
	managedBy    = "app.kubernetes.io/managed-by"
	manager      = "pfsd"
	prefix       = "pfs.paddlecloud.io/"
	labelJob     = prefix + "job"     // SLUG-HASH
	labelRole    = prefix + "role"    // of a pod, and of what makes it
	labelAttempt = prefix + "attempt" // likewise
	labelState   = prefix + "state"   // of the ConfigMap of a job: active or ended
	noteName     = prefix + "name"    // the user's name for the object
	noteUser     = prefix + "user"
	noteID       = prefix + "submission" // Spec.ID
	noteRenew    = prefix + "renew"      // of a Secret: when to renew its token
	noteWhole    = prefix + "whole"      // of a namespace: the ConfigMap that it has when it has all its first objects
)

// The containers of a pod.
const (
	mainContainer   = "main"   // the user's program, below the launcher
	agentContainer  = "agent"  // copies the program pfs-agent to where main finds it
	mountContainer  = "mount"  // serves /pfs, without a node plugin
	uploadContainer = "upload" // uploads outputs and logs
	stageContainer  = "stage"  // copies inputs
)

// The volumes of a pod, and where they are.
const (
	agentDir = "/pfs-agent" // the program pfs-agent
	rankDir  = "/pfs-job"   // job.RankDir
	tokenDir = "/pfs-token" // the user's token, for our own containers
	tokenKey = "token"
	specDir  = "/pfs-spec" // the Spec
	specKey  = "spec.json"
	pfsDir   = "/pfs"
)

// port is where a program listens: every pod has an address of its own.
const port = 6170

// attemptName returns the name of the controller of a role's pods: SLUG-HASH-ATTEMPT-ROLE. A pod of the
// rank i has the host name SLUG-HASH-ATTEMPT-ROLE-i. A task role of OpenPAI, whose name may be long, has its number there.
func attemptName(spec *job.Spec, attempt int, role string) string {
	if spec.PAI != nil {
		role = fmt.Sprintf("t%d", slices.IndexFunc(spec.Roles, func(r job.Role) bool { return r.Name == role }))
	}
	return fmt.Sprintf("%s-%d-%s", job.ObjectName(spec.Name), attempt, role)
}

// trainers returns the addresses of all processes but parameter servers.
func trainers(spec *job.Spec, attempt int) (list []string) {
	for _, r := range spec.Roles {
		if !spec.Serves(r.Name) {
			list = append(list, endpoints(spec, attempt, r.Name)...)
		}
	}
	return list
}

// endpoints returns the addresses of a role, by DNS: relative to the namespace, so that no domain is
// needed.
func endpoints(spec *job.Spec, attempt int, role string) []string {
	var list []string
	for i := range replicas(spec, role) {
		if engineOf(spec) == PaddleJob { // the operator makes a service for each pod
			list = append(list, fmt.Sprintf("%s-%s-%d:%d", operatorName(spec, attempt), paddleRoles[role], i, port))
			continue
		}
		list = append(list, fmt.Sprintf("%s-%d.%s:%d", attemptName(spec, attempt, role), i, job.ObjectName(spec.Name), port))
	}
	return list
}

func replicas(spec *job.Spec, role string) int {
	for _, r := range spec.Roles {
		if r.Name == role {
			return r.Replicas
		}
	}
	return 0
}

// meta returns the metadata of an object of the job.
func meta(spec *job.Spec, name string, labels map[string]string) metav1.ObjectMeta {
	all := map[string]string{managedBy: manager, labelJob: job.ObjectName(spec.Name)}
	maps.Copy(all, labels)
	return metav1.ObjectMeta{
		Name: name, Namespace: job.Namespace(spec.User), Labels: all,
		Annotations: map[string]string{noteName: spec.Name, noteUser: spec.User, noteID: spec.ID},
	}
}

// namespaceOf returns the namespace of a user.
func (c *Config) namespaceOf(user string) *corev1.Namespace {
	level := "restricted"
	switch {
	case c.Mount == Sidecar:
		level = "privileged"
	case c.allows(PaddleJob): // its operator adds a container that says nothing of privileges
		level = "baseline"
	}
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Namespace(user), Labels: map[string]string{managedBy: manager, "pod-security.kubernetes.io/enforce": level},
			Annotations: map[string]string{noteUser: user},
		},
	}
}

// quotaName is the name of the ResourceQuota that comes with a namespace.
const quotaName = "pfs"

// quotaOf returns the quota that a new namespace gets.
func (c *Config) quotaOf(user string) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: metav1.ObjectMeta{Name: quotaName, Namespace: job.Namespace(user), Labels: map[string]string{managedBy: manager}},
		Spec:       corev1.ResourceQuotaSpec{Hard: c.Quota},
	}
}

// limitsOf returns the limits of containers without any, such as the one that the paddle-operator adds. A quota of limits would
// refuse their pods.
func limitsOf(user string) *corev1.LimitRange {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"), corev1.ResourceEphemeralStorage: resource.MustParse("64Mi")}
	return &corev1.LimitRange{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"},
		ObjectMeta: metav1.ObjectMeta{Name: quotaName, Namespace: job.Namespace(user), Labels: map[string]string{managedBy: manager}},
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: list, DefaultRequest: list}}},
	}
}

// wholeOf returns the ConfigMap that tells that the other first objects of a namespace were made.
func wholeOf(user string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: quotaName, Namespace: job.Namespace(user), Labels: map[string]string{managedBy: manager}},
	}
}

// common returns the objects that all attempts of a job share, in the order of their creation.
func (c *Config) common(spec *job.Spec) []object {
	name := job.ObjectName(spec.Name)
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		panic(err) // a Spec has only texts and numbers
	}
	config := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(spec, name, map[string]string{labelState: active}),
		Data:       map[string]string{specKey: string(text)},
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(spec, name, nil),
		Type:       corev1.SecretTypeOpaque, // the token comes when it is created
	}
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(spec, name, nil),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
			Selector: map[string]string{labelJob: name},
		},
	}
	return []object{config, secret, service}
}

// attempt returns the objects of one attempt.
func (c *Config) attempt(spec *job.Spec, attempt int) []object {
	var list []object
	if gang(spec) && spec.Engine != Volcano {
		list = append(list, c.podGroup(spec, attempt))
	}
	switch engineOf(spec) {
	case PaddleJob:
		return append(list, c.paddleJob(spec, attempt))
	case Volcano:
		return append(list, c.volcanoJob(spec, attempt))
	}
	for _, role := range slices.Backward(spec.Roles) { // parameter servers first
		if spec.Serves(role.Name) {
			list = append(list, c.pservers(spec, role, attempt))
		} else {
			list = append(list, c.trainers(spec, role, attempt))
		}
	}
	return list
}

func roleLabels(role string, attempt int) map[string]string {
	return map[string]string{labelRole: role, labelAttempt: strconv.Itoa(attempt)}
}

// trainers returns the Job of an attempt. With RestartJob any failure ends it; with RestartRank a
// failed rank gets a new pod, and one that was evicted does so without using up an attempt.
func (c *Config) trainers(spec *job.Spec, role job.Role, attempt int) *batchv1.Job {
	n := int32(role.Replicas)
	j := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta(spec, attemptName(spec, attempt, role.Name), roleLabels(role.Name, attempt)),
		Spec: batchv1.JobSpec{
			Parallelism: &n, Completions: &n, CompletionMode: ptr(batchv1.IndexedCompletion),
			PodReplacementPolicy: ptr(batchv1.Failed),
			Template:             c.pod(spec, role, attempt),
		},
	}
	if role.MinSucceeded > 0 {
		j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr(int32(role.MinSucceeded))}}}
	}
	evicted := batchv1.PodFailurePolicyRule{
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}
	switch {
	case !role.Fails(1): // OpenPAI tolerates some failures
		evicted.Action = batchv1.PodFailurePolicyActionFailJob
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{evicted}}
		j.Spec.BackoffLimitPerIndex = ptr(int32(0))
		j.Spec.BackoffLimit = ptr(n)
		if role.MinFailed > 0 {
			j.Spec.MaxFailedIndexes = ptr(int32(role.MinFailed - 1))
		}
	case spec.Restart == job.RestartRank:
		evicted.Action = batchv1.PodFailurePolicyActionIgnore
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{evicted}}
		j.Spec.BackoffLimitPerIndex = ptr(int32(spec.MaxAttempts - 1))
		j.Spec.MaxFailedIndexes = ptr(int32(0))
		j.Spec.BackoffLimit = ptr(int32(role.Replicas * spec.MaxAttempts))
	default:
		evicted.Action = batchv1.PodFailurePolicyActionFailJob
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{evicted, {
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: ptr(mainContainer), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0},
			},
		}}}
		j.Spec.BackoffLimit = ptr(int32(0))
	}
	if spec.TimeLimit > 0 {
		j.Spec.ActiveDeadlineSeconds = ptr(seconds(spec.TimeLimit))
	}
	return j
}

// pservers returns the StatefulSet of an attempt.
func (c *Config) pservers(spec *job.Spec, role job.Role, attempt int) *appsv1.StatefulSet {
	labels := roleLabels(role.Name, attempt)
	s := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: meta(spec, attemptName(spec, attempt, role.Name), labels),
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr(int32(role.Replicas)), ServiceName: job.ObjectName(spec.Name), PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: c.pod(spec, role, attempt),
		},
	}
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{labelJob: job.ObjectName(spec.Name), labelRole: role.Name, labelAttempt: labels[labelAttempt]}}
	s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways // a StatefulSet permits nothing else
	return s
}

// pod returns the pods of a role.
func (c *Config) pod(spec *job.Spec, role job.Role, attempt int) corev1.PodTemplateSpec {
	labels := roleLabels(role.Name, attempt)
	labels[managedBy], labels[labelJob] = manager, job.ObjectName(spec.Name)
	p := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{noteName: spec.Name, noteUser: spec.User}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Subdomain: job.ObjectName(spec.Name), NodeSelector: spec.NodeSelector,
			AutomountServiceAccountToken: ptr(false), EnableServiceLinks: ptr(false),
			TerminationGracePeriodSeconds: ptr(seconds(c.grace(spec))),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr(true), RunAsUser: &c.UID, RunAsGroup: &c.GID, FSGroup: &c.GID,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
	if spec.Registry != "" {
		p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: registryName(spec.Registry)}}
	}
	volumes, shared := c.volumes(spec, role)
	p.Spec.Volumes = volumes
	outputs := []corev1.VolumeMount{{Name: "job", MountPath: rankDir}}
	for i, dir := range spec.Outputs {
		outputs = append(outputs, corev1.VolumeMount{Name: outputVolume(i), MountPath: dir})
	}
	agent := corev1.VolumeMount{Name: "agent", MountPath: agentDir}
	token := corev1.VolumeMount{Name: "token", MountPath: tokenDir, ReadOnly: true}
	outputs = append(outputs, corev1.VolumeMount{Name: "spec", MountPath: specDir, ReadOnly: true})
	env := c.rankEnv(spec, role.Name, attempt)

	p.Spec.InitContainers = []corev1.Container{c.ours(agentContainer, small, []string{"/bin/pfs-agent", "install", agentDir}, agent)}
	if c.Mount == Sidecar {
		p.Spec.InitContainers = append(p.Spec.InitContainers, c.mountSidecar(spec, token))
	}
	upload := c.ours(uploadContainer, uploader, c.command("upload", c.serviceFlags()...), append(slices.Clone(outputs), token)...)
	upload.Env = append(upload.Env, env...)
	if engineOf(spec) == PaddleJob { // its definition knows no sidecars among init containers
		upload.Command = append(upload.Command, onceFlag)
	} else {
		upload.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = append(p.Spec.InitContainers, upload)
	}
	if len(spec.Inputs) > 0 {
		stage := c.ours(stageContainer, stager, c.command("stage", c.serviceFlags()...), append(slices.Clone(outputs), token)...)
		stage.Env = append(stage.Env, env...)
		p.Spec.InitContainers = append(p.Spec.InitContainers, stage)
	}
	agent.ReadOnly = true
	main := corev1.Container{
		Name: mainContainer, Image: spec.Image,
		Command:         append([]string{agentDir + "/pfs-agent"}, c.command("launch")[1:]...),
		Env:             append(env, corev1.EnvVar{Name: "HOME", Value: "/tmp"}), // the user may have no home in the image
		Resources:       c.resources(role),
		VolumeMounts:    append(outputs, agent, shared, corev1.VolumeMount{Name: "shm", MountPath: "/dev/shm"}),
		SecurityContext: restricted(),
		Ports:           []corev1.ContainerPort{{Name: "main", ContainerPort: port}},
	}
	for i, claim := range spec.Claims {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: claimVolume(i), MountPath: claim.Dir, ReadOnly: claim.ReadOnly})
	}
	if spec.Tool != "" {
		c.tool(&main, token)
	}
	p.Spec.Containers = []corev1.Container{main}
	if engineOf(spec) == PaddleJob {
		p.Spec.Containers = append(p.Spec.Containers, upload)
		p.Spec.Subdomain = "" // that of the operator
	}
	if engineOf(spec) != Name && spec.TimeLimit > 0 {
		p.Spec.ActiveDeadlineSeconds = ptr(seconds(spec.TimeLimit))
	}
	if gang(spec) {
		p.Spec.SchedulerName, p.Spec.PriorityClassName = Volcano, spec.Priority
		if spec.Engine != Volcano {
			p.Annotations[groupNote] = operatorName(spec, attempt)
		}
	}
	return p
}

// onceFlag makes the uploader an ordinary container, which ends when the outputs of one run are committed.
const onceFlag = "--once"

// groupNote is the annotation with the name of a pod's PodGroup.
const groupNote = "scheduling.k8s.io/group-name"

// tool makes main the container of a tool: our own program, which may have the token.
func (c *Config) tool(main *corev1.Container, token corev1.VolumeMount) {
	main.Image = c.Image
	main.VolumeMounts = append(main.VolumeMounts, token)
	for _, e := range [][2]string{{"PFS_TOKEN_FILE", tokenDir + "/" + tokenKey}, {"PFS_SERVICE", c.Service}, {"PFS_FINGERPRINT", c.Fingerprint}, {"TMPDIR", rankDir}} {
		main.Env = append(main.Env, corev1.EnvVar{Name: e[0], Value: e[1]})
	}
}

// volumes returns the volumes of a pod, and how the main container sees /pfs.
func (c *Config) volumes(spec *job.Spec, role job.Role) ([]corev1.Volume, corev1.VolumeMount) {
	name := job.ObjectName(spec.Name)
	empty := func(name string, limit resource.Quantity) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}
	}
	shm := empty("shm", *resource.NewQuantity(cmp.Or(role.SharedMemory, role.Memory/2), resource.BinarySI))
	shm.EmptyDir.Medium = corev1.StorageMediumMemory
	volumes := []corev1.Volume{
		empty("agent", resource.MustParse("256Mi")), empty("job", c.Storage), shm,
		// Only containers of ours have the volume. The server of a mount reads it as nobody.
		{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: ptr(int32(0o444))}}},
		{Name: "spec", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: specKey, Path: specKey}},
		}}},
	}
	for i := range spec.Outputs {
		volumes = append(volumes, empty(outputVolume(i), c.Storage))
	}
	for i, claim := range spec.Claims {
		volumes = append(volumes, corev1.Volume{Name: claimVolume(i), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name, ReadOnly: claim.ReadOnly},
		}})
	}
	mount := corev1.VolumeMount{Name: "pfs", MountPath: pfsDir}
	if c.Mount == Sidecar {
		mount.MountPropagation, mount.ReadOnly = ptr(corev1.MountPropagationHostToContainer), true
		return append(volumes, empty("pfs", resource.MustParse("1Mi")), empty("cache", c.Storage)), mount
	}
	attributes := map[string]string{"service": c.Service, "root": pfsDir, "owner": fmt.Sprintf("%d:%d", c.UID, c.GID)}
	if c.Fingerprint != "" {
		attributes["fingerprint"] = c.Fingerprint
	}
	return append(volumes, corev1.Volume{Name: "pfs", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: nodePlugin, VolumeAttributes: attributes, NodePublishSecretRef: &corev1.LocalObjectReference{Name: name},
	}}}), mount
}

func outputVolume(i int) string { return "output-" + strconv.Itoa(i) }

func claimVolume(i int) string { return "claim-" + strconv.Itoa(i) }

// mountSidecar mounts the datacenter for the main container. It mounts below the volume, not over it: the kubelet adds up the
// sizes of all files in the file system of a volume, and would evict the pod for the size of the tree.
func (c *Config) mountSidecar(spec *job.Spec, token corev1.VolumeMount) corev1.Container {
	dir := pfsDir + "/" + spec.Datacenter
	command := append([]string{"/bin/pfs-agent", "mount", "--foreground"}, c.serviceFlags()...)
	command = append(command, "--root="+dir, fmt.Sprintf("--owner=%d:%d", c.UID, c.GID), "--unprivileged", "--cache-dir=/cache/pfs", "--mkdir", dir)
	m := c.ours(mountContainer, mounter, command, token,
		corev1.VolumeMount{Name: "pfs", MountPath: pfsDir, MountPropagation: ptr(corev1.MountPropagationBidirectional)},
		corev1.VolumeMount{Name: "cache", MountPath: "/cache"})
	m.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
	m.SecurityContext = &corev1.SecurityContext{Privileged: ptr(true), RunAsUser: ptr(int64(0)), RunAsGroup: ptr(int64(0)), RunAsNonRoot: ptr(false)}
	m.StartupProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/pfs-agent", "status", dir}}},
		PeriodSeconds: 1, FailureThreshold: 120,
	}
	return m
}

// serviceFlags are the flags with which pfs-agent finds pfsd. The token comes from a file.
func (c *Config) serviceFlags() []string {
	flags := []string{"--service=" + c.Service}
	if c.Fingerprint != "" {
		flags = append(flags, "--fingerprint="+c.Fingerprint)
	}
	return flags
}

// command returns the command of pfs-agent for a rank. The rest is in rankEnv.
func (c *Config) command(name string, flags ...string) []string {
	return append([]string{"/bin/pfs-agent", name, "--spec=" + specDir + "/" + specKey, "--dir=" + rankDir}, flags...)
}

// rankEnv returns the variables that differ between the ranks of a job, for the commands of pfs-agent.
func (c *Config) rankEnv(spec *job.Spec, role string, attempt int) []corev1.EnvVar {
	from := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	index := from("PFS_INDEX", "metadata.labels['"+batchv1.JobCompletionIndexAnnotation+"']")
	switch {
	case engineOf(spec) != Name: // the name of the pod ends with it
		index = from("PFS_INDEX", "metadata.name")
	case spec.Serves(role):
		index = from("PFS_INDEX", "metadata.labels['"+appsv1.PodIndexLabel+"']")
	}
	env := []corev1.EnvVar{{Name: "PFS_ROLE", Value: role}, index, {Name: "PFS_ATTEMPT", Value: strconv.Itoa(attempt)}}
	if role == job.Trainer && spec.Restart == job.RestartRank {
		env = append(env, from("PFS_RESTART", "metadata.annotations['"+batchv1.JobIndexFailureCountAnnotation+"']"),
			from("PFS_EVICTED", "metadata.annotations['"+batchv1.JobIndexIgnoredFailureCountAnnotation+"']"))
	}
	env = append(env, corev1.EnvVar{Name: "PFS_TRAINERS", Value: strings.Join(trainers(spec, attempt), ",")})
	if spec.PAI == nil && replicas(spec, job.Pserver) > 0 {
		env = append(env, corev1.EnvVar{Name: "PFS_PSERVERS", Value: strings.Join(endpoints(spec, attempt, job.Pserver), ",")})
	}
	return env
}

// share is what a container of ours gets of the machine.
type share struct{ cpu, cpuLimit, memory, memoryLimit, storage string }

var (
	small    = share{"50m", "1", "32Mi", "64Mi", "256Mi"}
	uploader = share{"100m", "2", "64Mi", "256Mi", "256Mi"}
	stager   = share{"100m", "2", "128Mi", "512Mi", "256Mi"}
	mounter  = share{"100m", "2", "256Mi", "1Gi", "256Mi"}
)

// ours returns a container with our image.
func (c *Config) ours(name string, s share, command []string, mounts ...corev1.VolumeMount) corev1.Container {
	storage := resource.MustParse(s.storage)
	return corev1.Container{
		Name: name, Image: c.Image, Command: command, VolumeMounts: mounts, SecurityContext: restricted(),
		Env: []corev1.EnvVar{{Name: "PFS_TOKEN_FILE", Value: tokenDir + "/" + tokenKey}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(s.cpu), corev1.ResourceMemory: resource.MustParse(s.memory), corev1.ResourceEphemeralStorage: storage},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(s.cpuLimit), corev1.ResourceMemory: resource.MustParse(s.memoryLimit), corev1.ResourceEphemeralStorage: storage},
		},
	}
}

// restricted is what the pod security standard of that name asks of a container.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: ptr(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// resources are those of the main container. The pod may fill its local disk up to the sum of the
// limits of its containers.
func (c *Config) resources(role job.Role) corev1.ResourceRequirements {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(role.CPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(role.Memory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: c.Storage,
	}
	if role.GPU > 0 {
		list[c.GPUResource] = *resource.NewQuantity(role.GPU, resource.DecimalSI)
	}
	return corev1.ResourceRequirements{Requests: list, Limits: maps.Clone(list)}
}

// stopTime is the time that a program has to end after SIGTERM.
const stopTime = 30 * time.Second

// Grace returns how long a pod of the job may take to end: the program, and then its upload.
func Grace(spec *job.Spec) time.Duration { return stopTime + spec.UploadWait }

// grace is what a pod gets of it. Submit has checked that it suffices.
func (c *Config) grace(spec *job.Spec) time.Duration {
	if c.MaxGrace > 0 {
		return min(Grace(spec), c.MaxGrace)
	}
	return Grace(spec)
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func ptr[T any](v T) *T { return &v }

// asJSON returns objects as JSON, without the empty fields that the types always print.
func asJSON(objects []object) ([]json.RawMessage, error) {
	var list []json.RawMessage
	for _, o := range objects {
		tree, err := treeOf(o)
		if err != nil {
			return nil, err
		}
		delete(tree, "status")
		text, err := json.Marshal(tree)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

// treeOf returns the fields of an object that are set.
func treeOf(o any) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	prune(tree)
	return tree, nil
}

// prune removes nulls and empty objects.
func prune(tree map[string]any) {
	for key, value := range tree {
		switch v := value.(type) {
		case nil:
			delete(tree, key)
		case map[string]any:
			if prune(v); len(v) == 0 && key != "emptyDir" {
				delete(tree, key)
			}
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					prune(m)
				}
			}
		}
	}
}
