package launch

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// TestPAI compares all variables of OpenPAI with those that its versions set.
func TestPAI(t *testing.T) {
	s := &job.Spec{
		Name: "fit-line", User: "alice", Datacenter: "dc", Package: "/pfs/dc/home/alice/code", Inputs: []pfs.Path{"/pfs/dc/home/alice/data"},
		Roles: []job.Role{
			{Name: "ps", Replicas: 1, CPU: 2000, Memory: 1 << 30, Entry: "serve"},
			{Name: "worker", Replicas: 2, CPU: 4000, GPU: 1, Memory: 8 << 30, MinSucceeded: 2, MinFailed: -1, SharedMemory: 128 << 20, Entry: "train",
				Ports: []job.Port{{Label: "rpc", Count: 2}, {Label: "web", First: 8080, Count: 1}}},
		},
		PAI: &job.PAI{Protocol: 1, Name: "fit_line", Cluster: "vc1", Data: "/pfs/dc/home/alice/data", CodeName: "fit_line"},
	}
	r := &Rank{Spec: s, Role: "worker", Index: 1, Attempt: 2, Package: "/pfs/dc/home/alice/code", Root: "/pfs", Inputs: "/in", Dir: "/rank",
		Trainers: []string{"h0:1000", "h1:1000", "h2:1000"}}
	const both = `PAI_USER_NAME=alice PAI_CURRENT_TASK_ROLE_NAME=worker PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=1
		PAI_JOB_TASK_COUNT=3 PAI_JOB_TASK_ROLE_COUNT=2 PAI_JOB_TASK_ROLE_LIST=ps,worker
		PAI_CONTAINER_HOST_IP=h2 PAI_CONTAINER_HOST_PORT=1000 PAI_CONTAINER_SSH_PORT=1001
		PAI_CONTAINER_HOST_PORT_LIST=http:1000;ssh:1001;rpc:1002,1003;web:8080;
		PAI_CONTAINER_HOST_http_PORT_LIST=1000 PAI_CONTAINER_HOST_ssh_PORT_LIST=1001 PAI_CONTAINER_HOST_rpc_PORT_LIST=1002,1003 PAI_CONTAINER_HOST_web_PORT_LIST=8080
		PAI_TASK_ROLE_ps_HOST_LIST=h0:1000 PAI_TASK_ROLE_worker_HOST_LIST=h1:1000,h2:1000
		PAI_ps_0_http_PORT=1000 PAI_ps_0_ssh_PORT=1001
		PAI_worker_0_http_PORT=1000 PAI_worker_0_ssh_PORT=1001 PAI_worker_0_rpc_PORT=1002,1003 PAI_worker_0_web_PORT=8080
		PAI_worker_1_http_PORT=1000 PAI_worker_1_ssh_PORT=1001 PAI_worker_1_rpc_PORT=1002,1003 PAI_worker_1_web_PORT=8080 `
	const first = both + `PAI_JOB_NAME=fit_line PAI_TASK_INDEX=1 PAI_CONTAINER_ID=fit_line-2-worker-1
		PAI_DEFAULT_FS_URI=/pfs/dc/home PAI_CODE_DIR=/pfs/dc/home/alice/code PAI_DATA_DIR=/in/dc/home/alice/data PAI_OUTPUT_DIR=/rank/output PAI_WORK_DIR=/rank/work
		PAI_CURRENT_TASK_ROLE_TASK_COUNT=2 PAI_CURRENT_TASK_ROLE_CPU_COUNT=4 PAI_CURRENT_TASK_ROLE_MEM_MB=8192 PAI_CURRENT_TASK_ROLE_SHM_MB=128
		PAI_CURRENT_TASK_ROLE_GPU_COUNT=1 PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT= PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT=2`
	const second = both + `PAI_JOB_NAME=alice~fit_line PAI_FRAMEWORK_NAME=alice~fit_line PAI_DEFAULT_FS_URI= PAI_VIRTUAL_CLUSTER=vc1
		PAI_USERNAME=alice PAI_TASKS_NUM=3 PAI_TASK_ROLES_NUM=2 PAI_TASK_ROLE_COUNT=2 PAI_TASK_ROLE_LIST=ps,worker
		PAI_TASK_ROLE_TASK_COUNT_ps=1 PAI_TASK_ROLE_TASK_COUNT_worker=2 PAI_RESOURCE_ps=0,2,1024,512 PAI_RESOURCE_worker=1,4,8192,128
		PAI_MIN_FAILED_TASK_COUNT_ps=1 PAI_MIN_FAILED_TASK_COUNT_worker=-1 PAI_MIN_SUCCEEDED_TASK_COUNT_ps=-1 PAI_MIN_SUCCEEDED_TASK_COUNT_worker=2
		PAI_HOST_IP_ps_0=h0 PAI_HOST_IP_worker_0=h1 PAI_HOST_IP_worker_1=h2 PAI_PORT_LIST_ps_0_http=1000 PAI_PORT_LIST_ps_0_ssh=1001
		PAI_PORT_LIST_worker_0_http=1000 PAI_PORT_LIST_worker_0_ssh=1001 PAI_PORT_LIST_worker_0_rpc=1002,1003 PAI_PORT_LIST_worker_0_web=8080
		PAI_PORT_LIST_worker_1_http=1000 PAI_PORT_LIST_worker_1_ssh=1001 PAI_PORT_LIST_worker_1_rpc=1002,1003 PAI_PORT_LIST_worker_1_web=8080`
	for protocol, text := range map[int]string{1: first, 2: second} {
		s.PAI.Protocol = protocol
		want := map[string]bool{}
		for _, v := range strings.Fields(text) {
			want[v] = true
		}
		for _, v := range r.Environ([]string{"PAI_DEFAULT_FS_URI=hdfs://elsewhere"}) {
			if strings.HasPrefix(v, "PAI_") && !want[v] {
				t.Errorf("protocol %d sets %s", protocol, v)
			}
			delete(want, v)
		}
		if len(want) > 0 {
			t.Errorf("protocol %d does not set %v", protocol, slices.Sorted(maps.Keys(want)))
		}
	}
	env := strings.Join(r.Environ(nil), "\n") + "\n"
	for _, want := range []string{"PADDLE_TRAINER_ID=2\n", "PADDLE_TRAINERS_NUM=3\n", "PFS_ROLE=worker\n", "ENTRY=train\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}
