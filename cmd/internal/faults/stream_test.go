package faults

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestStreamToHDFS injects faults while bytes that cannot be read again go to a real HDFS, from
// standard input and from a conversion: the bytes that the store has lost are sent again.
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
	const home = "/pfs/hdfs/home/alice/"
	data := s.random(50<<20 + 3)
	var text, printed []byte
	for line := range slices.Chunk(data, 1000) {
		text = append(base64.StdEncoding.AppendEncode(text, line), '\n')
		printed = fmt.Appendf(printed, "%q\n", base64.StdEncoding.EncodeToString(line))
	}
	want := func(want []byte, args ...string) func(t *testing.T) {
		return func(t *testing.T) {
			if got, err := s.command("", args...).Output(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %d bytes, want %d: %v", len(got), len(want), err)
			}
		}
	}
	for _, f := range []struct {
		name   string
		args   []string
		in     []byte
		strike func()
		mend   func()
		check  func(t *testing.T)
	}{
		{"cp, a DataNode killed", []string{"cp", "-q", "-", home + "a"}, data,
			func() { hdfs.Kill(t, "dn1") }, func() { hdfs.Start(t, "dn1"); hdfs.Settle(t) }, want(data, "cat", home+"a")},
		{"cp, pfsd killed", []string{"cp", "-q", "-", home + "b"}, data,
			func() { s.restartServer(nil) }, func() {}, want(data, "cat", home+"b")},
		{"convert, pfsd killed", []string{"dataset", "convert", "-q", "--format", "text", "--payload", "raw", "--compressor", "none",
			"--line-count", "1000000", "--name-prefix", "x", "--output-path", home + "c", "-"}, text,
			func() { s.restartServer(nil) }, func() {}, want(printed, "dataset", "cat", home+"c")},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := s.command("", f.args...)
			c.Stdin = nil
			in, err := c.StdinPipe()
			must(t, err)
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			must(t, c.Start())
			half := len(f.in) / 2
			_, err = in.Write(f.in[:half])
			must(t, err)
			f.strike()
			_, err = in.Write(f.in[half:])
			if err := errors.Join(err, in.Close()); err != nil {
				t.Error(err)
			}
			if code := exitCode(c.Wait()); code != 0 {
				t.Fatalf("exit %d\n%s", code, &out)
			}
			f.mend()
			f.check(t)
		})
	}
}
