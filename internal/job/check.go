package job

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// SpecError is a value of a Spec that is not allowed. Its Kind is Invalid.
type SpecError struct {
	Field string // as JSON names it: "name", "trainer.memory"
	Value string
	Text  string // what is wrong, and what would be right
}

func (e *SpecError) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Text
	}
	return fmt.Sprintf("%s %.80q: %s", e.Field, e.Value, e.Text)
}

// Unwrap makes pfs.KindOf return Invalid.
func (e *SpecError) Unwrap() error { return pfs.Invalid }

// The limits of a Spec.
const (
	maxReplicas = 10000
	maxAttempts = 100
	maxOutputs  = 100
	minMemory   = 4 << 20  // less does not start a process
	maxSpec     = 48 << 10 // bytes as JSON, so that a request and a ConfigMap can hold it
)

// Check returns a SpecError for the first value of s that is not allowed.
func (s *Spec) Check() error {
	bad := func(field, value, format string, args ...any) error {
		return &SpecError{field, value, fmt.Sprintf(format, args...)}
	}
	if reason := CheckName(s.Name); reason != "" {
		return bad("name", s.Name, "%s", reason)
	}
	if reason := pfs.CheckName(s.User); reason != "" {
		return bad("user", s.User, "%s", reason)
	}
	if reason := pfs.CheckName(s.Datacenter); reason != "" {
		return bad("datacenter", s.Datacenter, "%s", reason)
	}
	if s.Package != "" || s.PAI == nil {
		if err := checkPath("package", s.Package); err != nil {
			return err
		}
	}
	switch {
	case s.PAI == nil && strings.TrimSpace(s.Entry) == "":
		return bad("entry", "", "a command is needed, such as \"python train.py\"")
	case strings.ContainsRune(s.Entry, 0):
		return bad("entry", s.Entry, "a NUL is not allowed")
	case s.Topology != "" && !isRelative(s.Topology):
		return bad("topology", s.Topology, "a file in the package is needed, as a relative path without \"..\"")
	case s.Tool != "" && !toolName.MatchString(s.Tool):
		return bad("tool", s.Tool, "it is not the name of a command")
	case s.Passes < 1:
		return bad("passes", fmt.Sprint(s.Passes), "at least 1 is needed")
	case strings.ContainsAny(s.Image, " \t\n"):
		return bad("image", s.Image, "an image has no spaces: REGISTRY/NAME:TAG")
	case s.Registry != "" && CheckName(s.Registry) != "":
		return bad("registry", s.Registry, "%s", CheckName(s.Registry))
	case s.MaxAttempts < 1 || s.MaxAttempts > maxAttempts:
		return bad("max_attempts", fmt.Sprint(s.MaxAttempts), "a number from 1 to %d is needed", maxAttempts)
	case s.PAI != nil && s.Restart != RestartJob:
		return bad("restart", string(s.Restart), "a job of OpenPAI starts again as a whole: it is %q", RestartJob)
	case s.Restart != RestartJob && s.Restart != RestartRank:
		return bad("restart", string(s.Restart), "it is %q or %q", RestartJob, RestartRank)
	case s.TimeLimit < 0:
		return bad("time_limit", s.TimeLimit.String(), "it cannot be negative")
	case s.UploadWait < 0:
		return bad("upload_wait", s.UploadWait.String(), "it cannot be negative")
	}
	if b, err := json.Marshal(s); err != nil || len(b) > maxSpec {
		return bad("entry", s.Entry, "the job takes %d bytes, and at most %d are allowed: put long commands and variables into a script in the package", len(b), maxSpec)
	}
	if err := s.checkRoles(); err != nil {
		return err
	}
	for name := range s.Env {
		if reason := checkEnv(name); reason != "" {
			return bad("env", name, "%s", reason)
		}
		if strings.ContainsRune(s.Env[name], 0) {
			return bad("env", name, "a NUL in the value is not allowed")
		}
	}
	for _, p := range s.Inputs {
		if err := checkPath("inputs", p); err != nil {
			return err
		}
	}
	if err := s.checkOutputs(); err != nil {
		return err
	}
	for i, c := range s.Claims {
		switch same := func(o Claim) bool { return o.Dir == c.Dir }; {
		case !isSubdomain(c.Name):
			return bad("claims", c.Name, "it is not the name of a claim: lower-case letters, digits, '-' and '.'")
		case !path.IsAbs(c.Dir) || path.Clean(c.Dir) != c.Dir || c.Dir == "/" || strings.ContainsAny(c.Dir, ":\x00"):
			return bad("claims", c.Dir, "an absolute path is needed, such as /data")
		case slices.ContainsFunc(s.Claims[:i], same):
			return bad("claims", c.Dir, "there is another claim")
		}
	}
	for name, value := range s.NodeSelector {
		if !isLabelKey(name) || value != "" && !isLabel(value) {
			return bad("node_selector", name+"="+value, "it is not a label of a machine: KEY=VALUE, with letters, digits, '-', '_' and '.'")
		}
	}
	return nil
}

// Names as Kubernetes has them. Patterns with the lengths in them would take a quarter of the start of every paddlectl.
var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	label     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
)

func isSubdomain(name string) bool { return len(name) <= 253 && subdomain.MatchString(name) }

func isLabel(name string) bool { return len(name) <= 63 && label.MatchString(name) }

// isLabelKey reports whether key is the name of a label, which a subdomain may precede.
func isLabelKey(key string) bool {
	before, name, two := strings.Cut(key, "/")
	return !two && isLabel(key) || two && isSubdomain(before) && isLabel(name)
}

func (s *Spec) checkRoles() error {
	if s.PAI != nil && len(s.Roles) > 0 {
		if err := s.checkPAI(); err != nil {
			return err
		}
	} else if len(s.Roles) == 0 || s.Roles[0].Name != Trainer || len(s.Roles) > 2 || len(s.Roles) == 2 && s.Roles[1].Name != Pserver {
		return &SpecError{"roles", "", "trainers are needed, and parameter servers may follow"}
	}
	for _, r := range s.Roles {
		switch {
		case s.PAI != nil && strings.TrimSpace(r.Entry) == "" || strings.ContainsRune(r.Entry, 0):
			return &SpecError{r.Name + ".entry", r.Entry, "a command without NUL is needed"}
		case r.Replicas < 1 || r.Replicas > maxReplicas:
			return &SpecError{r.Name + ".replicas", fmt.Sprint(r.Replicas), fmt.Sprintf("a number from 1 to %d is needed", maxReplicas)}
		case r.CPU < 1:
			return &SpecError{r.Name + ".cpu", FormatCPU(r.CPU), "more than 0 is needed, such as 1 or 500m"}
		case r.GPU < 0:
			return &SpecError{r.Name + ".gpu", fmt.Sprint(r.GPU), "it cannot be negative"}
		case r.Memory < minMemory:
			return &SpecError{r.Name + ".memory", FormatMemory(r.Memory), "at least 4Mi is needed; a number without a unit is bytes: write 1Gi or 512Mi"}
		}
	}
	return nil
}

// ReservedOutputs are the names that outputs cannot have, because package output writes markers, the manifest and other files
// under them.
var ReservedOutputs = []string{"_SUCCESS", "_FAILED", "_INCOMPLETE", "_MANIFEST", "_UPLOADING", "restarts"}

// checkOutputs refuses output directories that could not be uploaded. Their last elements are names at the store.
func (s *Spec) checkOutputs() error {
	if len(s.Outputs) > maxOutputs {
		return &SpecError{"outputs", "", fmt.Sprintf("%d directories; a job can have %d", len(s.Outputs), maxOutputs)}
	}
	seen := map[string]string{}
	for _, dir := range s.Outputs {
		base := path.Base(dir)
		other, twice := seen[base]
		seen[base] = dir
		reason := ""
		switch {
		case !path.IsAbs(dir) || path.Clean(dir) == "/" || !isRelative(dir[1:]):
			reason = "the absolute path of a directory is needed, without \"..\""
		case pfs.CheckName(base) != "":
			reason = pfs.CheckName(base)
		case slices.Contains(ReservedOutputs, base):
			reason = "outputs cannot have this name: " + strings.Join(ReservedOutputs, ", ") + " are used beside them"
		case twice:
			reason = fmt.Sprintf("%q has the same last element, so the outputs of both would have the same names", other)
		}
		if reason != "" {
			return &SpecError{"outputs", dir, reason}
		}
	}
	return nil
}

// checkPath refuses a path that is not on a service.
func checkPath(field string, p pfs.Path) error {
	if _, err := pfs.ParsePath(string(p)); err != nil || !p.Within("/pfs") || p == "/pfs" {
		return &SpecError{field, string(p), "a path on the service is needed: /pfs/DATACENTER/home/USER/..."}
	}
	return nil
}

// isRelative reports whether name is a relative path that stays below its start.
func isRelative(name string) bool {
	return name != "" && !path.IsAbs(name) && !slices.Contains(strings.Split(name, "/"), "..") && !strings.ContainsRune(name, 0)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// The variables that engines set: their names, and what names begin with.
var (
	engineEnv = []string{"PADDLE_CURRENT_ENDPOINT", "PADDLE_PORT", "PADDLE_JOB_NAME", "PADDLE_TRAINING_ROLE", "TRAINING_ROLE", "TRAINER_ID", "TRAINERS", "PSERVERS",
		"TRAINER_PACKAGE", "TOPOLOGY", "ENTRY", "POD_IP"}
	engineEnvs = []string{"PFS_", "PADDLE_INIT_", "PADDLE_CLOUD_", "PADDLE_TRAINER", "PADDLE_PSERVER"}
)

var toolName = regexp.MustCompile(`^[a-z-]+$`)

// checkEnv explains why a user may not set the variable name; "" if the user may.
func checkEnv(name string) string {
	switch {
	case !envName.MatchString(name):
		return "it is not the name of a variable: letters, digits and '_', not beginning with a digit"
	case slices.Contains(engineEnv, name), slices.ContainsFunc(engineEnvs, func(begin string) bool { return strings.HasPrefix(name, begin) }):
		return "the engine sets this variable"
	}
	return ""
}
