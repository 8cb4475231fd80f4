package job

import (
	"fmt"
	"regexp"
	"strings"
)

// PAI has the properties that only jobs of OpenPAI have. Their task roles are the Roles. An attempt ends when all
// processes have ended, or earlier by the rules of a role.
type PAI struct {
	Protocol int    `json:"protocol"`            // 1: the JSON of the clusters on YARN; 2: the YAML of those on Kubernetes
	Name     string `json:"name"`                // of the job, as OpenPAI allows it
	Cluster  string `json:"cluster"`             // the virtual cluster
	Data     string `json:"data,omitempty"`      // dataDir: one of the Inputs
	CodeName string `json:"code_name,omitempty"` // the directory with the package, in the directory where commands begin
}

// Port is a number of ports of a process. First is 0 if any will do.
type Port struct {
	Label string `json:"label"`
	First int    `json:"first,omitempty"`
	Count int    `json:"count"`
}

// PAIName returns the name of a task role in the form that OpenPAI on Kubernetes uses.
func PAIName(role string) string { return notPAIName.ReplaceAllString(strings.ToLower(role), "") }

var notPAIName = regexp.MustCompile(`[^a-z0-9]`)

// Serves reports whether the processes of a role are ended when the others are done.
func (s *Spec) Serves(role string) bool { return role == Pserver && s.PAI == nil }

// Fails reports whether so many failed processes of the role end an attempt.
func (r *Role) Fails(failed int) bool { return r.MinFailed >= 0 && failed >= max(1, r.MinFailed) }

// Tally counts the processes of a role that have ended by themselves.
type Tally struct{ Succeeded, Failed int }

// Over reports whether an attempt is over: a role has its MinSucceeded, or all processes have ended, except those of
// roles that serve.
func (s *Spec) Over(ended map[string]Tally) bool {
	all := true
	for _, r := range s.Roles {
		t := ended[r.Name]
		if r.MinSucceeded > 0 && t.Succeeded >= r.MinSucceeded {
			return true
		}
		all = all && (s.Serves(r.Name) || t.Succeeded+t.Failed == r.Replicas)
	}
	return all
}

// PortCount returns the number of ports of a process, with the one of its endpoint. OpenPAI gives two to each: http, which is
// the endpoint here, and ssh.
func (r *Role) PortCount() int {
	n := 2
	for _, p := range r.Ports {
		n += p.Count
	}
	return n
}

// taskRole matches the names of task roles that can also be labels in Kubernetes and parts of file names.
var taskRole = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._]*[A-Za-z0-9])?$`)

// maxPorts bounds the ports of a process.
const maxPorts = 1000

// checkPAI checks what only jobs of OpenPAI have.
func (s *Spec) checkPAI() error {
	names := map[string]bool{}
	for _, r := range s.Roles {
		bad := func(field string, value any, format string, args ...any) error {
			return &SpecError{r.Name + "." + field, fmt.Sprint(value), fmt.Sprintf(format, args...)}
		}
		switch {
		case len(r.Name) > maxName || !taskRole.MatchString(r.Name):
			return &SpecError{"roles", r.Name, "the name of a task role has at most 63 letters, digits, '.' and '_', and begins and ends with a letter or a digit"}
		case names[r.Name]:
			return &SpecError{"roles", r.Name, "it is there twice"}
		case r.MinFailed > r.Replicas:
			return bad("min_failed", r.MinFailed, "the role has only %d tasks", r.Replicas)
		case r.MinSucceeded < 0 || r.MinSucceeded > r.Replicas:
			return bad("min_succeeded", r.MinSucceeded, "a number from 0 to %d is needed", r.Replicas)
		case r.PortCount() > maxPorts:
			return bad("ports", r.PortCount(), "at most %d ports are possible", maxPorts)
		}
		names[r.Name] = true
		for _, p := range r.Ports {
			if !portLabel.MatchString(p.Label) || p.Count < 1 || p.First < 0 || p.First+p.Count > 1<<16 {
				return bad("ports", p.Label, "a label of letters, digits, '-', '.' and '_' and numbers from 1 to 65535 are needed")
			}
		}
	}
	return nil
}

var portLabel = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
