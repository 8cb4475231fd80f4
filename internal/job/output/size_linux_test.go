package output

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
)

// process is an uploader in a process of its own.
type process struct {
	*rig
	*exec.Cmd
	store string
}

func startProcess(t *testing.T) *process {
	t.Helper()
	p := &process{rig: newRig(t), Cmd: exec.Command(os.Args[0]), store: t.TempDir()}
	store, err := localfs.New(p.store, localfs.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	p.opts = runOptions(p.opts.Rank, store)
	text, err := json.Marshal(killedRun{p.store, p.opts.Rank, -1})
	if err != nil {
		t.Fatal(err)
	}
	p.Env = append(os.Environ(), "PFS_TEST_UPLOADER="+string(text))
	p.Stdout, p.Stderr = t.Output(), t.Output()
	return p
}

// figure returns a line of the process's status, in KiB.
func (p *process) figure(name string) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				p.t.Fatal(err)
			}
			return n
		}
	}
	p.t.Fatalf("no %s in %s", name, text)
	return 0
}

// processor returns the processor time of the process.
func (p *process) processor() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// count returns the number of files at the store.
func (p *process) count() (n int) {
	filepath.WalkDir(filepath.Join(p.store, string(dir)), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasPrefix(d.Name(), "_") && !strings.HasPrefix(d.Name(), ".pfs-") {
			n++
		}
		return nil
	})
	return n
}

// TestManyFiles measures the uploader with 100,000 files: memory, processor time when idle, and the time from the
// exit record to the marker.
func TestManyFiles(t *testing.T) {
	testbed.Long(t)
	const files = 100_000
	p := startProcess(t)
	for i := range files {
		p.write(fmt.Sprintf("%03d/%d", i%100, i), strconv.Itoa(i))
	}
	began := time.Now()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for p.count() < files {
		time.Sleep(5 * time.Second)
	}
	t.Logf("uploaded in %v", time.Since(began))
	time.Sleep(5 * time.Second)
	before := p.processor()
	const window = 25 * time.Second
	time.Sleep(window)
	idle := p.processor() - before
	t.Logf("idle: %.1f %% of a processor", 100*idle.Seconds()/window.Seconds())
	if idle > window/20 {
		t.Error("it needs too much of a processor")
	}
	memory := p.figure("VmHWM")
	t.Logf("memory: %d MiB", memory>>10)
	if memory > 64<<10 {
		t.Error("it needs too much memory")
	}
	began = time.Now()
	p.exit(job.Exit{})
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("from the exit to the end: %v, with %v of a processor", time.Since(began), p.ProcessState.UserTime()+p.ProcessState.SystemTime())
	p.want(Success, files)
}

// TestSparseFile uploads a file of 20 GiB that is nearly all holes.
func TestSparseFile(t *testing.T) {
	testbed.Long(t)
	const size = 20 << 30
	p := startProcess(t)
	f, err := os.Create(filepath.Join(p.opts.Rank.Output(), "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("the end"), size-7)
	if err == nil {
		_, err = f.WriteAt([]byte("in the middle"), size/2)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.exit(job.Exit{})
	began := time.Now()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("uploaded in %v", time.Since(began))
	if report := p.want(Success, 1); report.Bytes != size {
		t.Errorf("%+v", report)
	}
}

// TestKeepsUp writes checkpoints at 0.8 of the rate of the store. Once they are more than 10 seconds old, at most 2
// seconds of work are left.
func TestKeepsUp(t *testing.T) {
	testbed.Long(t)
	const rate, checkpoint = 4 << 20, 4 << 20 // bytes a second; bytes
	r := newRig(t)
	var mu sync.Mutex
	r.opts.Settle = DefaultSettle
	r.opts.FS = &faulty{r.opts.FS, func(what string, name pfs.Path) error {
		if strings.HasPrefix(what, "write ") && strings.HasPrefix(name.Base(), "checkpoint-") { // of a chunk
			mu.Lock()
			defer mu.Unlock()
			time.Sleep(time.Second * pfs.ChunkSize / rate)
		}
		return nil
	}}
	var last Progress
	r.opts.Progress = func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		last = p
	}
	done := make(chan *job.Uploaded)
	go func() { done <- r.upload() }()
	data := strings.Repeat("0123456789abcdef", checkpoint/16)
	const files = 16
	for i, next := 0, time.Now(); i < files; i++ {
		r.write(fmt.Sprint("checkpoint-", i), data)
		next = next.Add(time.Second * checkpoint * 10 / (rate * 8))
		time.Sleep(time.Until(next))
	}
	time.Sleep(10 * time.Second)
	mu.Lock()
	t.Logf("at the exit: %+v", last)
	mu.Unlock()
	began := time.Now()
	r.exit(job.Exit{})
	<-done
	took := time.Since(began)
	t.Logf("from the exit to the end: %v", took)
	if r.want(Success, files); took > 2*time.Second {
		t.Error("it took too long")
	}
}
