package hdfsfs

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"google.golang.org/protobuf/proto"
)

// makeZone makes a directory in HDFS an encryption zone with a key of its own.
func makeZone(t *testing.T, c *testbed.HDFSCluster, at string) {
	t.Helper()
	key := strings.ReplaceAll(strings.Trim(at, "/"), "/", "-")
	c.Do(t, "key", "create", key, "-size", "256")
	c.Do(t, "fs", "-mkdir", "-p", at)
	c.Do(t, "crypto", "-createZone", "-keyName", key, "-path", at)
}

// TestEncryptionZone writes and reads files in an encryption zone below the root, as Hadoop's own client does.
func TestEncryptionZone(t *testing.T) {
	c := testbed.HDFSEncrypted(t)
	zoneFiles(t, c, options(c, c.Scratch(t)))
}

// TestEncryptionZoneKerberos does the same where the KMS asks for Kerberos.
func TestEncryptionZoneKerberos(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSSecure(t)
	o := secureOptions(t, c, c.Scratch(t))
	c.Do(t, "kinit", "nn")
	zoneFiles(t, c, o)
}

func zoneFiles(t *testing.T, c *testbed.HDFSCluster, o Options) {
	t.Helper()
	makeZone(t, c, o.Root+"/zone")
	f := open(t, o)
	data := pfstest.Pattern(7, 3*small+12_345)
	from := path.Join(t.TempDir(), "data")
	must(t, writeLocal(from, data))
	c.Do(t, "fs", "-put", from, f.at("/zone/theirs"))
	for _, n := range []int{999, 65_536, len(data)} {
		if got, err := readAll(t.Context(), f, "/zone/theirs", n); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("in pieces of %d: %d bytes, %v", n, len(got), err)
		}
	}
	sizes := []int{0, 1, 15, small - 1, small, small + 17, len(data)}
	for _, size := range sizes {
		name := pfs.Path(fmt.Sprintf("/zone/%d", size))
		pfstest.WriteFile(t, f, name, data[:size])
		pfstest.WantFile(t, f, name, data[:size])
		must(t, f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: name + "-small", Data: data[:size]}})[0])
		pfstest.WantFile(t, f, name+"-small", data[:size])
		if sum, err := f.Digest(t.Context(), name, digest.XXH3, nil); err != nil || sum != digest.Bytes(data[:size]) {
			t.Errorf("the digest of %d bytes is %s, %v", size, sum, err)
		}
	}
	h := openFor(t, f, "/zone/15", appending)
	appendAll(t, h, data[15:70_000])
	must(t, h.Sync(t.Context()))
	appendAll(t, h, data[70_000:small+5])
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, f, "/zone/15", data[:small+5])

	to := path.Join(t.TempDir(), "zone")
	c.Do(t, "fs", "-get", f.at("/zone"), to)
	for _, size := range sizes {
		want := data[:size]
		if size == 15 {
			want = data[:small+5]
		}
		if got, err := os.ReadFile(fmt.Sprint(to, "/", size)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("Hadoop's client reads %d bytes of %d: %v", len(got), len(want), err)
		}
	}
	if raw := c.Do(t, "fs", "-cat", "/.reserved/raw"+f.at("/zone/1048576")); len(raw) < small || strings.Contains(raw, string(data[:64])) {
		t.Errorf("%d bytes are stored, or clear ones", len(raw))
	}

	pfstest.WriteFile(t, f, "/clear", data[:100])
	pfstest.WantKind(t, f.Rename(t.Context(), "/clear", "/zone/clear"), pfs.CrossStore)
	pfstest.WantKind(t, f.Rename(t.Context(), "/zone/1", "/1"), pfs.CrossStore)
	pfstest.WantKind(t, f.Concat(t.Context(), "/zone/1048576", []pfs.Path{"/zone/1"}), pfs.Unsupported)
	can, err := f.Capabilities(t.Context(), "/zone")
	if err != nil || can&pfs.CanConcat != 0 {
		t.Errorf("capabilities %v, %v", can, err)
	}
	given, err := f.WithOwner(pfs.Owner{Name: "alice"})
	must(t, err)
	must(t, given.Mkdir(t.Context(), "/zone/alice", 0o755))
	pfstest.WriteFile(t, given, "/zone/alice/f", data)
	if info, err := f.Stat(t.Context(), "/zone/alice/f"); err != nil || info.Owner != "alice" {
		t.Errorf("the file is %+v, %v", info, err)
	}
	resumeInZone(t, f, open(t, o), data)
}

// resumeInZone resumes an upload after a commit that joined nothing, and sweeps another. No listing has what is staged.
func resumeInZone(t *testing.T, f, other *FS, data []byte) {
	t.Helper()
	w, err := f.Create(t.Context(), "/zone/resumed", pfs.CreateOptions{ID: "zoneresumed"})
	must(t, err)
	_, err = w.WriteAt(t.Context(), data[:2*small+100], 0)
	must(t, err)
	must(t, w.Suspend(t.Context()))
	page, err := f.List(t.Context(), "/zone", pfs.ListOptions{})
	must(t, err)
	for _, e := range page.Entries {
		if pfs.ReservedName(e.Name) {
			t.Errorf("%s is listed", e.Name)
		}
	}
	w, err = other.Create(t.Context(), "/zone/resumed", pfs.CreateOptions{ID: "zoneresumed"})
	must(t, err)
	if !w.Resumed() {
		t.Error("the upload is a new one")
	}
	_, err = w.WriteAt(t.Context(), data[2*small+100:], 2*small+100)
	must(t, err)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data)), Digest: digest.Bytes(data)})
	must(t, err)
	pfstest.WantFile(t, f, "/zone/resumed", data)

	w, err = f.Create(t.Context(), "/zone/swept", pfs.CreateOptions{})
	must(t, err)
	_, err = w.WriteAt(t.Context(), data[:small], 0)
	must(t, err)
	must(t, w.Suspend(t.Context()))
	time.Sleep(10 * time.Millisecond)
	if n, bytes, err := other.Sweep(t.Context(), "/zone", 0); n != 1 || bytes != small || err != nil {
		t.Errorf("%d uploads of %d bytes were swept, %v", n, bytes, err)
	}
}

// TestKMSAskedOnce asks the KMS once for each part and for the file to which Commit copies them, and not at all to read the file.
func TestKMSAskedOnce(t *testing.T) {
	c := testbed.HDFSEncrypted(t)
	o := options(c, c.Scratch(t))
	o.BlockSize = 2 * pfs.ChunkSize
	f := open(t, o)
	makeZone(t, c, f.at("/zone"))
	d, err := f.serverDefaults(t.Context())
	must(t, err)
	kms, err := url.Parse("http://" + strings.TrimPrefix(d.GetKeyProvider(), "kms://http@"))
	must(t, err)
	kms.Path = ""
	proxy, asked := httputil.NewSingleHostReverseProxy(kms), new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	defer s.Close()
	d.KeyProvider = proto.String("kms://http@" + strings.TrimPrefix(s.URL, "http://") + "/kms")
	data := pfstest.Pattern(8, 4*pfs.ChunkSize)
	pfstest.WriteFile(t, f, "/zone/f", data)
	pfstest.WantFile(t, f, "/zone/f", data)
	if n := asked.Load(); n != 3 {
		t.Errorf("the KMS was asked %d times for two parts and their copy", n)
	}
}

// TestEncryptionZoneWithoutKMS reads and writes while the KMS is down.
func TestEncryptionZoneWithoutKMS(t *testing.T) {
	c := testbed.HDFSEncrypted(t)
	f := open(t, options(c, c.Scratch(t)))
	makeZone(t, c, f.at("/zone"))
	pfstest.WriteFile(t, f, "/zone/f", []byte("content"))
	c.Kill(t, "kms")
	pfstest.WantFile(t, f, "/zone/f", []byte("content")) // its key is kept
	f = open(t, f.opts)
	_, err := f.Open(t.Context(), "/zone/f")
	pfstest.WantKind(t, err, pfs.Unavailable)
	err = f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/zone/g", Data: []byte("more")}})[0]
	pfstest.WantKind(t, err, pfs.Unavailable)
	pfstest.WantNames(t, f, "/zone", ".Trash", "f")
	c.Start(t, "kms")
	pfstest.WantFile(t, f, "/zone/f", []byte("content"))
}

// TestEncryptionZoneConformance runs the suite on directories in an encryption zone.
func TestEncryptionZoneConformance(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSEncrypted(t)
	zone := c.Scratch(t)
	makeZone(t, c, zone)
	whole := open(t, options(c, zone))
	var number atomic.Int64
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			dir := pfs.Path(fmt.Sprintf("/%d", number.Add(1)))
			must(t, whole.Mkdir(t.Context(), dir, 0o777))
			return open(t, options(c, whole.at(dir)))
		},
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return open(t, fsys.(*FS).opts) },
		Gaps: pfstest.NoSymlink | pfstest.NoHardLink | pfstest.NoMknod | pfstest.NoRandomWrite | pfstest.NoAllocate | pfstest.NoCopy | pfstest.NoColon |
			pfstest.NoConcat,
		Names: 100, Parallel: true,
		Times:  time.Millisecond,
		Owners: []pfs.Owner{{Name: "alice"}, {Name: "bob"}}, Service: pfs.Owner{Name: c.Superuser},
	})
}
