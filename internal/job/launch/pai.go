package launch

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
)

// ownPAI are the variables in which OpenPAI itself would name the job of an engine, and not that of the user.
var ownPAI = map[string]bool{
	"PAI_JOB_NAME": true, "PAI_FRAMEWORK_NAME": true, "PAI_USER_NAME": true, "PAI_USERNAME": true,
	"PAI_CODE_DIR": true, "PAI_DATA_DIR": true, "PAI_OUTPUT_DIR": true, "PAI_WORK_DIR": true,
}

// work returns the directory in which the commands of a job of OpenPAI begin.
func (r *Rank) work() string { return filepath.Join(string(r.Dir), "work") }

// prepare makes that directory, with a copy of the package that the process may change, as in a container of OpenPAI.
func (r *Rank) prepare() error {
	if err := os.RemoveAll(r.work()); err != nil {
		return err
	}
	to := filepath.Join(r.work(), r.Spec.PAI.CodeName)
	if err := os.MkdirAll(to, 0o755); err != nil || r.Package == "" {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(r.Package)); err != nil {
		return fmt.Errorf("the package cannot be copied for the process: %w", err)
	}
	return nil
}

// The ports of a process follow each other: http, which is that of its endpoint, ssh, and those of the role.
const (
	httpPort = "http"
	sshPort  = "ssh"
)

// portsOf returns the ports of a process by label, and the labels in order.
func portsOf(role *job.Role, endpoint string) (labels []string, ports map[string][]string) {
	_, text, _ := net.SplitHostPort(endpoint)
	next, _ := strconv.Atoi(text)
	ports = map[string][]string{}
	add := func(label string, first, count int) {
		if ports[label] == nil {
			labels = append(labels, label)
		}
		for range count {
			if first > 0 {
				ports[label] = append(ports[label], strconv.Itoa(first))
				first++
			} else {
				ports[label] = append(ports[label], strconv.Itoa(next))
			}
			next++
		}
	}
	add(httpPort, 0, 1)
	add(sshPort, 0, 1)
	for _, p := range role.Ports {
		add(p.Label, p.First, p.Count)
	}
	return labels, ports
}

// The shared memory that OpenPAI gives, in MB, where a job does not say, by protocol.
var defaultShared = map[int]int64{1: 64, 2: 512}

// paiVariables returns the variables that OpenPAI sets. Those of protocol 1 are of version 0.9, those of protocol 2 of versions
// from 0.14 on.
func (r *Rank) paiVariables(set map[string]string) map[string]string {
	s, p, n := r.Spec, r.Spec.PAI, strconv.Itoa
	env := map[string]string{"PAI_USER_NAME": s.User, "PAI_CURRENT_TASK_ROLE_NAME": r.Role, "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": n(r.Index)}
	var names []string
	tasks := 0
	for i := range s.Roles {
		role := &s.Roles[i]
		names = append(names, role.Name)
		r.roleVariables(role, tasks, env)
		tasks += role.Replicas
	}
	counts := map[string]string{"PAI_JOB_TASK_COUNT": n(tasks), "PAI_JOB_TASK_ROLE_COUNT": n(len(names)), "PAI_JOB_TASK_ROLE_LIST": strings.Join(names, ",")}
	own := r.role()
	labels, ports := portsOf(&own, r.endpoint())
	var lists strings.Builder
	for _, label := range labels {
		list := strings.Join(ports[label], ",")
		env["PAI_CONTAINER_HOST_"+label+"_PORT_LIST"] = list
		fmt.Fprintf(&lists, "%s:%s;", label, list)
	}
	host, port, _ := net.SplitHostPort(r.endpoint())
	env["PAI_CONTAINER_HOST_IP"], env["PAI_CONTAINER_HOST_PORT"], env["PAI_CONTAINER_SSH_PORT"] = host, port, strings.Join(ports[sshPort], ",")
	env["PAI_CONTAINER_HOST_PORT_LIST"] = lists.String()
	if p.Protocol == 2 {
		name := s.User + "~" + p.Name
		counts["PAI_FRAMEWORK_NAME"], counts["PAI_JOB_NAME"], counts["PAI_VIRTUAL_CLUSTER"] = name, name, p.Cluster
		counts["PAI_DEFAULT_FS_URI"] = "" // as it is there: OpenPAI has no file system of its own since then
		counts["PAI_USERNAME"], counts["PAI_TASKS_NUM"], counts["PAI_TASK_ROLES_NUM"] = s.User, n(tasks), n(len(names))
		counts["PAI_TASK_ROLE_COUNT"], counts["PAI_TASK_ROLE_LIST"] = n(len(names)), strings.Join(names, ",")
	} else {
		counts["PAI_JOB_NAME"], counts["PAI_TASK_INDEX"], counts["PAI_CONTAINER_ID"] = p.Name, n(r.Index), fmt.Sprintf("%s-%d-%s", p.Name, r.Attempt, job.WorkerName(r.Role, r.Index))
		counts["PAI_DEFAULT_FS_URI"] = r.inTree("/pfs/" + s.Datacenter + "/home")
		counts["PAI_CODE_DIR"], counts["PAI_DATA_DIR"], counts["PAI_OUTPUT_DIR"], counts["PAI_WORK_DIR"] = r.inTree(string(s.Package)), "", set["PFS_OUTPUT"], r.work()
		if p.Data != "" {
			counts["PAI_DATA_DIR"] = r.Inputs + strings.TrimPrefix(p.Data, "/pfs")
		}
		for name, value := range map[string]string{
			"TASK_COUNT": n(own.Replicas), "CPU_COUNT": n(int((own.CPU + 999) / 1000)), "MEM_MB": strconv.FormatInt(own.Memory>>20, 10), "SHM_MB": n(int(shared(&own, p))), "GPU_COUNT": strconv.FormatInt(own.GPU, 10),
			"MIN_FAILED_TASK_COUNT": bound(minFailed(&own)), "MIN_SUCCEEDED_TASK_COUNT": bound(own.MinSucceeded),
		} {
			counts["PAI_CURRENT_TASK_ROLE_"+name] = value
		}
	}
	for name, value := range counts {
		env[name] = value
	}
	return env
}

// roleVariables adds the variables about the processes of a role, whose first is the process number first of the job.
func (r *Rank) roleVariables(role *job.Role, first int, env map[string]string) {
	n, two := strconv.Itoa, r.Spec.PAI.Protocol == 2
	var hosts []string
	for i := range role.Replicas {
		if first+i >= len(r.Trainers) {
			break
		}
		endpoint := r.Trainers[first+i]
		hosts = append(hosts, endpoint)
		labels, ports := portsOf(role, endpoint)
		for _, label := range labels {
			list := strings.Join(ports[label], ",")
			env[fmt.Sprintf("PAI_%s_%d_%s_PORT", role.Name, i, label)] = list
			if two {
				env[fmt.Sprintf("PAI_PORT_LIST_%s_%d_%s", role.Name, i, label)] = list
			}
		}
		if host, _, _ := net.SplitHostPort(endpoint); two {
			env[fmt.Sprintf("PAI_HOST_IP_%s_%d", role.Name, i)] = host
		}
	}
	env["PAI_TASK_ROLE_"+role.Name+"_HOST_LIST"] = strings.Join(hosts, ",")
	if two {
		env["PAI_TASK_ROLE_TASK_COUNT_"+role.Name] = n(role.Replicas)
		env["PAI_RESOURCE_"+role.Name] = fmt.Sprintf("%d,%d,%d,%d", role.GPU, (role.CPU+999)/1000, role.Memory>>20, shared(role, r.Spec.PAI))
		env["PAI_MIN_FAILED_TASK_COUNT_"+role.Name] = n(minFailed(role))
		env["PAI_MIN_SUCCEEDED_TASK_COUNT_"+role.Name] = n(cmp.Or(role.MinSucceeded, -1))
	}
}

// shared returns the shared memory of a role in MB.
func shared(role *job.Role, p *job.PAI) int64 {
	return cmp.Or(role.SharedMemory>>20, defaultShared[p.Protocol])
}

// minFailed returns the rule of a role as the second protocol has it.
func minFailed(role *job.Role) int { return cmp.Or(role.MinFailed, 1) }

// bound returns a rule as the first protocol has it: nothing if there is none.
func bound(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// inTree returns where the process finds a path of the service: below the mount, or its name if there is none.
func (r *Rank) inTree(path string) string {
	if r.Root == "" || path == "" {
		return path
	}
	return r.Root + strings.TrimPrefix(path, "/pfs")
}
