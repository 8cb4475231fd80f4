package namespace

import (
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestOtherReplicaSeesManifest completes a version through one service while another,
// over the same store, has just looked at it.
func TestOtherReplicaSeesManifest(t *testing.T) {
	store := memfs.New(memfs.Options{})
	now := time.Unix(1e9, 0)
	view := func() pfs.FileSystem {
		n, err := New(Config{Datacenters: []Datacenter{{Name: "dc", FS: store}}})
		if err != nil {
			t.Fatal(err)
		}
		n.now = func() time.Time { return now }
		return n.View(publisher, "")
	}
	one, other := view(), view()
	const dir = pfs.Path("/pfs/dc/public/dataset/set/1")
	pfstest.MustMkdir(t, store, "/public/dataset/set/1")
	pfstest.WriteFile(t, other, dir+"/a", nil)
	pfstest.WriteFile(t, one, dir+"/.set.manifest", nil)
	_, err := one.Create(t.Context(), dir+"/b", pfs.CreateOptions{})
	pfstest.WantKind(t, err, pfs.ReadOnly)
	now = now.Add(unfinishedKept)
	_, err = other.Create(t.Context(), dir+"/b", pfs.CreateOptions{})
	pfstest.WantKind(t, err, pfs.ReadOnly)
}
