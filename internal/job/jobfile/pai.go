package jobfile

import (
	"reflect"

	"github.com/paddlecloud/pfs/internal/job"
)

// ownJob is the YAML of this project.
type ownJob struct {
	Name        string         `json:"name,omitempty"`
	Package     string         `json:"package,omitempty"`
	Entry       string         `json:"entry,omitempty"`
	Topology    string         `json:"topology,omitempty"`
	Passes      *int           `json:"passes,omitempty" range:"1 2147483647"`
	Image       string         `json:"image,omitempty"`
	Registry    string         `json:"registry,omitempty"`
	Trainers    *ownRole       `json:"trainers,omitempty"`
	Pservers    *ownRole       `json:"pservers,omitempty"`
	Env         map[string]lax `json:"env,omitempty"`
	Inputs      []string       `json:"inputs,omitempty"`
	Outputs     []string       `json:"outputs,omitempty"`
	Claims      []string       `json:"claims,omitempty"`
	Nodes       map[string]lax `json:"node-selector,omitempty"`
	MaxAttempts *int           `json:"max-attempts,omitempty" range:"1 100"`
	Restart     restart        `json:"restart,omitempty"`
	TimeLimit   string         `json:"time-limit,omitempty" lax:""`
	UploadWait  string         `json:"upload-wait,omitempty" lax:""`
	Datacenter  string         `json:"datacenter,omitempty"`
	Engine      string         `json:"engine,omitempty"`
	Scheduler   ownScheduler   `json:"scheduler,omitempty"`
	Queue       string         `json:"queue,omitempty"`
	Priority    string         `json:"priority,omitempty"`
}

type ownRole struct {
	Replicas *int   `json:"replicas,omitempty" range:"0 10000"`
	CPU      cpus   `json:"cpu,omitempty" lax:""`
	GPU      *int64 `json:"gpu,omitempty" range:"0 10000"`
	Memory   memory `json:"memory,omitempty" lax:""`
}

type (
	lax     string // a text that may be written as a number, or as true or false
	restart string
	// ownScheduler starts all processes at once.
	ownScheduler string
	cpus         string
	memory       string
)

// parsers check the values of types of texts.
var parsers = map[reflect.Type]func(string) error{
	reflect.TypeFor[cpus]():   func(s string) error { _, err := job.ParseCPU(s); return err },
	reflect.TypeFor[memory](): func(s string) error { _, err := job.ParseMemory(s); return err },
}

// paiJob is the JSON of OpenPAI on YARN, up to version 0.14.
type paiJob struct {
	JobName        string         `json:"jobName"`
	Image          string         `json:"image"`
	AuthFile       string         `json:"authFile,omitempty"`
	CodeDir        string         `json:"codeDir,omitempty"`
	DataDir        string         `json:"dataDir,omitempty"`
	OutputDir      string         `json:"outputDir,omitempty"`
	VirtualCluster string         `json:"virtualCluster,omitempty"`
	GPUType        string         `json:"gpuType,omitempty"`
	RetryCount     int            `json:"retryCount,omitempty" range:"-2 1000000"`
	JobEnvs        map[string]lax `json:"jobEnvs,omitempty"`
	Extras         any            `json:"extras,omitempty"`
	KillAll        *int           `json:"killAllOnCompletedTaskNumber,omitempty" range:"0 10000"`
	TaskRoles      []paiRole      `json:"taskRoles"`
}

type paiRole struct {
	Name         string    `json:"name"`
	TaskNumber   *int      `json:"taskNumber,omitempty" range:"1 10000"`
	CPUNumber    *int      `json:"cpuNumber,omitempty" range:"1 10000"`
	MemoryMB     *int64    `json:"memoryMB,omitempty" range:"1 1000000000"`
	ShmMB        *int64    `json:"shmMB,omitempty" range:"1 1000000000"`
	GPUNumber    *int64    `json:"gpuNumber,omitempty" range:"0 10000"`
	PortList     []paiPort `json:"portList,omitempty"`
	Command      string    `json:"command"`
	MinFailed    *int      `json:"minFailedTaskCount,omitempty" range:"1 10000"`
	MinSucceeded *int      `json:"minSucceededTaskCount,omitempty" range:"1 10000"`
}

type paiPort struct {
	Label      string `json:"label"`
	BeginAt    int    `json:"beginAt,omitempty" range:"0 65535"`
	PortNumber *int   `json:"portNumber,omitempty" range:"1 10000"`
}

// paiProtocol is version 2 of OpenPAI's protocol, in YAML, from version 0.14 on.
type paiProtocol struct {
	ProtocolVersion any                 `json:"protocolVersion"`
	Name            string              `json:"name" lax:""`
	Type            jobType             `json:"type"`
	Version         lax                 `json:"version,omitempty"`
	Contributor     string              `json:"contributor,omitempty"`
	Description     string              `json:"description,omitempty"`
	Prerequisites   []paiPrerequisite   `json:"prerequisites,omitempty"`
	Parameters      map[string]any      `json:"parameters,omitempty"`
	Secrets         map[string]any      `json:"secrets,omitempty"`
	JobRetryCount   *int                `json:"jobRetryCount,omitempty" range:"-2 1000000"`
	TaskRoles       map[string]*paiTask `json:"taskRoles"`
	Deployments     []paiDeployment     `json:"deployments,omitempty"`
	Defaults        *paiDefaults        `json:"defaults,omitempty"`
	Extras          *paiExtras          `json:"extras,omitempty"`
}

type paiPrerequisite struct {
	Name          string        `json:"name,omitempty"`
	Type          prerequisite  `json:"type,omitempty"`
	Version       lax           `json:"version,omitempty"`
	Contributor   string        `json:"contributor,omitempty"`
	Description   string        `json:"description,omitempty"`
	URI           any           `json:"uri,omitempty"`
	Auth          *paiAuth      `json:"auth,omitempty"`
	Plugin        string        `json:"plugin,omitempty"`
	Require       []string      `json:"require,omitempty"`
	FailurePolicy failurePolicy `json:"failurePolicy,omitempty"`
	Callbacks     []paiCallback `json:"callbacks,omitempty"`
}

type paiAuth struct {
	Username    string `json:"username,omitempty"`
	Password    string `json:"password,omitempty"`
	RegistryURI string `json:"registryuri,omitempty"`
}

type paiCallback struct {
	Event    paiEvent `json:"event,omitempty"`
	Commands []string `json:"commands,omitempty"`
}

type paiTask struct {
	Instances     *int           `json:"instances,omitempty" range:"1 10000"`
	Completion    *paiCompletion `json:"completion,omitempty"`
	TaskRetry     *int           `json:"taskRetryCount,omitempty" range:"-2 1000000"`
	Prerequisites []string       `json:"prerequisites,omitempty"`
	DockerImage   string         `json:"dockerImage,omitempty"`
	Data          string         `json:"data,omitempty"`
	Output        string         `json:"output,omitempty"`
	Script        string         `json:"script,omitempty"`
	Options       *paiOptions    `json:"extraContainerOptions,omitempty"`
	Resources     *paiResources  `json:"resourcePerInstance,omitempty"`
	Commands      []string       `json:"commands,omitempty"`
}

type paiCompletion struct {
	MinFailed    *int `json:"minFailedInstances,omitempty" range:"-1 10000"`
	MinSucceeded *int `json:"minSucceededInstances,omitempty" range:"-1 10000"`
}

type paiOptions struct {
	ShmMB      *int64 `json:"shmMB,omitempty" range:"1 1000000000"`
	Infiniband *bool  `json:"infiniband,omitempty"`
}

type paiResources struct {
	CPU      *float64       `json:"cpu,omitempty"`
	MemoryMB *int64         `json:"memoryMB,omitempty" range:"1 1000000000"`
	GPU      *int64         `json:"gpu,omitempty" range:"0 10000"`
	Ports    map[string]int `json:"ports,omitempty"`
}

type paiDeployment struct {
	Name      string                      `json:"name,omitempty"`
	TaskRoles map[string]*paiDeployedRole `json:"taskRoles,omitempty"`
}

type paiDeployedRole struct {
	PreCommands  []string `json:"preCommands,omitempty"`
	PostCommands []string `json:"postCommands,omitempty"`
}

type paiDefaults struct {
	VirtualCluster string `json:"virtualCluster,omitempty"`
	Deployment     string `json:"deployment,omitempty"`
}

type paiExtras struct {
	SubmitFrom     string       `json:"submitFrom,omitempty"`
	Gang           *bool        `json:"gangAllocation,omitempty"`
	Hived          *paiHived    `json:"hivedScheduler,omitempty"`
	Storages       []paiStorage `json:"storages,omitempty"`
	RuntimePlugins []paiPlugin  `json:"com.microsoft.pai.runtimeplugin,omitempty"`
}

type paiHived struct {
	JobPriorityClass priority                 `json:"jobPriorityClass,omitempty"`
	TaskRoles        map[string]*paiHivedRole `json:"taskRoles,omitempty"`
}

type paiHivedRole struct {
	SkuType           string `json:"skuType,omitempty"`
	SkuNum            *int   `json:"skuNum,omitempty" range:"1 10000"`
	AffinityGroupName string `json:"affinityGroupName,omitempty"`
	PinnedCellID      string `json:"pinnedCellId,omitempty"`
}

type paiStorage struct {
	Name      string `json:"name,omitempty"`
	MountPath string `json:"mountPath,omitempty"`
	Share     *bool  `json:"share,omitempty"`
	ReadOnly  *bool  `json:"readOnly,omitempty"`
}

type paiPlugin struct {
	Plugin        string        `json:"plugin,omitempty"`
	Parameters    any           `json:"parameters,omitempty"`
	FailurePolicy failurePolicy `json:"failurePolicy,omitempty"`
	TaskRoles     []string      `json:"taskRoles,omitempty"`
}

type (
	prerequisite  string
	failurePolicy string
	priority      string
	jobType       string
	paiEvent      string
)
