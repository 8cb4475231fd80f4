package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Spec describes a job to run. It has no default values: the caller sets every field that
// is not documented as optional.
type Spec struct {
	ID         string `json:"id"`   // of the submission: pfs.NewID. A repeated request is recognized by it
	Name       string `json:"name"` // the user's name for the job, unique among the user's jobs
	User       string `json:"user"`
	Datacenter string `json:"datacenter"`

	Package  pfs.Path `json:"package"`            // a directory on the service, read-only for the job; optional with PAI
	Entry    string   `json:"entry"`              // a command for sh -c, run in the package
	Topology string   `json:"topology,omitempty"` // optional: a configuration file of PaddlePaddle v1 in the package
	Tool     string   `json:"tool,omitempty"`     // optional: the command of paddlectl that Entry stands for. In a container it runs in the image of this project, as the user
	Passes   int      `json:"passes"`
	Image    string   `json:"image,omitempty"`    // optional for engines without images
	Registry string   `json:"registry,omitempty"` // optional: the credentials for Image

	Engine    string `json:"engine,omitempty"`    // optional: which engine, where a datacenter has several
	Scheduler string `json:"scheduler,omitempty"` // optional: "volcano" starts all processes at once, or none
	Queue     string `json:"queue,omitempty"`     // optional: of the scheduler
	Priority  string `json:"priority,omitempty"`  // optional: the name of a class of the scheduler

	Roles []Role            `json:"roles"` // trainers, then parameter servers if there are any; with PAI the task roles
	Env   map[string]string `json:"env,omitempty"`

	Inputs  []pfs.Path `json:"inputs,omitempty"`  // copied to the machine before the entry starts
	Outputs []string   `json:"outputs,omitempty"` // local directories besides $PFS_OUTPUT

	Claims       []Claim           `json:"claims,omitempty"`        // volumes of a cluster
	NodeSelector map[string]string `json:"node_selector,omitempty"` // optional: labels of the machines of a cluster

	MaxAttempts int           `json:"max_attempts"`
	Restart     Restart       `json:"restart"`
	TimeLimit   time.Duration `json:"time_limit,omitempty"` // of an attempt; 0: none
	UploadWait  time.Duration `json:"upload_wait"`          // for outputs, after the entry has ended

	PAI *PAI `json:"pai,omitempty"` // of a job of OpenPAI
}

// Restart tells which ranks start again after a failure.
type Restart string

const (
	RestartJob  Restart = "job"  // all ranks, as the next attempt
	RestartRank Restart = "rank" // the failed rank, in place
)

// The names of roles.
const (
	Trainer = "trainer"
	Pserver = "pserver"
)

// Role is a set of equal processes. The fields from Entry on are of jobs of OpenPAI, and optional.
type Role struct {
	Name     string `json:"name"` // Trainer or Pserver, or that of a task role
	Replicas int    `json:"replicas"`
	CPU      int64  `json:"milli_cpu"` // thousandths of a processor
	GPU      int64  `json:"gpu"`
	Memory   int64  `json:"memory"` // bytes

	Entry        string `json:"entry,omitempty"`         // instead of that of the Spec
	SharedMemory int64  `json:"shared_memory,omitempty"` // bytes
	MinFailed    int    `json:"min_failed,omitempty"`    // failures that end the attempt; 0: one, negative: none
	MinSucceeded int    `json:"min_succeeded,omitempty"` // successes that end the attempt, however the others are; 0: none
	Ports        []Port `json:"ports,omitempty"`
}

// Gloo reports whether the processes rendezvous by Gloo, which PADDLE_WITH_GLOO of the job requests. The first parameter server
// then has a second port, after its own.
func (s *Spec) Gloo() bool {
	with := s.Env["PADDLE_WITH_GLOO"]
	return with != "" && with != "0" && slices.ContainsFunc(s.Roles, func(r Role) bool { return s.Serves(r.Name) })
}

// Claim is a volume of a cluster: a PersistentVolumeClaim of the user's namespace.
type Claim struct {
	Name     string `json:"name"`
	Dir      string `json:"dir"` // where programs find it
	ReadOnly bool   `json:"read_only,omitempty"`
}

// ParseClaim parses NAME:DIR or NAME:DIR:ro.
func ParseClaim(text string) (Claim, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" {
		return Claim{}, fmt.Errorf("%q is not NAME:DIR, or NAME:DIR:ro for reading only", text)
	}
	return Claim{parts[0], parts[1], len(parts) == 3}, nil
}

// String returns what ParseClaim parses.
func (c Claim) String() string {
	if c.ReadOnly {
		return c.Name + ":" + c.Dir + ":ro"
	}
	return c.Name + ":" + c.Dir
}

// State is the state of a job, an attempt or a worker.
type State string

const (
	Submitting State = "Submitting" // the package is being uploaded; the engine does not know the job yet
	Pending    State = "Pending"    // not started: see the reason
	Running    State = "Running"    // the entry runs
	Uploading  State = "Uploading"  // the entry has ended, its outputs are not committed yet
	Succeeded  State = "Succeeded"  // the entry ended with 0 and the outputs are committed
	Failed     State = "Failed"
	Killing    State = "Killing"
	Killed     State = "Killed"
)

// Ended reports whether s is final.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Killed }

// Record is the state of a job. The store keeps it after the engine has forgotten the job.
type Record struct {
	Spec      Spec      `json:"spec"`
	Engine    string    `json:"engine"`
	Host      string    `json:"host,omitempty"` // the machine of a local job
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Updated   time.Time `json:"updated,omitzero"` // when the store's copy was written
	State     State     `json:"state"`
	Reason    string    `json:"reason,omitempty"` // why it waits or failed, in the user's terms
	Attempt   int       `json:"attempt"`
	Workers   []Worker  `json:"workers"` // of the last attempt
}

// Worker is one rank of one attempt.
type Worker struct {
	Name     string    `json:"name"` // ROLE-INDEX
	Role     string    `json:"role"`
	Index    int       `json:"index"`
	Attempt  int       `json:"attempt"`
	Restarts int       `json:"restarts"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	ExitCode *int      `json:"exit_code,omitempty"`
	Signal   string    `json:"signal,omitempty"`
	Outputs  string    `json:"outputs,omitempty"` // the marker, once it is there
	Rate     int64     `json:"rate,omitempty"`    // of the upload of outputs, in bytes a second, if it is known
}

// WorkerName returns ROLE-INDEX.
func WorkerName(role string, index int) string { return role + "-" + strconv.Itoa(index) }

// Engine runs jobs. A user is the name of an account; an engine for one user ignores it.
// Methods may be called concurrently.
//
// Spec.Check has accepted every Spec that an engine gets. From Submit on, the engine keeps the job's
// Record in the store up to date (WriteRecord), until Delete.
type Engine interface {
	// Plan makes the checks of Submit, such as quotas, and returns what Submit would create, as JSON
	// objects. It changes nothing.
	Plan(ctx context.Context, spec *Spec) ([]json.RawMessage, error)
	// Submit starts a job. When it fails, nothing of the job is left. A job of that name that has not
	// been deleted answers Exist.
	Submit(ctx context.Context, spec *Spec) error
	// Jobs returns the jobs that the engine knows.
	Jobs(ctx context.Context, user string) ([]Record, error)
	// Job returns one job, or an error of Kind NotExist.
	Job(ctx context.Context, user, name string) (*Record, error)
	// Logs copies the logs that the engine has to w: those of workers that run, or ended recently. Each
	// line has the name of the worker, a space, and a LogLine. Without Follow the workers come in turn.
	Logs(ctx context.Context, user, name string, opts LogOptions, w io.Writer) error
	// Kill ends a job. It returns when nothing of it runs, and passes changes to tell meanwhile.
	Kill(ctx context.Context, user, name string, tell func(*Record)) error
	// Delete makes the engine forget a job that has ended.
	Delete(ctx context.Context, user, name string) error
	// Quota returns the user's limits. An engine without limits returns none.
	Quota(ctx context.Context, user string) ([]Quota, error)
}

// Registrar is an Engine that keeps credentials for registries of images.
type Registrar interface {
	Registries(ctx context.Context, user string) ([]Registry, error)
	// SetRegistry replaces a registry of the same name.
	SetRegistry(ctx context.Context, user string, r Registry, password string) error
	DeleteRegistry(ctx context.Context, user, name string) error
}

// Registry is a registry of images that needs credentials.
type Registry struct {
	Name     string    `json:"name"`
	Server   string    `json:"server"`
	Username string    `json:"username"`
	Created  time.Time `json:"created,omitzero"`
}

// LogOptions select lines of logs.
type LogOptions struct {
	Worker  string // optional: ROLE-INDEX
	Attempt int    // 0: the last
	Lines   int    // the last lines of each worker; negative: all
	Since   time.Time
	Follow  bool // until the end of the attempt, or for the attempt 0 of the job
}

// Over reports whether no more lines can come for the job that r describes.
func (o *LogOptions) Over(r *Record) bool {
	return !o.Follow || r.State.Ended() || o.Attempt != 0 && r.Attempt > o.Attempt
}

// Quota is one limit of a user, in units of the resource: milli_cpu, bytes of memory, gpu, pods.
type Quota struct {
	Resource string `json:"resource"`
	Used     int64  `json:"used"`
	Limit    int64  `json:"limit"`
}

// Dir returns the directory of a job: /pfs/DC/home/USER/jobs/NAME.
func Dir(datacenter, user, name string) pfs.Path { return jobsDir(datacenter, user).Join(name) }

// jobsDir returns the directory of a user's jobs.
func jobsDir(datacenter, user string) pfs.Path {
	return pfs.Path("/pfs/" + datacenter + "/home/" + user + "/jobs")
}

// PackageDir returns the directory for the package of a job, if it is uploaded.
func PackageDir(datacenter, user, name string) pfs.Path {
	return Dir(datacenter, user, name).Join("package")
}

// OutputDir returns the directory for the outputs of a worker in an attempt.
func OutputDir(spec *Spec, attempt int, worker string) pfs.Path {
	return Dir(spec.Datacenter, spec.User, spec.Name) + pfs.Path("/attempts/"+strconv.Itoa(attempt)+"/"+worker)
}

// LogDir returns the directory for the logs of a worker in an attempt.
func LogDir(spec *Spec, attempt int, worker string) pfs.Path {
	return Dir(spec.Datacenter, spec.User, spec.Name) + pfs.Path("/logs/"+strconv.Itoa(attempt)+"/"+worker)
}
