package rpc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/encoding/protowire"
)

// realTimeout is one that a busy machine keeps.
const realTimeout = time.Minute

// write makes a file on a cluster with the library.
func write(t *testing.T, c *testbed.HDFSCluster, path, content string) {
	t.Helper()
	library, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: c.NameNodes, User: c.Superuser})
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	w, err := library.Create(path)
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	for hdfs.IsErrReplicating(err) { // a NameNode has not heard of a replica yet
		time.Sleep(50 * time.Millisecond)
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNameNode asks a real NameNode for the blocks of a file, and for those of none.
func TestNameNode(t *testing.T) {
	cluster := testbed.HDFS(t)
	path := cluster.Scratch(t) + "/f"
	write(t, cluster, path, "content")
	c := New(Options{Servers: NewServers(cluster.NameNodes), User: cluster.Superuser, Timeout: realTimeout})
	defer c.Close()
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() { wantLength(t, c, path, 7) })
	}
	group.Wait()
	_, err := locate(t.Context(), c, path+"/none", Idempotent)
	var remote *RemoteError
	if !errors.As(err, &remote) || remote.Class != "org.apache.hadoop.security.AccessControlException" && remote.Class != "java.io.FileNotFoundException" {
		t.Errorf("the error is %v", err)
	}
	err = c.Call(t.Context(), "noSuchCall", &hdfsproto.GetDataEncryptionKeyRequest{}, &hdfsproto.GetDataEncryptionKeyResponse{}, Idempotent)
	if !errors.As(err, &remote) || remote.Class != "org.apache.hadoop.ipc.RpcNoSuchMethodException" {
		t.Errorf("the error is %v", err)
	}
}

// TestRetryCache renames a file twice with the same call, and once more with another one. The NameNode carries the
// first one out once, and says the second time what it said the first time.
func TestRetryCache(t *testing.T) {
	cluster := testbed.HDFS(t)
	dir := cluster.Scratch(t)
	write(t, cluster, dir+"/f", "content")
	c := New(Options{Servers: NewServers(cluster.NameNodes), User: cluster.Superuser, Timeout: realTimeout})
	defer c.Close()
	rename := func() attempts {
		body := protowire.AppendTag(nil, 1, protowire.BytesType)
		body = protowire.AppendString(body, dir+"/f")
		body = protowire.AppendTag(body, 2, protowire.BytesType)
		body = protowire.AppendString(body, dir+"/g")
		return attempts{client: c, method: "rename", body: body, id: int32(c.lastID.Add(1)), repeat: Cached}
	}
	first, other := rename(), rename()
	for i, step := range []struct {
		call *attempts
		want string
	}{{&first, "\x08\x01"}, {&first, "\x08\x01"}, {&other, "\x08\x00"}} {
		answer, _, err := step.call.ask(t.Context(), cluster.NameNodes[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := cutPart(answer); err != nil || string(got) != step.want {
			t.Errorf("call %d: the result is %x, %v, want %x", i, got, err, step.want)
		}
	}
	wantLength(t, c, dir+"/g", 7)
}

// TestFailover makes calls while the NameNodes change their roles. The callers notice nothing but a delay.
func TestFailover(t *testing.T) {
	cluster := testbed.HDFSPair(t)
	path := cluster.Scratch(t) + "/f"
	write(t, cluster, path, "content")
	c := New(Options{Servers: NewServers(cluster.NameNodes), User: cluster.Superuser, Timeout: realTimeout})
	defer c.Close()
	wantLength(t, c, path, 7)
	cluster.Failover(t, "nn2")
	wantLength(t, c, path, 7)
	if got := c.opts.Servers.Order()[0]; got != cluster.NameNodes[1] {
		t.Errorf("%s is asked first, not the active NameNode", got)
	}
	cluster.Failover(t, "nn1")
	wantLength(t, c, path, 7)
	cluster.Kill(t, "nn2")
	wantLength(t, c, path, 7)
}

// TestProtections authenticates with Kerberos, and makes calls that are plain, signed, and encrypted. Among them
// are some that are longer than a protected message.
func TestProtections(t *testing.T) {
	cluster := testbed.HDFSSecure(t)
	dir := cluster.Scratch(t)
	conf, err := config.Load(cluster.KRB5Config)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keytab.Load(filepath.Join(cluster.Keytabs, "nn.keytab"))
	if err != nil {
		t.Fatal(err)
	}
	tickets := krb.NewWithKeytab("nn/localhost", "PFS.TEST", keys, conf, krb.DisablePAFXFAST(true))
	defer tickets.Destroy()
	if err := tickets.Login(); err != nil {
		t.Fatal(err)
	}
	for address, protects := range map[string]bool{cluster.NameNodes[0]: false, cluster.Integrity: true, cluster.Privacy: true} {
		c := New(Options{
			Servers: NewServers([]string{address}), Timeout: realTimeout, Service: "nn/_HOST",
			Kerberos: func(context.Context) (*krb.Client, error) { return tickets, nil },
		})
		defer c.Close()
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				_, err := locate(t.Context(), c, fmt.Sprintf("%s/%d", dir, i), Idempotent)
				wantNoFile(t, err)
			})
		}
		group.Wait()
		_, err := locate(t.Context(), c, dir+strings.Repeat("/long", 1500), Idempotent)
		wantNoFile(t, err)
		var remote *RemoteError
		_, err = locate(t.Context(), c, dir+strings.Repeat("/long", 50_000), Idempotent)
		if !errors.As(err, &remote) {
			t.Errorf("%s: the error of a very long path is %v", address, err)
		}
		if layer := c.links[address].conn.stream.layer; protects != (layer != nil) {
			t.Errorf("%s: the layer is %v", address, layer)
		}
	}
}

// wantNoFile checks the exception for a missing file.
func wantNoFile(t *testing.T, err error) {
	t.Helper()
	var remote *RemoteError
	if !errors.As(err, &remote) || remote.Class != "java.io.FileNotFoundException" {
		t.Errorf("the error is %v", err)
	}
}
