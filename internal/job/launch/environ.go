package launch

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
)

// Rank describes one process of a job. Its environment is made from it.
type Rank struct {
	Spec    *job.Spec
	Role    string
	Index   int
	Attempt int
	Restart int // how often the rank was restarted in place

	Trainers, Pservers []string // HOST:PORT of all, by index. With Spec.PAI all processes are in Trainers, role by role

	Package string      // the local directory of the package
	Root    string      // the directory that has the tree /pfs; empty if there is none
	Tools   string      // the program paddlectl, which runs Spec.Tool; empty: the entry runs
	Inputs  string      // the directory that has the staged inputs under their paths below /pfs; empty if there are none
	JobRoot string      // the directory with trainer_id and trainer_count; "/" in a pod
	Dir     job.RankDir // for outputs and logs
	OnPAI   bool        // the process is a task of OpenPAI, whose variables are those of its ports
}

// endpoint returns the rank's own HOST:PORT.
func (r *Rank) endpoint() string {
	of, index := r.Trainers, r.number()
	if r.Spec.Serves(r.Role) {
		of = r.Pservers
	}
	if index < len(of) {
		return of[index]
	}
	return ""
}

// number returns the index of the process among the trainers, or among the parameter servers.
func (r *Rank) number() int {
	n := r.Index
	for _, role := range r.Spec.Roles {
		if r.Spec.PAI == nil || role.Name == r.Role {
			break
		}
		n += role.Replicas
	}
	return n
}

// role returns the role of the process.
func (r *Rank) role() job.Role {
	for _, role := range r.Spec.Roles {
		if role.Name == r.Role {
			return role
		}
	}
	return job.Role{}
}

// entry returns the command for a shell.
func (r *Rank) entry() string { return cmp.Or(r.role().Entry, r.Spec.Entry) }

// Environ returns the environment of the entry: base, the variables of the user, and the variables of
// PaddlePaddle's clusters since 2017. Later variables replace earlier ones.
func (r *Rank) Environ(base []string) []string {
	env := map[string]string{}
	for _, kv := range base {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	maps.Copy(env, r.Spec.Env)
	maps.Copy(env, r.variables())
	if r.Spec.PAI != nil {
		for name, value := range r.paiVariables(env) {
			if _, real := env[name]; !real || !r.OnPAI || ownPAI[name] {
				env[name] = value
			}
		}
	}
	if r.Package != "" && r.Spec.PAI == nil {
		env["PYTHONPATH"] = strings.TrimSuffix(r.Package+":"+env["PYTHONPATH"], ":")
	}
	list := make([]string, 0, len(env))
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
}

func (r *Rank) variables() map[string]string {
	s, n := r.Spec, strconv.Itoa
	host, port, _ := net.SplitHostPort(r.endpoint())
	own := r.role()
	useGPU, devices := 0, max(1, own.CPU/1000)
	if own.GPU > 0 {
		useGPU, devices = 1, own.GPU
	}
	role, number := strings.ToUpper(job.Trainer), n(r.number())
	if s.Serves(r.Role) {
		role = strings.ToUpper(job.Pserver)
	}
	env := map[string]string{
		// Of this project.
		"PFS_OUTPUT":   r.Dir.Output(),
		"PFS_JOB_ROOT": r.JobRoot,
		"PFS_ROLE":     r.Role,
		"PFS_INDEX":    n(r.Index),
		"PFS_ATTEMPT":  n(r.Attempt),
		"PFS_RESTART":  n(r.Restart),

		// Since 2017.
		"PADDLE_JOB_NAME":                  s.Name,
		"PADDLE_CLOUD_CURRENT_DATACENTER":  s.Datacenter,
		"PADDLE_CLOUD_USERNAME":            s.User,
		"TRAINERS":                         n(len(r.Trainers)),
		"PSERVERS":                         n(len(r.Pservers)),
		"TOPOLOGY":                         s.Topology,
		"ENTRY":                            r.entry(),
		"TRAINER_PACKAGE":                  r.Package,
		"PADDLE_INIT_PORT":                 port,
		"PADDLE_INIT_PORTS_NUM":            "1",
		"PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "1",
		"PADDLE_INIT_TRAINER_COUNT":        strconv.FormatInt(devices, 10),
		"PADDLE_INIT_NUM_GRADIENT_SERVERS": n(len(r.Trainers)),
		"PADDLE_INIT_TRAINER_ID":           number,
		"PADDLE_INIT_NUM_PASSES":           n(s.Passes),
		"PADDLE_INIT_USE_GPU":              n(useGPU),
		"PADDLE_INIT_PSERVERS":             hosts(r.Pservers),

		// Since 2020.
		"POD_IP":                       host,
		"PADDLE_PORT":                  port,
		"TRAINER_PORTS_NUM":            "1",
		"TRAINING_ROLE":                role,
		"PADDLE_TRAINING_ROLE":         role,
		"PADDLE_TRAINER_ID":            number,
		"PADDLE_TRAINERS":              hosts(r.Trainers),
		"PADDLE_TRAINERS_NUM":          n(len(r.Trainers)),
		"PADDLE_TRAINER_ENDPOINTS":     strings.Join(r.Trainers, ","),
		"PADDLE_CURRENT_ENDPOINT":      r.endpoint(),
		"PADDLE_PSERVERS_IP_PORT_LIST": strings.Join(r.Pservers, ","),
	}
	if s.Gloo() {
		host, port, _ := net.SplitHostPort(r.Pservers[0])
		first, _ := strconv.Atoi(port)
		env["PADDLE_GLOO_RENDEZVOUS"] = cmp.Or(s.Env["PADDLE_GLOO_RENDEZVOUS"], "3") // by HTTP
		env["PADDLE_GLOO_HTTP_ENDPOINT"] = cmp.Or(s.Env["PADDLE_GLOO_HTTP_ENDPOINT"], net.JoinHostPort(host, n(first+1)))
	}
	if r.Inputs != "" {
		env["PFS_INPUTS"] = r.Inputs
	}
	if r.Root != "" {
		env["PFS_ROOT"] = r.Root
		env["PFS_JOB_DIR"] = r.Root + strings.TrimPrefix(string(job.Dir(s.Datacenter, s.User, s.Name)), "/pfs")
	}
	return env
}

// hosts returns the hosts of the endpoints.
func hosts(endpoints []string) string {
	var list []string
	for _, e := range endpoints {
		host, _, _ := net.SplitHostPort(e)
		list = append(list, host)
	}
	return strings.Join(list, ",")
}
