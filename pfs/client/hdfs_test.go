package client_test

import (
	"io"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestAppendToHDFS appends through a service over HDFS.
func TestAppendToHDFS(t *testing.T) {
	cluster := testbed.HDFS(t)
	store, err := hdfsfs.New(t.Context(), hdfsfs.Options{
		NameNodes: cluster.NameNodes, Root: cluster.Scratch(t), User: cluster.Superuser, BlockSize: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := serve(t, store)
	c := s.connect(t, s.URL)
	if can, err := pfs.CapabilitiesOf(t.Context(), c, pfs.Root); err != nil || !can.Has(pfs.CanAppend) || can.Has(pfs.CanWriteRandom) {
		t.Errorf("capabilities %#x, %v", can, err)
	}
	data := pfstest.Pattern(1, pfs.ChunkSize+12_345)
	h := openHandle(t, c, "/f", readWrite|pfs.OpenCreate|pfs.OpenAppend)
	for _, p := range [][]byte{data[:100], data[100:5000], data[5000:]} {
		if n, err := h.WriteAt(t.Context(), p, 0); n != len(p) || err != nil {
			t.Fatalf("WriteAt of %d = %d, %v", len(p), n, err)
		}
	}
	other := openHandle(t, c, "/f", pfs.OpenWrite|pfs.OpenAppend)
	if _, err := other.WriteAt(t.Context(), []byte("other"), 0); err == nil {
		t.Error("another writer appends before the first one has synced")
	} else {
		t.Log(err)
	}
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data)+1)
	if n, err := h.ReadAt(t.Context(), got, 0); n != len(data) || err != io.EOF || string(got[:n]) != string(data) {
		t.Errorf("%d bytes are read, %v", n, err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, c, "/f", data)
}
