// Package jobhttp carries a job.Engine over HTTP: Client is the engine, and Methods serves it. Requests
// and answers are JSON; the transport, with identities, errors and the audit log, is that of the files
// (pfs/client, pfs/server).
package jobhttp

import (
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// The methods of the protocol.
const (
	methodEngine         = "jobs.engine"
	methodPlan           = "jobs.plan"
	methodSubmit         = "jobs.submit"
	methodJobs           = "jobs.list"
	methodJob            = "jobs.get"
	methodLogs           = "jobs.logs"
	methodKill           = "jobs.kill"
	methodDelete         = "jobs.delete"
	methodQuota          = "jobs.quota"
	methodRegistries     = "jobs.registries"
	methodSetRegistry    = "jobs.set-registry"
	methodDeleteRegistry = "jobs.delete-registry"
)

// request is the message of every method. Each uses some of the fields.
type request struct {
	Datacenter string        `json:"datacenter"`
	Name       string        `json:"name,omitempty"`
	Spec       *job.Spec     `json:"spec,omitempty"`
	Logs       *logOptions   `json:"logs,omitempty"`
	Registry   *job.Registry `json:"registry,omitempty"`
	Password   string        `json:"password,omitempty"`
}

// logOptions are job.LogOptions.
type logOptions struct {
	Worker  string    `json:"worker,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Lines   int       `json:"lines"`
	Since   time.Time `json:"since,omitzero"`
	Follow  bool      `json:"follow,omitempty"`
}

// engineReply is the answer of methodEngine.
type engineReply struct {
	Engine string `json:"engine"` // its name; empty if the datacenter names none
}
