package jobtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// OpenPAI is a server with the REST API of OpenPAI: version 1, as in OpenPAI 0.9 to 0.13, or version 2. With Dir it runs the
// tasks of jobs as processes; without Dir, only Set changes their states. Its errors have the codes and texts of OpenPAI.
type OpenPAI struct {
	API      string // "v1" or "v2"
	User     string
	Password string
	Token    string   // of an application; optional
	Clusters []string // virtual
	Dir      string   // of running tasks, or empty
	Stores   string   // the local directory that PAI_DEFAULT_FS_URI names
	Path     string   // has pfs-agent

	// Refuse, if not nil, answers a request in place of the server if it returns true.
	Refuse func(w http.ResponseWriter, r *http.Request) bool
	// Lose, if not nil, reports whether the answer to a request is lost.
	Lose func(r *http.Request) bool

	mu      sync.Mutex
	logins  int
	jobs    map[string]*paiJob
	created []string
	running sync.WaitGroup
}

// paiJob is a job of OpenPAI.
type paiJob struct {
	name, state string
	config      []byte
	roles       []paiRole
	codeDir     string
	exit        *int
	trigger     string
	stopped     bool
	begun       time.Time
}

type paiRole struct {
	name, command string
	tasks         []*paiTask
	minFailed     int
	minSucceeded  int // 0: all
}

type paiTask struct {
	state string
	code  *int
	port  int
	cmd   *exec.Cmd
	log   string
}

// Start serves o, and returns its address. The caller closes the server.
func (o *OpenPAI) Start() *httptest.Server {
	o.jobs = map[string]*paiJob{}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.Refuse != nil && o.Refuse(w, r) {
			return
		}
		if o.Lose != nil && o.Lose(r) {
			o.serve(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		o.serve(w, r)
	}))
}

// Close ends the tasks of all jobs.
func (o *OpenPAI) Close() {
	o.mu.Lock()
	for _, j := range o.jobs {
		j.stop(syscall.SIGKILL)
	}
	o.mu.Unlock()
	o.running.Wait()
}

// Expire makes all tokens of logins invalid.
func (o *OpenPAI) Expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.logins += 1000
}

// Created returns the names of all jobs in the order of their creation.
func (o *OpenPAI) Created() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.created)
}

// Config returns the configuration of a job as it was submitted.
func (o *OpenPAI) Config(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.jobs[name].config)
}

// Set changes the state of a job, and of all its tasks, which end with code.
func (o *OpenPAI) Set(name, state string, code int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	j := o.jobs[name]
	j.state = state
	for _, r := range j.roles {
		for _, t := range r.tasks {
			t.state, t.code = state, nil
			if isOver(state) {
				t.code, j.exit = &code, &code
			}
		}
	}
}

// Remove forgets a job.
func (o *OpenPAI) Remove(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.jobs, name)
}

func isOver(state string) bool {
	return state == "SUCCEEDED" || state == "FAILED" || state == "STOPPED"
}

// answer writes JSON.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Fail writes an error as OpenPAI does.
func Fail(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]string{"code": code, "message": message})
}

func (o *OpenPAI) serve(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/api/"+o.API)
	v1 := o.API == "v1"
	noAPI := func() { Fail(w, 404, "NoApiError", "API "+r.URL.Path+" is not found.") }
	if !ok && !strings.HasPrefix(r.URL.Path, "/log-manager/") {
		noAPI()
		return
	}
	if path == "/token" && v1 || path == "/authn/basic/login" && !v1 {
		o.login(w, r)
		return
	}
	if path == "/info" && !v1 {
		answer(w, 200, map[string]string{"name": "PAI RESTful API", "version": "v1.8.0", "launcherType": "k8s"})
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if (token == "" || token != o.Token) && token != fmt.Sprint("login-", o.logins) {
		Fail(w, 401, "UnauthorizedUserError", "Your token is invalid.")
		return
	}
	switch {
	case path == "/virtual-clusters":
		all := map[string]any{}
		for _, c := range o.Clusters {
			all[c] = map[string]any{"capacity": 100, "usedCapacity": 1}
		}
		answer(w, 200, all)
		return
	case v1 && path == "/user/"+o.User+"/jobs" || !v1 && path == "/jobs":
		if r.Method == http.MethodPost {
			o.create(w, r)
			return
		}
		list := []map[string]any{}
		for _, j := range o.jobs {
			list = append(list, map[string]any{"name": o.fullName(j.name), "username": o.User, "state": j.state})
		}
		answer(w, 200, list)
		return
	}
	rest, ok := strings.CutPrefix(path, "/user/"+o.User+"/jobs/")
	if !v1 {
		rest, ok = strings.CutPrefix(path, "/jobs/"+o.User+"~")
	}
	if strings.HasPrefix(r.URL.Path, "/log-manager/") {
		rest, ok = strings.CutPrefix(r.URL.Path, "/log-manager/10.0.0.1:9103/")
	}
	name, rest, _ := strings.Cut(rest, "/")
	j := o.jobs[name]
	switch {
	case !ok:
		noAPI()
	case j == nil:
		Fail(w, 404, "NoJobError", "Job "+o.fullName(name)+" is not found.")
	case rest == "" && r.Method == http.MethodGet:
		answer(w, 200, o.detail(j))
	case rest == "config":
		_, _ = w.Write(j.config)
	case rest == "executionType" && r.Method == http.MethodPut:
		j.stopped = true
		if o.Dir == "" && !isOver(j.state) {
			j.state = "STOPPED"
		}
		j.stop(syscall.SIGTERM)
		answer(w, 202, map[string]any{"status": 202, "message": "Execute job " + name + " successfully."})
	case rest == "log":
		for _, role := range j.roles {
			text, _ := os.ReadFile(role.tasks[0].log)
			_, _ = w.Write(text)
		}
	case strings.HasSuffix(rest, "/logs") && !v1:
		answer(w, 200, map[string]any{"locations": []map[string]string{{"name": "all", "uri": "/log-manager/10.0.0.1:9103/" + name + "/log"}}})
	default:
		noAPI()
	}
}

func (o *OpenPAI) fullName(name string) string {
	if o.API == "v1" {
		return name
	}
	return o.User + "~" + name
}

func (o *OpenPAI) login(w http.ResponseWriter, r *http.Request) {
	var q struct{ Username, Password string }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		Fail(w, 400, "InvalidParametersError", err.Error())
		return
	}
	switch {
	case q.Username != o.User:
		Fail(w, 400, "NoUserError", "User "+q.Username+" is not found.")
	case q.Password != o.Password:
		Fail(w, 400, "IncorrectPassworkError", "Password is incorrect.")
	default:
		o.logins++
		answer(w, 200, map[string]any{"token": fmt.Sprint("login-", o.logins), "user": o.User, "admin": false})
	}
}

var (
	name1 = regexp.MustCompile(`^[A-Za-z0-9\-._~]+$`)
	name2 = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,255}$`)
	role1 = regexp.MustCompile(`^[A-Za-z0-9._~]+$`)
	role2 = regexp.MustCompile(`^[a-zA-Z_]\w*$`)
)

// create checks and creates a job.
func (o *OpenPAI) create(w http.ResponseWriter, r *http.Request) {
	var q struct {
		JobName, Name, Type, VirtualCluster, CodeDir, Image string
		ProtocolVersion                                     int
		Secrets                                             map[string]string
		Defaults                                            struct{ VirtualCluster string }
		TaskRoles                                           json.RawMessage
	}
	var raw json.RawMessage
	err := json.NewDecoder(r.Body).Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, &q)
	}
	j := &paiJob{state: "WAITING", config: raw, codeDir: q.CodeDir, begun: time.Now()}
	switch {
	case err != nil:
	case o.API == "v1":
		j.name = q.JobName
		err = o.roles1(j, q.TaskRoles)
		if err == nil && (!name1.MatchString(j.name) || q.Image == "") {
			err = fmt.Errorf("child \"jobName\" fails")
		}
	default:
		j.name, q.VirtualCluster = q.Name, q.Defaults.VirtualCluster
		err = o.roles2(j, q.TaskRoles, q.Secrets)
		if err == nil && (!name2.MatchString(j.name) || q.ProtocolVersion != 2 || q.Type != "job") {
			err = fmt.Errorf(".name should match pattern")
		}
		j.config = regexp.MustCompile(`"secrets":\{[^}]*\}`).ReplaceAll(j.config, []byte(`"secrets":"******"`))
	}
	kind := map[string]string{"v1": "application/json", "v2": "text/yaml"}[o.API]
	switch {
	case r.Header.Get("Content-Type") != kind:
		Fail(w, 400, "InvalidParametersError", "the body is not "+kind)
	case err != nil && o.API == "v1":
		Fail(w, 400, "InvalidParametersError", err.Error())
	case err != nil:
		answer(w, 400, map[string]any{"code": "InvalidProtocolError", "message": []map[string]string{{"message": err.Error()}}})
	case o.jobs[j.name] != nil:
		Fail(w, 409, "ConflictJobError", "Job name "+j.name+" already exists.")
	case !slices.Contains(o.Clusters, q.VirtualCluster):
		Fail(w, 400, "NoVirtualClusterError", "Virtual cluster "+q.VirtualCluster+" is not found.")
	default:
		o.jobs[j.name] = j
		o.created = append(o.created, j.name)
		if o.Dir != "" {
			o.start(j)
		}
		answer(w, 202, map[string]any{"status": 202, "message": "Update job " + j.name + " successfully."})
	}
}

func (o *OpenPAI) roles1(j *paiJob, text []byte) error {
	var roles []struct {
		Name, Command              string
		TaskNumber                 int
		CPUNumber, MemoryMB, ShmMB int
		MinSucceededTaskCount      *int
		MinFailedTaskCount         *int
		PortList                   []struct{ Label string }
	}
	if err := json.Unmarshal(text, &roles); err != nil {
		return err
	}
	for _, q := range roles {
		if !role1.MatchString(q.Name) || q.TaskNumber < 1 || q.CPUNumber < 1 || q.MemoryMB < 1 || q.ShmMB > q.MemoryMB || q.Command == "" {
			return fmt.Errorf("child \"taskRoles\" fails because [%s]", q.Name)
		}
		r := paiRole{name: q.Name, command: q.Command}
		if q.MinFailedTaskCount != nil {
			r.minFailed = *q.MinFailedTaskCount
		}
		if q.MinSucceededTaskCount != nil {
			r.minSucceeded = *q.MinSucceededTaskCount
		}
		r.add(q.TaskNumber)
		j.roles = append(j.roles, r)
	}
	return nil
}

func (o *OpenPAI) roles2(j *paiJob, text []byte, secrets map[string]string) error {
	var roles map[string]struct {
		Instances           int
		Completion          struct{ MinFailedInstances, MinSucceededInstances int }
		ResourcePerInstance struct{ CPU, MemoryMB, GPU int }
		Commands            []string
	}
	if err := json.Unmarshal(text, &roles); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		q := roles[name]
		if !role2.MatchString(name) || q.Instances < 1 || q.ResourcePerInstance.CPU < 1 || q.ResourcePerInstance.MemoryMB < 1 || len(q.Commands) == 0 {
			return fmt.Errorf(".taskRoles['%s'] should have required properties", name)
		}
		command := regexp.MustCompile(`<%\s*\$secrets\.(\w+)\s*%>`).ReplaceAllStringFunc(strings.Join(q.Commands, " && "), func(m string) string {
			return secrets[strings.Trim(strings.TrimPrefix(strings.Trim(m, "<%> "), "$secrets."), " ")]
		})
		r := paiRole{name: name, command: command, minFailed: q.Completion.MinFailedInstances, minSucceeded: q.Completion.MinSucceededInstances}
		r.add(q.Instances)
		j.roles = append(j.roles, r)
	}
	return nil
}

func (r *paiRole) add(n int) {
	for range n {
		r.tasks = append(r.tasks, &paiTask{state: "WAITING"})
	}
}

// detail is the answer to a request for a job.
func (o *OpenPAI) detail(j *paiJob) any {
	roles := map[string]any{}
	for _, r := range j.roles {
		var tasks []map[string]any
		for i, t := range r.tasks {
			q := map[string]any{"taskIndex": i, "taskState": t.state, "containerId": "c", "containerIp": "10.0.0.1", "containerPorts": map[string]any{"pfs": t.port}, "containerExitCode": t.code,
				"containerLog": "http://10.0.0.1:8042/node/containerlogs/container_1/" + o.User + "/"}
			if o.API == "v2" {
				q["attemptId"], q["launchedTime"], q["completedTime"] = 0, j.begun.UnixMilli(), nil
			}
			tasks = append(tasks, q)
		}
		roles[r.name] = map[string]any{"taskRoleStatus": map[string]string{"name": r.name}, "taskStatuses": tasks}
	}
	s := map[string]any{"username": o.User, "state": j.state, "subState": "", "retries": 0, "createdTime": j.begun.UnixMilli(), "completedTime": 0, "appExitCode": j.exit,
		"appLaunchedTime": j.begun.UnixMilli(), "appExitDiagnostics": nil, "appExitType": nil, "virtualCluster": o.Clusters[0]}
	if j.trigger != "" {
		role, index, _ := strings.Cut(j.trigger, "-")
		n, _ := strconv.Atoi(index)
		s["appExitTriggerTaskRoleName"], s["appExitTriggerTaskIndex"] = role, n
		s["appExitSpec"] = map[string]string{"phrase": "UserFailed"}
	}
	if o.API == "v2" {
		s["attemptId"] = 0
	}
	return map[string]any{"name": o.fullName(j.name), "jobStatus": s, "taskRoles": roles}
}

// start runs the tasks of a job.
func (o *OpenPAI) start(j *paiJob) {
	j.state = "RUNNING"
	env := []string{"HOME=" + o.Dir, "PATH=" + o.Path + ":" + os.Getenv("PATH"), "PAI_DEFAULT_FS_URI=", "PAI_USER_NAME=" + o.User, "PAI_JOB_NAME=" + o.fullName(j.name)}
	for _, r := range j.roles {
		var hosts []string
		for i, t := range r.tasks {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			t.port = l.Addr().(*net.TCPAddr).Port
			l.Close()
			hosts = append(hosts, "127.0.0.1:1")
			if o.API == "v1" { // as before 0.14
				env = append(env, fmt.Sprintf("PAI_%s_%d_pfs_PORT=%d", r.name, i, t.port))
			} else {
				env = append(env, fmt.Sprintf("PAI_HOST_IP_%s_%d=127.0.0.1", r.name, i), fmt.Sprintf("PAI_PORT_LIST_%s_%d_pfs=%d", r.name, i, t.port))
			}
		}
		if o.API == "v1" {
			env = append(env, "PAI_TASK_ROLE_"+r.name+"_HOST_LIST="+strings.Join(hosts, ","))
		}
	}
	for _, r := range j.roles {
		for i, t := range r.tasks {
			dir := filepath.Join(o.Dir, j.name, r.name+"-"+strconv.Itoa(i))
			err := os.MkdirAll(dir, 0o755)
			if err == nil && o.API == "v1" && j.codeDir != "" {
				code := strings.Replace(j.codeDir, "$PAI_DEFAULT_FS_URI", o.Stores, 1)
				err = os.CopyFS(filepath.Join(dir, filepath.Base(code)), os.DirFS(code))
			}
			if err != nil {
				panic(err)
			}
			t.log = dir + ".log"
			out, err := os.Create(t.log)
			if err != nil {
				panic(err)
			}
			t.cmd = exec.Command("bash", "-c", r.command)
			t.cmd.Dir, t.cmd.Stdout, t.cmd.Stderr = dir, out, out
			t.cmd.Env = append(slices.Clone(env), "PAI_CURRENT_TASK_ROLE_NAME="+r.name, "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX="+strconv.Itoa(i))
			t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := t.cmd.Start(); err != nil {
				panic(err)
			}
			t.state = "RUNNING"
			cmd := t.cmd
			o.running.Go(func() {
				_ = cmd.Wait()
				out.Close()
				o.mu.Lock()
				defer o.mu.Unlock()
				o.ended(j, &r, i)
			})
		}
	}
}

// ended notes the end of a task, and ends the job if its policy says so.
func (o *OpenPAI) ended(j *paiJob, r *paiRole, index int) {
	t := r.tasks[index]
	code := t.cmd.ProcessState.ExitCode()
	t.code, t.state, t.cmd = &code, "SUCCEEDED", nil
	failures := 0
	for _, t := range r.tasks {
		if t.cmd == nil && t.code != nil && *t.code != 0 {
			failures++
		}
	}
	if code != 0 {
		t.state = "FAILED"
		if r.minFailed > 0 && failures >= r.minFailed && j.trigger == "" && !j.stopped && j.exit == nil {
			j.trigger, j.exit = r.name+"-"+strconv.Itoa(index), &code
			j.stop(syscall.SIGTERM)
		}
	}
	succeeded, left := 0, 0
	for _, other := range j.roles {
		for _, t := range other.tasks {
			if t.cmd != nil {
				left++
			} else if other.name == r.name && t.state == "SUCCEEDED" {
				succeeded++
			}
		}
	}
	if j.exit == nil && !j.stopped && r.minSucceeded > 0 && succeeded >= r.minSucceeded {
		zero := 0
		j.exit = &zero
		j.stop(syscall.SIGTERM)
	}
	switch {
	case left > 0:
	case j.stopped:
		j.state = "STOPPED"
	case j.exit != nil && *j.exit != 0:
		j.state = "FAILED"
	default:
		j.state = "SUCCEEDED"
	}
}

// stop sends a signal to all tasks.
func (j *paiJob) stop(s syscall.Signal) {
	for _, r := range j.roles {
		for _, t := range r.tasks {
			if t.cmd != nil {
				_ = syscall.Kill(-t.cmd.Process.Pid, s)
			}
		}
	}
}
