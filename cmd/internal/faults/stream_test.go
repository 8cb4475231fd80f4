package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestStreamToHDFS has something break while standard input, which cannot be read again,
// goes to a real HDFS: what the store has lost of it is sent again.
func TestStreamToHDFS(t *testing.T) {
	hdfs := testbed.HDFSAlone(t)
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s
    options: {conf-dir: %s, block-size: 1M, part-size: 16M}
`, hdfs.Scratch(t), hdfs.ConfDir), 0o600))
	s := newScene(t, "--config", config)
	data := s.random(50<<20 + 3)
	for _, f := range []struct {
		name   string
		strike func()
		mend   func()
	}{
		{"a DataNode", func() { hdfs.Kill(t, "dn1") }, func() { hdfs.Start(t, "dn1"); hdfs.Settle(t) }},
		{"pfsd", func() { s.restartServer(nil) }, func() {}},
	} {
		t.Run(f.name, func(t *testing.T) {
			target := "/pfs/hdfs/home/alice/" + filepath.Base(f.name)
			c := s.command("", "cp", "-q", "-", target)
			c.Stdin = nil
			in, err := c.StdinPipe()
			must(t, err)
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			must(t, c.Start())
			half := len(data) / 2
			_, err = in.Write(data[:half])
			must(t, err)
			f.strike()
			_, err = in.Write(data[half:])
			if err := errors.Join(err, in.Close()); err != nil {
				t.Error(err)
			}
			if code := exitCode(c.Wait()); code != 0 {
				t.Fatalf("exit %d\n%s", code, &out)
			}
			f.mend()
			got, err := s.command("", "cat", target).Output()
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("got %d bytes of %d, %v", len(got), len(data), err)
			}
		})
	}
}
