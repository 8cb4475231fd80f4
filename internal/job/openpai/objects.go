package openpai

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// nameOf returns the name in OpenPAI of an attempt: NAME__USER_HASH, where _XX stands for a byte that version 2 does not allow.
func nameOf(spec *job.Spec, attempt int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{spec.Datacenter, spec.User, spec.Name, spec.ID, strconv.Itoa(attempt)}, "\x00")))
	return escape(spec.Name) + "__" + escape(spec.User) + "_" + hex.EncodeToString(sum[:4])
}

// hashLen is the length of _HASH in the names of attempts.
const hashLen = 9

// parseName returns the user and the job of a name that nameOf may have made.
func parseName(name string) (user, of string, ok bool) {
	of, rest, ok := strings.Cut(name, "__")
	if !ok || len(rest) <= hashLen || rest[len(rest)-hashLen] != '_' {
		return "", "", false
	}
	of, ok1 := unescape(of)
	user, ok2 := unescape(rest[:len(rest)-hashLen])
	return user, of, ok1 && ok2 && job.CheckName(of) == "" && pfs.CheckName(user) == ""
}

func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '_' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), true
}

// maxNamePAI is the longest name in OpenPAI.
const maxNamePAI = 255

// filesName is the directory of a job with what OpenPAI's containers get of it, and loginName the session in it.
const (
	filesName = "openpai"
	loginName = "login"
	agentName = "pfs-agent"
)

func filesDir(spec *job.Spec) pfs.Path {
	return job.Dir(spec.Datacenter, spec.User, spec.Name).Join(filesName)
}

// port is the label of the port of a task on which its program listens.
const port = "pfs"

// secret stands for the session in the commands of version 2. OpenPAI shows nobody the secrets of a job.
const secret = "<% $secrets.login %>"

// job1 is a job of version 1.
type job1 struct {
	JobName        string            `json:"jobName"`
	Image          string            `json:"image"`
	CodeDir        string            `json:"codeDir"`
	VirtualCluster string            `json:"virtualCluster"`
	RetryCount     int               `json:"retryCount"`
	TaskRoles      []role1           `json:"taskRoles"`
	Extras         map[string]string `json:"extras"`
}

type role1 struct {
	Name         string  `json:"name"`
	TaskNumber   int     `json:"taskNumber"`
	CPUNumber    int64   `json:"cpuNumber"`
	MemoryMB     int64   `json:"memoryMB"`
	ShmMB        int64   `json:"shmMB"`
	GPUNumber    int64   `json:"gpuNumber"`
	PortList     []port1 `json:"portList"`
	Command      string  `json:"command"`
	MinFailed    *int    `json:"minFailedTaskCount"`
	MinSucceeded *int    `json:"minSucceededTaskCount"`
}

type port1 struct {
	Label      string `json:"label"`
	BeginAt    int    `json:"beginAt"`
	PortNumber int    `json:"portNumber"`
}

// job2 is a job of protocol 2.
type job2 struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Name            string            `json:"name"`
	Type            string            `json:"type"`
	Description     string            `json:"description"`
	Prerequisites   []prerequisite    `json:"prerequisites"`
	Secrets         map[string]string `json:"secrets"`
	JobRetryCount   int               `json:"jobRetryCount"`
	TaskRoles       map[string]role2  `json:"taskRoles"`
	Defaults        map[string]string `json:"defaults"`
	Extras          map[string]any    `json:"extras"`
}

type prerequisite struct {
	Name string `json:"name"`
	Type string `json:"type"`
	URI  string `json:"uri"`
}

type role2 struct {
	Instances  int              `json:"instances"`
	Completion map[string]int   `json:"completion"`
	Image      string           `json:"dockerImage"`
	Container  map[string]int64 `json:"extraContainerOptions"`
	Resources  resources2       `json:"resourcePerInstance"`
	Commands   []string         `json:"commands"`
}

type resources2 struct {
	CPU    int64          `json:"cpu"`
	Memory int64          `json:"memoryMB"`
	GPU    int64          `json:"gpu"`
	Ports  map[string]int `json:"ports"`
}

// mark is the text in the configuration of a job by which a repeated submission recognizes it.
func mark(spec *job.Spec) string { return "submission " + spec.ID }

// cluster returns the virtual cluster of a job.
func (c *Config) cluster(spec *job.Spec) string {
	if p := spec.PAI; p != nil && p.Cluster != "default" {
		return cmp.Or(spec.Queue, p.Cluster, c.VirtualCluster)
	}
	return cmp.Or(spec.Queue, c.VirtualCluster)
}

// rules returns how many failures, and how many successes, of a role end an attempt; 0: no number does.
func rules(spec *job.Spec, r job.Role) (failures, successes int) {
	failures, successes = max(0, cmp.Or(r.MinFailed, 1)), r.MinSucceeded
	if spec.PAI == nil && !spec.Serves(r.Name) {
		successes = r.Replicas
	}
	return failures, successes
}

// ports returns the ports of a role: the one of its endpoint, and those that a job file asks for.
func ports(r job.Role) []port1 {
	list := []port1{{port, 0, 1}}
	for _, p := range r.Ports {
		if p.Label != "http" && p.Label != "ssh" { // OpenPAI gives these to every task
			list = append(list, port1{p.Label, p.First, p.Count})
		}
	}
	return list
}

// object returns the job for an attempt. One failed task ends it, and so does the success of all trainers. OpenPAI itself starts nothing
// again but what its own machines made fail.
func (c *Config) object(api string, spec *job.Spec, attempt int, login string) any {
	name, image := nameOf(spec, attempt), cmp.Or(spec.Image, c.Image)
	if api == V1 {
		j := &job1{
			JobName: name, Image: image, VirtualCluster: c.cluster(spec), CodeDir: c.codeDir(spec), Extras: map[string]string{"pfs": mark(spec)},
		}
		for _, r := range spec.Roles {
			t := role1{
				Name: r.Name, TaskNumber: r.Replicas, CPUNumber: cpus(r.CPU), MemoryMB: mib(r.Memory), ShmMB: shared(r), GPUNumber: r.GPU,
				PortList: ports(r), Command: c.command1(spec, attempt),
			}
			failures, successes := rules(spec, r)
			if failures > 0 {
				t.MinFailed = &failures
			}
			if successes > 0 {
				t.MinSucceeded = &successes
			}
			j.TaskRoles = append(j.TaskRoles, t)
		}
		return j
	}
	j := &job2{
		ProtocolVersion: 2, Name: name, Type: "job", Description: mark(spec), Secrets: map[string]string{"login": login},
		Prerequisites: []prerequisite{{"image", "dockerimage", image}}, TaskRoles: map[string]role2{},
		Defaults: map[string]string{"virtualCluster": c.cluster(spec)}, Extras: map[string]any{"submitFrom": "pfsd"},
	}
	if len(c.Storages) > 0 {
		var list []map[string]string
		for _, s := range c.Storages {
			list = append(list, map[string]string{"name": s})
		}
		j.Extras["storages"] = list
	}
	for _, r := range spec.Roles {
		failures, successes := rules(spec, r)
		t := role2{
			Instances: r.Replicas, Completion: map[string]int{"minFailedInstances": cmp.Or(failures, -1)}, Image: "image", Container: map[string]int64{"shmMB": shared(r)},
			Resources: resources2{cpus(r.CPU), mib(r.Memory), r.GPU, map[string]int{}}, Commands: []string{c.command2(spec, attempt)},
		}
		for _, p := range ports(r) {
			t.Resources.Ports[p.Label] = p.PortNumber
		}
		if successes > 0 {
			t.Completion["minSucceededInstances"] = successes
		}
		j.TaskRoles[r.Name] = t
	}
	return j
}

// OpenPAI counts in MiB and whole processors.
func mib(bytes int64) int64  { return (bytes + 1<<20 - 1) >> 20 }
func cpus(milli int64) int64 { return (milli + 999) / 1000 }

// shared returns the shared memory of a role in MiB.
func shared(r job.Role) int64 { return max(1, mib(cmp.Or(r.SharedMemory, r.Memory/2))) }

// codeDir returns the URI of the files of a job for OpenPAI, version 1.
func (c *Config) codeDir(spec *job.Spec) string {
	return c.CodeURI + strings.TrimPrefix(string(filesDir(spec)), "/pfs/"+spec.Datacenter)
}

// taskCommand returns the command of pfs-agent for a task.
func (c *Config) taskCommand(agent string, spec *job.Spec, attempt int, login, dir string) string {
	words := []string{agent, "task", "--service=" + c.Service}
	if c.Fingerprint != "" {
		words = append(words, "--fingerprint="+c.Fingerprint)
	}
	words = append(words, "--job="+string(job.Dir(spec.Datacenter, spec.User, spec.Name)), "--attempt="+strconv.Itoa(attempt), "--login="+login, "--dir="+dir)
	return strings.Join(words, " ")
}

// command1 returns the command of a task in version 1. OpenPAI has copied the code directory to the working directory.
func (c *Config) command1(spec *job.Spec, attempt int) string {
	login := filesName + "/" + loginName
	if c.AgentFile == "" {
		return "exec " + c.taskCommand(c.Agent, spec, attempt, login, "pfs-job")
	}
	agent := filesName + "/" + agentName
	return "chmod +x " + agent + " && exec " + c.taskCommand("./"+agent, spec, attempt, login, "pfs-job")
}

// command2 returns the command of a task in version 2.
func (c *Config) command2(spec *job.Spec, attempt int) string {
	const missing = `{ echo "the container has no %[1]s: put it into the image, or have the administrator set the option agent" >&2; exit 127; }`
	return fmt.Sprintf("command -v %[1]s >/dev/null || "+missing+"; umask 077; d=$(mktemp -d) && printf %%s '%[2]s' > $d/login && exec %[3]s",
		c.Agent, secret, c.taskCommand(c.Agent, spec, attempt, "$d/login", "$d"))
}
