package job_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

func spec(name string) job.Spec {
	return job.Spec{
		Name: name, User: "alice@example.org", Datacenter: "dc1",
		Package: "/pfs/dc1/home/alice@example.org/pkg", Entry: "python train.py", Passes: 1,
		Roles:       []job.Role{{Name: job.Trainer, Replicas: 2, CPU: 1000, Memory: 1 << 30}},
		MaxAttempts: 1, Restart: job.RestartJob, UploadWait: 10 * time.Minute,
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "my-Job.v2", "1", "paddle-cluster-job", strings.Repeat("a", 63)} {
		if reason := job.CheckName(name); reason != "" {
			t.Errorf("%q: %s", name, reason)
		}
	}
	for _, name := range []string{"", "a_b", "a-", "-a", ".", "..", "a.", "a/b", "a b", "ä", "a\x00b", strings.Repeat("a", 64)} {
		if job.CheckName(name) == "" {
			t.Errorf("%q is accepted", name)
		}
	}
	for in, want := range map[string]string{
		"My.Job": "my-job-", "a..b": "a-b-", "9lives": "j9lives-", "Ä@ß": "j-",
		strings.Repeat("a", 60): strings.Repeat("a", 24) + "-",
	} {
		if got := job.ObjectName(in); !strings.HasPrefix(got, want) || len(got) != len(want)+8 {
			t.Errorf("ObjectName(%q) = %q", in, got)
		}
	}
	if job.ObjectName("my-job") == job.ObjectName("My-Job") {
		t.Error("two jobs have one object name")
	}
	if a, b := job.Namespace("a.b@c"), job.Namespace("a-b@c"); a == b || !strings.HasPrefix(a, "pfs-a-b-c-") {
		t.Error(a, b)
	}
}

func TestParseDuration(t *testing.T) {
	const none = -1
	for in, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "500ms": time.Second / 2,
		"7d": 168 * time.Hour, "2w": 336 * time.Hour, "1w2d": 216 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, ".5d": 12 * time.Hour,
		"0d": 0, "15000w": 15000 * 168 * time.Hour,
		"": none, "7": none, "d": none, "7x": none, "-1h": none, "-1d": none, "1d-1h": none, "1h1d": none, "1d 2h": none, "1e3d": none,
		"16000w": none, "15000w9999999h": none, "1..5d": none,
	} {
		got, err := job.ParseDuration(in)
		if err != nil {
			got = none
		}
		if got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestQuantities(t *testing.T) {
	for in, want := range map[string]int64{"1": 1000, "0.5": 500, "500m": 500, "1.25": 1250, "16": 16000} {
		if got, err := job.ParseCPU(in); got != want || err != nil {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for in, want := range map[string]int64{"1Gi": 1 << 30, "512Mi": 512 << 20, "1.5Gi": 3 << 29, "1G": 1e9, "4096": 4096, "10Ki": 10240} {
		if got, err := job.ParseMemory(in); got != want || err != nil {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "-1", "1e3", "+1", "1GiB", "Gi", "NaN", "1 ", "1..2", "0.0001", "99999999999999999999"} {
		if got, err := job.ParseCPU(in); err == nil {
			t.Errorf("CPU %q: %d", in, got)
		}
		if got, err := job.ParseMemory(in); err == nil && in != "0.0001" {
			t.Errorf("memory %q: %d", in, got)
		}
	}
	if job.FormatCPU(1500) != "1500m" || job.FormatCPU(2000) != "2" || job.FormatMemory(3<<29) != "1536Mi" || job.FormatMemory(5) != "5" {
		t.Error("format")
	}
}

func TestCheck(t *testing.T) {
	s := spec("a")
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*job.Spec){
		"name \"a_b\": '_' is not allowed":                func(s *job.Spec) { s.Name = "a_b" },
		"entry: a command is needed":                      func(s *job.Spec) { s.Entry = " " },
		"package \"x\": a path on the service":            func(s *job.Spec) { s.Package = "x" },
		"topology \"../x\": a file in the package":        func(s *job.Spec) { s.Topology = "../x" },
		"passes \"0\": at least 1":                        func(s *job.Spec) { s.Passes = 0 },
		"trainer.replicas \"0\": a number from 1":         func(s *job.Spec) { s.Roles[0].Replicas = 0 },
		"trainer.cpu \"0\": more than 0":                  func(s *job.Spec) { s.Roles[0].CPU = 0 },
		"trainer.memory \"1Ki\": at least 4Mi":            func(s *job.Spec) { s.Roles[0].Memory = 1024 },
		"trainer.gpu \"-1\": it cannot":                   func(s *job.Spec) { s.Roles[0].GPU = -1 },
		"roles: trainers are needed":                      func(s *job.Spec) { s.Roles[0].Name = "x" },
		"env \"PADDLE_TRAINER_ID\": the engine sets":      func(s *job.Spec) { s.Env = map[string]string{"PADDLE_TRAINER_ID": "1"} },
		"env \"1A\": it is not the name":                  func(s *job.Spec) { s.Env = map[string]string{"1A": "1"} },
		"inputs \"/x\": a path on the service":            func(s *job.Spec) { s.Inputs = []pfs.Path{"/x"} },
		"claims \"NFS\": it is not the name of a claim":   func(s *job.Spec) { s.Claims = []job.Claim{{Name: "NFS", Dir: "/nas"}} },
		"claims \"nas\": an absolute path":                func(s *job.Spec) { s.Claims = []job.Claim{{Name: "nfs", Dir: "nas"}} },
		"claims \"/nas\": there is another claim":         func(s *job.Spec) { s.Claims = []job.Claim{{Name: "a", Dir: "/nas"}, {Name: "b", Dir: "/nas"}} },
		"node_selector \"a=b c\": it is not a label":      func(s *job.Spec) { s.NodeSelector = map[string]string{"a": "b c"} },
		"outputs \"x\": the absolute path":                func(s *job.Spec) { s.Outputs = []string{"x"} },
		"outputs: the absolute path":                      func(s *job.Spec) { s.Outputs = []string{""} },
		"outputs \"/\": the absolute path":                func(s *job.Spec) { s.Outputs = []string{"/"} },
		"outputs \"//x\": the absolute path":              func(s *job.Spec) { s.Outputs = []string{"//x"} },
		"outputs \"/x/../y\": the absolute path":          func(s *job.Spec) { s.Outputs = []string{"/x/../y"} },
		"outputs \"/a/x\": \"/a/x\" has the same last":    func(s *job.Spec) { s.Outputs = []string{"/a/x", "/a/x"} },
		"outputs \"/b/x\": \"/a/x\" has the same last":    func(s *job.Spec) { s.Outputs = []string{"/a/x", "/b/x"} },
		"outputs \"/a/_SUCCESS\": outputs cannot have":    func(s *job.Spec) { s.Outputs = []string{"/a/_SUCCESS"} },
		"outputs \"/a/restarts\": outputs cannot have":    func(s *job.Spec) { s.Outputs = []string{"/a/restarts"} },
		"outputs \"/a/b\\xff\": not UTF-8":                func(s *job.Spec) { s.Outputs = []string{"/a/b\xff"} },
		"outputs: 101 directories; a job can have 100":    func(s *job.Spec) { s.Outputs = make([]string, 101) },
		"max_attempts \"0\": a number from":               func(s *job.Spec) { s.MaxAttempts = 0 },
		"restart \"no\": it is \"job\" or":                func(s *job.Spec) { s.Restart = "no" },
		"image \"a b\": an image has no spaces":           func(s *job.Spec) { s.Image = "a b" },
		"time_limit \"-1s\": it cannot be negative":       func(s *job.Spec) { s.TimeLimit = -time.Second },
		"user: empty name":                                func(s *job.Spec) { s.User = "" },
		"datacenter \"a/b\": slash in a name":             func(s *job.Spec) { s.Datacenter = "a/b" },
		"registry \"a_b\": '_' is not allowed":            func(s *job.Spec) { s.Registry = "a_b" },
		"package \"/pfs/../x\": a path on the service":    func(s *job.Spec) { s.Package = "/pfs/../x" },
		"upload_wait \"-1s\": it cannot be negative":      func(s *job.Spec) { s.UploadWait = -time.Second },
		"trainer.replicas \"10001\": a number from 1 to ": func(s *job.Spec) { s.Roles[0].Replicas = 10001 },
	} {
		s := spec("a")
		change(&s)
		err := s.Check()
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, pfs.Invalid) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestNodeSelector(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{"disk", "ssd", true}, {"example.org/Disk_1", "", true}, {long, long, true}, {strings.Repeat("a", 253) + "/b", "1", true},
		{"", "ssd", false}, {"example.org/", "ssd", false}, {"/disk", "ssd", false}, {"a/b/c", "ssd", false}, {"Example.org/disk", "ssd", false},
		{"disk-", "ssd", false}, {"disk", ".ssd", false}, {long + "a", "", false}, {"disk", long + "a", false}, {strings.Repeat("a", 254) + "/b", "1", false},
	} {
		s := spec("a")
		s.NodeSelector = map[string]string{c.key: c.value}
		if err := s.Check(); (err == nil) != c.ok {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
		}
	}
}

func TestRecords(t *testing.T) {
	ctx := context.Background()
	fsys := memfs.New(memfs.Options{})
	for r, err := range job.Records(ctx, fsys, "dc1", "alice@example.org") {
		t.Fatal(r, err)
	}
	for _, name := range []string{"a", "b", "damaged", "other"} {
		if err := job.CreateRecord(ctx, fsys, &job.Record{Spec: spec(name), State: job.Pending}); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.CreateRecord(ctx, fsys, &job.Record{Spec: spec("a")}); !errors.Is(err, pfs.Exist) {
		t.Error("a second job of that name:", err)
	}
	if err := job.WriteRecord(ctx, fsys, &job.Record{Spec: spec("b"), State: job.Failed}); err != nil {
		t.Fatal(err)
	}
	r, err := job.ReadRecord(ctx, fsys, "dc1", "alice@example.org", "b")
	if err != nil || r.State != job.Failed || r.Updated.IsZero() {
		t.Error(r, err)
	}
	if _, err := job.ReadRecord(ctx, fsys, "dc1", "alice@example.org", "none"); !errors.Is(err, pfs.NotExist) {
		t.Error(err)
	}
	for _, path := range []pfs.Path{"damaged/job.json", "empty"} {
		path = job.Dir("dc1", "alice@example.org", "x").Parent() + "/" + path
		entry := pfs.BatchEntry{Path: path, Data: []byte("{")}
		if path.Base() == "empty" {
			entry = pfs.BatchEntry{Path: path, Mode: fs.ModeDir | 0o755}
		}
		if err := pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{entry})[0]; err != nil {
			t.Fatal(err)
		}
	}
	dir := job.Dir("dc1", "alice@example.org", "x").Parent()
	if err := fsys.Rename(ctx, dir+"/other", dir+"/renamed"); err != nil {
		t.Fatal(err)
	}
	good, wrong := 0, 0
	for _, err := range job.Records(ctx, fsys, "dc1", "alice@example.org") {
		switch {
		case err == nil:
			good++
		case errors.Is(err, pfs.Integrity):
			wrong++
		default:
			t.Error(err)
		}
	}
	if good != 2 || wrong != 2 {
		t.Error(good, wrong)
	}
}

// slowStore takes a while to open a file.
type slowStore struct {
	pfs.FileSystem
	now, most atomic.Int32
}

func (s *slowStore) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	select {
	case <-time.After(100 * time.Millisecond):
		return s.FileSystem.Open(ctx, name)
	case <-ctx.Done():
		return nil, pfs.E("test.Open", name, pfs.Canceled, ctx.Err())
	}
}

// TestManyRecords reads several records at a time, and yields them in order.
func TestManyRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := &slowStore{FileSystem: memfs.New(memfs.Options{})}
		var want []string
		for i := range 300 {
			want = append(want, fmt.Sprintf("job-%03d", i))
			if err := job.CreateRecord(t.Context(), fsys, &job.Record{Spec: spec(want[i])}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		var got []string
		for r, err := range job.Records(t.Context(), fsys, "dc1", "alice@example.org") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Spec.Name)
		}
		if took := time.Since(began); !slices.Equal(got, want) || took > 2*time.Second || fsys.most.Load() != 16 {
			t.Errorf("%d records in %v, %d at a time", len(got), took, fsys.most.Load())
		}
		began = time.Now()
		for range job.Records(t.Context(), fsys, "dc1", "alice@example.org") {
			break
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("the first record took %v", took)
		}
	})
}
