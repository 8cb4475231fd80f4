package backends

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// The error for a missing ceph.conf differs from that for monitors that do not answer.
func TestCephConfThatIsMissing(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "ceph.conf")
	t.Setenv("CEPH_CONF", conf)
	for _, s := range []Spec{
		{URL: "cephfs://127.0.0.1:1/fs", Options: map[string]string{"conf": conf}},
		{URL: "cephfs:///fs"},
	} {
		_, err := Open(t.Context(), s, Caller{})
		if pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), "there is no file "+conf) {
			t.Errorf("%s: %v, want Invalid and the file", s.URL, err)
		}
	}
}
