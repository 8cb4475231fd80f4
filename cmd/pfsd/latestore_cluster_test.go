package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestServeBeforeHDFS starts the service before its HDFS can be reached. When it can be, files are
// written and belong to their users, without a restart.
func TestServeBeforeHDFS(t *testing.T) {
	c := testbed.HDFS(t)
	root := c.Scratch(t)
	var there atomic.Bool
	way := relay.New(t, func() string {
		if there.Load() {
			return c.NameNodes[0]
		}
		return "127.0.0.1:1"
	}, func(int, []byte) bool { return true })
	s := start(t, dataFor(t), "--no-tls", "--datacenter",
		fmt.Sprintf("dc=hdfs://%s%s?user=%s", way.Address(), root, c.Superuser))
	if code, body := status(t, s.endpoint+"/readyz"); code != http.StatusServiceUnavailable {
		t.Fatalf("/readyz before: %d %s", code, body)
	}
	there.Store(true)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if code, _ := status(t, s.endpoint+"/readyz"); code == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			_, log := s.stop()
			t.Fatalf("the store was not opened:\n%s", log)
		}
	}
	ann, _ := s.login(t, "ann")
	if err := put(t, ann, "/pfs/dc/home/ann/f", "content"); err != nil {
		t.Fatal(err)
	}
	info, err := ann.Stat(t.Context(), "/pfs/dc/home/ann/f")
	if err != nil || info.Owner != "ann" || info.Size != int64(len("content")) {
		t.Errorf("got %+v, %v; want a file of ann's", info, err)
	}
}
