package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
)

// TestReadPAI reads a rank and the addresses of all tasks from what each version of OpenPAI sets.
func TestReadPAI(t *testing.T) {
	servers := []job.Role{{Name: job.Trainer, Replicas: 2}, {Name: job.Pserver, Replicas: 1}}
	for _, tt := range []struct {
		name, env, says    string
		spec               job.Spec
		role               string
		trainers, pservers []string
	}{
		{"0.9", "PAI_CURRENT_TASK_ROLE_NAME=trainer PAI_TASK_INDEX=1 PAI_TASK_ROLE_trainer_HOST_LIST=10.0.0.1:4000,10.0.0.2:4001 PAI_TASK_ROLE_pserver_HOST_LIST=10.0.0.3:1 " +
			"PAI_trainer_0_pfs_PORT=5000 PAI_trainer_1_pfs_PORT=5001 PAI_pserver_0_pfs_PORT=5002", "",
			job.Spec{Roles: servers}, "trainer-1", []string{"10.0.0.1:5000", "10.0.0.2:5001"}, []string{"10.0.0.3:5002"}},
		{"1.8", "PAI_CURRENT_TASK_ROLE_NAME=pserver PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=0 PAI_HOST_IP_trainer_0=a PAI_HOST_IP_trainer_1=b PAI_HOST_IP_pserver_0=c " +
			"PAI_PORT_LIST_trainer_0_pfs=1,2 PAI_PORT_LIST_trainer_1_pfs=3 PAI_PORT_LIST_pserver_0_pfs=4", "",
			job.Spec{Roles: servers}, "pserver-0", []string{"a:1", "b:3"}, []string{"c:4"}},
		{"changed names", "PAI_CURRENT_TASK_ROLE_NAME=demo001 PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=0 PAI_HOST_IP_demo001_0=a PAI_PORT_LIST_demo001_0_pfs=1", "",
			job.Spec{Roles: []job.Role{{Name: "Demo_001", Replicas: 1}}, PAI: &job.PAI{}}, "Demo_001-0", []string{"a:1"}, nil},
		{"no OpenPAI", "", "is this a task of OpenPAI?", job.Spec{Roles: servers}, "", nil, nil},
		{"no port", "PAI_TASK_INDEX=0 PAI_HOST_IP_trainer_0=a", `PAI_HOST_IP_trainer_0 is "a" and PAI_PORT_LIST_trainer_0_pfs is ""`, job.Spec{Roles: servers}, "", nil, nil},
		{"another role", "PAI_CURRENT_TASK_ROLE_NAME=x PAI_TASK_INDEX=0 PAI_HOST_IP_a_0=a PAI_PORT_LIST_a_0_pfs=1", `no process "x-0"`,
			job.Spec{Roles: []job.Role{{Name: "a", Replicas: 1}}, PAI: &job.PAI{}}, "", nil, nil},
		{"too many", "PAI_CURRENT_TASK_ROLE_NAME=a PAI_TASK_INDEX=1 PAI_HOST_IP_a_0=a PAI_PORT_LIST_a_0_pfs=1", `no process "a-1"`,
			job.Spec{Roles: []job.Role{{Name: "a", Replicas: 1}}, PAI: &job.PAI{}}, "", nil, nil},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(tt.env) {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		x := &tasking{}
		x.rank.Spec = &tt.spec
		err := x.readPAI(func(name string) string { return env[name] })
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v; want %q", tt.name, err, tt.says)
			}
			continue
		}
		if r := &x.rank; err != nil || job.WorkerName(r.Role, r.Index) != tt.role || !slices.Equal(r.Trainers, tt.trainers) || !slices.Equal(r.Pservers, tt.pservers) {
			t.Errorf("%s: %+v, %v", tt.name, r, err)
		}
	}
}
