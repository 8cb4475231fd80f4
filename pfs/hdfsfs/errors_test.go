package hdfsfs

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func thrown(method, class, text string) *rpc.RemoteError {
	return &rpc.RemoteError{Method: method, Class: class, Text: text}
}

// TestExceptions checks the Kinds, which decide about retries, and the texts that tell users what
// to do.
func TestExceptions(t *testing.T) {
	const full = "org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException"
	for _, test := range []struct {
		err  *rpc.RemoteError
		kind pfs.Kind
		text string
	}{
		{thrown("create", full, "limit=1"), pfs.NoSpace, "dfs.namenode.fs-limits.max-directory-items"},
		{thrown("create", "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "quota of 1\n\tat x"), pfs.Quota, "quota of 1"},
		{thrown("create", "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", "The NameSpace quota (directories and files) of directory /d is exceeded: quota=101 file count=102"), pfs.Quota, "quota exceeded: the limit is 100 files and directories, and with this they would be 101"},
		{thrown("addBlock", "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota of /a b is exceeded: quota = 4194304 B = 4 MB but diskspace consumed = 6291456 B = 6 MB"),
			pfs.Quota, "quota exceeded: the limit is 4194304 bytes in all replicas, and with this they would be 6291456"},
		{thrown("create", "org.apache.hadoop.ipc.StandbyException", ""), pfs.Unavailable, "standby"},
		{thrown("addBlock", "java.io.IOException", "only 0 of 1"), pfs.Unavailable, "no DataNode takes a block"},
		{thrown("append", "java.io.IOException", "append: lastBlock=blk_1_2 of src=/f is not sufficiently replicated yet."), pfs.Unavailable, "no replica of the end of the file"},
		{thrown("create", "java.io.IOException", "something else"), pfs.Other, "something else"},
	} {
		err := fail("hdfsfs.Test", "/f", test.err)
		pfstest.WantKind(t, err, test.kind)
		if text := err.Error(); !strings.Contains(text, test.text) || strings.Contains(text, "\n") {
			t.Errorf("%s is told as %q, want %q in one line", test.err.Class, text, test.text)
		}
	}
}

// TestPlainErrors checks exceptions whose Kind is enough: their text only adds paths of the cluster.
func TestPlainErrors(t *testing.T) {
	const denied = "org.apache.hadoop.security.AccessControlException"
	for _, test := range []struct {
		err  *rpc.RemoteError
		want string
	}{
		{thrown("rename2", "java.io.FileNotFoundException", "File does not exist: /cluster/f"), "/f: " + pfs.NotExist.Error()},
		{thrown("rename2", "org.apache.hadoop.fs.FileAlreadyExistsException", "rename destination /cluster/f already exists"), "/f: " + pfs.Exist.Error()},
		{thrown("delete", "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException", "`/cluster/f is non empty': Directory is not empty"), "/f: " + pfs.NotEmpty.Error()},
		{thrown("delete", denied, `Permission denied: user=bob, access=WRITE, inode="/cluster"`), "/f: " + pfs.Permission.Error()},
		{thrown("setQuota", denied, "Access denied for user bob. Superuser privilege is required"), "/f: " + pfs.Permission.Error() + ": Access denied for user bob. Superuser privilege is required"},
	} {
		if got := fail("hdfsfs.Test", "/f", test.err).Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestDialTimeout tells a server that cannot be connected to in time from a caller who gave up.
func TestDialTimeout(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	dial := func(ctx context.Context, limit time.Duration) error {
		_, err := (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", "127.0.0.1:9")
		return err
	}
	for _, test := range []struct {
		err  error
		kind pfs.Kind
	}{
		{dial(t.Context(), 1), pfs.Unavailable},
		{dial(ended, 0), pfs.Canceled},
		{late.Err(), pfs.Canceled},
	} {
		if got := kindOf(test.err); got != test.kind {
			t.Errorf("%v is %q, want %q", test.err, got, test.kind)
		}
	}
	h := &file{name: "/f"}
	lost := &datanode.ReplicasError{Lost: []string{"127.0.0.1:9"}, Last: dial(t.Context(), 1)}
	pfstest.WantKind(t, h.failed(late, "hdfsfs.File.ReadAt", 0, lost), pfs.Canceled)
}
