package jobfile

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of the formats. The names of fields are the tags for JSON; range bounds a number, and lax lets a text be
// written as a number. enums has the values of types of texts.

// paddleJob is the PaddleJob of the paddle-operator.
type paddleJob struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec            paddleSpec        `json:"spec,omitempty"`
	Status          any               `json:"status,omitempty"`
}

type paddleSpec struct {
	CleanPodPolicy   cleanPods         `json:"cleanPodPolicy,omitempty"`
	Intranet         intranet          `json:"intranet,omitempty"`
	WithGloo         *int              `json:"withGloo,omitempty" range:"0 2"`
	Elastic          *int              `json:"elastic,omitempty"`
	SchedulingPolicy *schedulingPolicy `json:"schedulingPolicy,omitempty"`
	SampleSetRef     *sampleSetRef     `json:"sampleSetRef,omitempty"`
	PS               *paddleRole       `json:"ps,omitempty"`
	Worker           *paddleRole       `json:"worker,omitempty"`
	Heter            *paddleRole       `json:"heter,omitempty"`
}

type (
	cleanPods string
	intranet  string
)

type schedulingPolicy struct {
	MinAvailable  *int32              `json:"minAvailable,omitempty" range:"1 10000"`
	Queue         string              `json:"queue,omitempty"`
	PriorityClass string              `json:"priorityClass,omitempty"`
	MinResources  corev1.ResourceList `json:"minResources,omitempty"`
}

type sampleSetRef struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	MountPath string `json:"mountPath,omitempty"`
}

type paddleRole struct {
	Replicas *int                   `json:"replicas,omitempty" range:"1 10000"`
	Requests *int                   `json:"requests,omitempty"`
	Limits   *int                   `json:"limits,omitempty"`
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
}

// kubeflowJob is the PaddleJob of Kubeflow's training-operator.
type kubeflowJob struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec            kubeflowSpec      `json:"spec,omitempty"`
	Status          any               `json:"status,omitempty"`
}

type kubeflowSpec struct {
	RunPolicy     runPolicy                `json:"runPolicy,omitempty"`
	ElasticPolicy *elasticPolicy           `json:"elasticPolicy,omitempty"`
	Replicas      map[string]*kubeflowRole `json:"paddleReplicaSpecs,omitempty"`
}

type runPolicy struct {
	CleanPodPolicy          kubeflowClean     `json:"cleanPodPolicy,omitempty"`
	TTLSecondsAfterFinished *int32            `json:"ttlSecondsAfterFinished,omitempty" range:"0 2147483647"`
	ActiveDeadlineSeconds   *int64            `json:"activeDeadlineSeconds,omitempty" range:"1 2147483647"`
	BackoffLimit            *int32            `json:"backoffLimit,omitempty" range:"0 2147483647"`
	SchedulingPolicy        *schedulingPolicy `json:"schedulingPolicy,omitempty"`
	Suspend                 *bool             `json:"suspend,omitempty"`
	ManagedBy               string            `json:"managedBy,omitempty"`
}

type elasticPolicy struct {
	MinReplicas *int32 `json:"minReplicas,omitempty" range:"1 10000"`
	MaxReplicas *int32 `json:"maxReplicas,omitempty" range:"1 10000"`
	MaxRestarts *int32 `json:"maxRestarts,omitempty" range:"0 2147483647"`
	Metrics     any    `json:"metrics,omitempty"`
}

type kubeflowRole struct {
	Replicas      *int32                 `json:"replicas,omitempty" range:"1 10000"`
	Template      corev1.PodTemplateSpec `json:"template,omitempty"`
	RestartPolicy kubeflowRestart        `json:"restartPolicy,omitempty"`
}

type (
	kubeflowClean   string
	kubeflowRestart string
)

// volcanoJob is the Job of Volcano.
type volcanoJob struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec            volcanoSpec       `json:"spec,omitempty"`
	Status          any               `json:"status,omitempty"`
}

type volcanoSpec struct {
	SchedulerName           string              `json:"schedulerName,omitempty"`
	MinAvailable            int32               `json:"minAvailable,omitempty" range:"0 10000"`
	MinSuccess              *int32              `json:"minSuccess,omitempty" range:"1 10000"`
	Queue                   string              `json:"queue,omitempty"`
	PriorityClassName       string              `json:"priorityClassName,omitempty"`
	MaxRetry                *int32              `json:"maxRetry,omitempty" range:"0 2147483647"`
	TTLSecondsAfterFinished *int32              `json:"ttlSecondsAfterFinished,omitempty" range:"0 2147483647"`
	RunningEstimate         *metav1.Duration    `json:"runningEstimate,omitempty"`
	Plugins                 map[string][]string `json:"plugins,omitempty"`
	Policies                []volcanoPolicy     `json:"policies,omitempty"`
	Volumes                 []volcanoVolume     `json:"volumes,omitempty"`
	NetworkTopology         any                 `json:"networkTopology,omitempty"`
	Tasks                   []volcanoTask       `json:"tasks,omitempty"`
}

type volcanoTask struct {
	Name            string                 `json:"name,omitempty"`
	Replicas        *int32                 `json:"replicas,omitempty" range:"0 10000"`
	MinAvailable    *int32                 `json:"minAvailable,omitempty" range:"0 10000"`
	MaxRetry        *int32                 `json:"maxRetry,omitempty" range:"0 2147483647"`
	TopologyPolicy  topologyPolicy         `json:"topologyPolicy,omitempty"`
	DependsOn       *dependsOn             `json:"dependsOn,omitempty"`
	PartitionPolicy any                    `json:"partitionPolicy,omitempty"`
	Policies        []volcanoPolicy        `json:"policies,omitempty"`
	Template        corev1.PodTemplateSpec `json:"template,omitempty"`
}

type dependsOn struct {
	Name      []string  `json:"name,omitempty"`
	Iteration iteration `json:"iteration,omitempty"`
}

type volcanoPolicy struct {
	Event    volcanoEvent     `json:"event,omitempty"`
	Events   []volcanoEvent   `json:"events,omitempty"`
	Action   volcanoAction    `json:"action,omitempty"`
	ExitCode *int32           `json:"exitCode,omitempty"`
	Timeout  *metav1.Duration `json:"timeout,omitempty"`
}

type volcanoVolume struct {
	MountPath       string                            `json:"mountPath,omitempty"`
	VolumeClaimName string                            `json:"volumeClaimName,omitempty"`
	VolumeClaim     *corev1.PersistentVolumeClaimSpec `json:"volumeClaim,omitempty"`
}

type (
	topologyPolicy string
	iteration      string
	volcanoEvent   string
	volcanoAction  string
)

// podGroup is the PodGroup of Volcano, which gangs the pods of a PaddleJob of the same name.
type podGroup struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec            podGroupSpec      `json:"spec,omitempty"`
	Status          any               `json:"status,omitempty"`
}

type podGroupSpec struct {
	MinMember         int32               `json:"minMember,omitempty" range:"1 100000"`
	MinTaskMember     map[string]int32    `json:"minTaskMember,omitempty"`
	Queue             string              `json:"queue,omitempty"`
	PriorityClassName string              `json:"priorityClassName,omitempty"`
	MinResources      corev1.ResourceList `json:"minResources,omitempty"`
	NetworkTopology   any                 `json:"networkTopology,omitempty"`
	SubGroupPolicy    any                 `json:"subGroupPolicy,omitempty"`
}

// enums are the values of types of texts.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[cleanPods]():       {"Always", "Never", "OnFailure", "OnCompletion"},
	reflect.TypeFor[intranet]():        {"PodIP", "Service", "Host"},
	reflect.TypeFor[kubeflowClean]():   {"All", "Running", "None"},
	reflect.TypeFor[kubeflowRestart](): {"Always", "OnFailure", "Never", "ExitCode"},
	reflect.TypeFor[topologyPolicy]():  {"none", "best-effort", "restricted", "single-numa-node"},
	reflect.TypeFor[iteration]():       {"any", "all"},
	reflect.TypeFor[volcanoEvent]():    {"*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "JobUnknown", "Unknown", "TaskCompleted", "TaskFailed", "OutOfSync", "CommandIssued", "JobUpdated"},
	reflect.TypeFor[volcanoAction]():   {"AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob", "SyncJob", "EnqueueJob"},
	reflect.TypeFor[restart]():         {"job", "rank"},
	reflect.TypeFor[ownScheduler]():    {"volcano"},
	reflect.TypeFor[prerequisite]():    {"dockerimage", "script", "data", "output"},
	reflect.TypeFor[failurePolicy]():   {"ignore", "fail"},
	reflect.TypeFor[priority]():        {"crit", "prod", "test", "oppo"},
	reflect.TypeFor[jobType]():         {"job"},
	reflect.TypeFor[paiEvent]():        {"taskStarts", "taskSucceeds"},

	reflect.TypeFor[corev1.RestartPolicy]():                 {"Always", "OnFailure", "Never"},
	reflect.TypeFor[corev1.ContainerRestartPolicy]():        {"Always", "OnFailure", "Never"},
	reflect.TypeFor[corev1.PullPolicy]():                    {"Always", "IfNotPresent", "Never"},
	reflect.TypeFor[corev1.StorageMedium]():                 {"", "Memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi"},
	reflect.TypeFor[corev1.PersistentVolumeAccessMode]():    {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	reflect.TypeFor[corev1.PersistentVolumeReclaimPolicy](): {"Retain", "Delete", "Recycle"},
	reflect.TypeFor[corev1.PersistentVolumeMode]():          {"Filesystem", "Block"},
	reflect.TypeFor[corev1.Protocol]():                      {"TCP", "UDP", "SCTP"},
	reflect.TypeFor[corev1.DNSPolicy]():                     {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
	reflect.TypeFor[corev1.TaintEffect]():                   {"", "NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeFor[corev1.TolerationOperator]():            {"Exists", "Equal", "Lt", "Gt"},
	reflect.TypeFor[corev1.NodeSelectorOperator]():          {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	reflect.TypeFor[metav1.LabelSelectorOperator]():         {"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeFor[corev1.MountPropagationMode]():          {"None", "HostToContainer", "Bidirectional"},
	reflect.TypeFor[corev1.PreemptionPolicy]():              {"PreemptLowerPriority", "Never"},
	reflect.TypeFor[corev1.HostPathType]():                  {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"},
	reflect.TypeFor[corev1.URIScheme]():                     {"HTTP", "HTTPS"},
	reflect.TypeFor[corev1.TerminationMessagePolicy]():      {"File", "FallbackToLogsOnError"},
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](): {"DoNotSchedule", "ScheduleAnyway"},
}
