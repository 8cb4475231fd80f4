package hdfsfs

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// thrown is an exception of the other side.
type thrown struct{ method, class, text string }

func (e thrown) Error() string     { return e.text }
func (e thrown) Method() string    { return e.method }
func (e thrown) Exception() string { return e.class }
func (e thrown) Message() string   { return e.text }

// TestExceptions checks the Kinds, which decide about retries, and the texts that tell users what
// to do.
func TestExceptions(t *testing.T) {
	const full = "org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException"
	for _, test := range []struct {
		err  thrown
		kind pfs.Kind
		text string
	}{
		{thrown{"create", full, "limit=1"}, pfs.NoSpace, "dfs.namenode.fs-limits.max-directory-items"},
		{thrown{"create", "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "quota of 1\n\tat x"}, pfs.Quota, "quota of 1"},
		{thrown{"create", "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", "The NameSpace quota (directories and files) of directory /d is exceeded: quota=101 file count=102"}, pfs.Quota, "quota exceeded: the limit is 100 files and directories, and with this they would be 101"},
		{thrown{"addBlock", "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota of /a b is exceeded: quota = 4194304 B = 4 MB but diskspace consumed = 6291456 B = 6 MB"},
			pfs.Quota, "quota exceeded: the limit is 4194304 bytes in all replicas, and with this they would be 6291456"},
		{thrown{"create", "org.apache.hadoop.ipc.StandbyException", ""}, pfs.Unavailable, "standby"},
		{thrown{"addBlock", "java.io.IOException", "only 0 of 1"}, pfs.Unavailable, "no DataNode takes a block"},
		{thrown{"create", "java.io.IOException", "something else"}, pfs.Other, "something else"},
	} {
		err := fail("hdfsfs.Test", "/f", test.err)
		pfstest.WantKind(t, err, test.kind)
		if text := err.Error(); !strings.Contains(text, test.text) || strings.Contains(text, "\n") {
			t.Errorf("%s is told as %q, want %q in one line", test.err.class, text, test.text)
		}
	}
}

// TestPlainErrors checks errors whose Kind is enough: the library's text only repeats it.
func TestPlainErrors(t *testing.T) {
	for plain, kind := range map[error]pfs.Kind{fs.ErrNotExist: pfs.NotExist, fs.ErrExist: pfs.Exist, fs.ErrPermission: pfs.Permission} {
		for _, err := range []error{plain, &fs.PathError{Op: "stat", Path: "/cluster/f", Err: plain}} {
			err = fail("hdfsfs.Test", "/f", err)
			pfstest.WantKind(t, err, kind)
			if got, want := err.Error(), "/f: "+kind.Error(); got != want || !errors.Is(err, plain) {
				t.Errorf("%q, want %q, and that it is %v", got, want, plain)
			}
		}
	}
}
