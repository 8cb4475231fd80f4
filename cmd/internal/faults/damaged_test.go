package faults

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// atOnce is longer than a command takes that does not wait for recovery, on an overloaded machine.
// A command that retries, as for a store that is away, takes longer.
const atOnce = 30 * time.Second

// TestDamagedFile reads a file without a good block replica in HDFS, with the damage in the middle
// of an answer: every command names the damaged file and range.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	c := testbed.HDFSAlone(t)
	p := onHDFS(t, c)
	p.put("f", 12<<20)
	c.Flip(t, p.root+string(p.stored("f")), 1<<20+700<<10)
	for _, command := range []struct {
		code int
		args []string
	}{
		{7, []string{"cp", "-q", p.home("f"), "got"}},
		{7, []string{"cat", p.home("f")}},
		{8, []string{"verify", "f", p.home("f")}},
	} {
		args := command.args
		began := time.Now()
		code, out := p.run(p.command("", args...))
		took := time.Since(began)
		p.Logf("paddlectl %q: exit %d after %v\n%.300q", args, code, took.Round(time.Millisecond), out[max(0, len(out)-300):])
		p.wantSaid(args, code, out, command.code, p.home("f")+": integrity check failed: byte 17")
		p.wantSaid(args, code, out, command.code, "block")
		if took > atOnce {
			p.Errorf("paddlectl %q took %v", args, took)
		}
	}
	p.wantNoLocal("got")
}

// wantNoLocal checks that alice has no local file of that name.
func (p *place) wantNoLocal(name string) {
	p.Helper()
	if _, err := os.Lstat(filepath.Join(p.work, name)); !errors.Is(err, fs.ErrNotExist) {
		p.Errorf("%s is there: %v", name, err)
	}
}
