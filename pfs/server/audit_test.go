package server

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Each request that changes something leaves one audit line, whether it is done or
// refused, and no other request does.
func TestEveryChangeIsAudited(t *testing.T) {
	framed := func(m any, rest ...byte) []byte {
		var b bytes.Buffer
		_ = wire.WriteFrame(&b, m)
		return append(b.Bytes(), rest...)
	}
	const id = "12345678"
	path := wire.Encode(wire.PathRequest{Path: "/d"})
	opened := wire.Encode(wire.HandleRequest{Handle: wire.Handle{ID: "handle01", Path: "/f", Flags: 7}})
	steps := []struct {
		method, url string
		body        []byte
		lines       string // content of the audit lines; empty for none
	}{
		{"POST", wire.PathLogin, wire.Encode(wire.Credentials{User: "alice", Password: "right"}), "method=login"},
		{"POST", wire.CallMkdir, wire.Encode(wire.ModeRequest{Path: "/d", Mode: 0o755}), "path=/d"},
		{"POST", wire.CallCreate, wire.Encode(wire.CreateRequest{Path: "/f", ID: id, Size: 7}), "path=/f id=" + id + " bytes=7"},
		{"PUT", wire.PathData + "?path=/f&id=" + id, onWire([]byte("content")), ""},
		{"POST", wire.CallLeaves, wire.Encode(wire.LeavesRequest{Path: "/f", ID: id, Size: 7, Count: 1}), ""},
		{"POST", wire.CallSync, wire.Encode(wire.StagedRequest{Path: "/f", ID: id}), ""},
		{"POST", wire.CallCommit, wire.Encode(wire.CommitRequest{Path: "/f", ID: id, Size: 7}), "path=/f"},
		{"POST", wire.CallCreate, wire.Encode(wire.CreateRequest{Path: "/g", ID: id}), "path=/g"},
		{"POST", wire.CallDiscard, wire.Encode(wire.StagedRequest{Path: "/g", ID: id}), "path=/g id=" + id},
		{"POST", wire.CallStat, path, ""},
		{"POST", wire.CallList, wire.Encode(wire.ListRequest{Path: "/"}), ""},
		{"POST", wire.CallSpace, path, ""},
		{"POST", wire.CallUsage, path, ""},
		{"POST", wire.CallDigest, wire.Encode(wire.DigestRequest{Path: "/f", Algorithm: "xxh3"}), ""},
		{"POST", wire.CallSetAttr, wire.Encode(wire.AttrRequest{Path: "/f", Attrs: wire.NewAttrs(pfs.AttrMode|pfs.AttrUID, pfs.Attrs{Mode: 0o640, UID: 7})}), "path=/f mode=0640 uid=7"},
		{"POST", wire.CallSetXattr, wire.Encode(wire.XattrRequest{Path: "/f", Name: "user.a", Value: []byte("v")}), "path=/f attribute=user.a"},
		{"POST", wire.CallXattr, wire.Encode(wire.XattrRequest{Path: "/f", Name: "user.a"}), ""},
		{"POST", wire.CallListXattr, path, ""},
		{"POST", wire.CallRemoveXattr, wire.Encode(wire.XattrRequest{Path: "/f", Name: "user.a"}), "path=/f attribute=user.a"},
		{"POST", wire.CallHardLink, wire.Encode(wire.TwoPathRequest{Old: "/f", New: "/hard"}), "path=/f to=/hard"},
		{"POST", wire.CallMknod, wire.Encode(wire.MknodRequest{Path: "/fifo", Mode: 0o10644}), "path=/fifo mode=prw-r--r--"},
		{"POST", wire.CallCapabilities, path, ""},
		{"POST", wire.CallLocate, wire.Encode(wire.LocateRequest{Path: "/f", Length: 7}), ""},
		{"POST", wire.CallSymlink, wire.Encode(wire.SymlinkRequest{Path: "/l", Target: "f"}), "target=f"},
		{"POST", wire.CallSetQuota, wire.Encode(wire.QuotaRequest{Path: "/d", MaxBytes: 1 << 20}), "max_bytes=1048576"},
		{"POST", wire.CallSweep, wire.Encode(wire.SweepRequest{Path: "/"}), "path=/"},
		{"POST", wire.CallCopy, wire.Encode(wire.CopyRequest{Source: "/f", Target: "/copy"}), "to=/copy"},
		{"POST", wire.CallAccess, wire.Encode(wire.AccessRequest{Path: "/f"}), ""},
		{"POST", wire.CallRename, wire.Encode(wire.TwoPathRequest{Old: "/copy", New: "/moved"}), "to=/moved"},
		{"POST", wire.CallRenameExclusive, wire.Encode(wire.TwoPathRequest{Old: "/moved", New: "/again"}), "to=/again"},
		{"POST", wire.CallConcat, wire.Encode(wire.ConcatRequest{Path: "/f", Sources: []string{"/again"}}), "path=/f sources=[/again]"},
		{"POST", wire.CallOpen, wire.Encode(wire.OpenRequest{Handle: wire.Handle{ID: "handle00", Path: "/f", Flags: 1}}), ""},
		{"POST", wire.CallOpen, wire.Encode(wire.OpenRequest{Handle: wire.Handle{ID: "handle01", Path: "/f", Flags: 7}}), "path=/f flags=read+write+create"},
		{"PUT", wire.PathWrite + "?path=/f&handle=handle01&flags=7", onWire([]byte("CON")), ""},
		{"POST", wire.CallHandleStat, opened, ""},
		{"POST", wire.CallHandleTruncate, opened, ""},
		{"POST", wire.CallHandleAllocate, opened, ""},
		{"POST", wire.CallHandleSync, opened, ""},
		{"POST", wire.CallHandleSetAttr, wire.Encode(wire.HandleRequest{Handle: wire.Handle{ID: "handle01", Path: "/f", Flags: 7, File: 1}, Attrs: wire.NewAttrs(pfs.AttrMode, pfs.Attrs{Mode: 0o600})}), "path=/f mode=0600"},
		{"POST", wire.CallHandleClose, opened, ""},
		{"POST", wire.CallRenew, wire.Encode(wire.RenewRequest{IDs: []string{"handle00"}}), ""},
		{"GET", wire.PathData + "?path=/f&len=3", nil, ""},
		{"POST", wire.PathRead, framed(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/f", Size: 3}}}), ""},
		{"POST", wire.PathBatch, framed(wire.BatchRequest{Entries: []wire.BatchEntry{{Path: "/small", Size: 2}}}, onWire([]byte("ab"))...), "path=/small"},
		{"POST", wire.PathCopy, framed(wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/small", Target: "/other", Size: 2}}}), "to=/other"},
		{"POST", wire.CallRemove, wire.Encode(wire.PathRequest{Path: "/f"}), "path=/f"},
		{"POST", wire.CallRemoveTree, path, "path=/d"},
		{"POST", wire.PathRefresh, wire.Encode(wire.RefreshRequest{Refresh: "r"}), ""},
		{"POST", wire.PathLogout, wire.Encode(wire.RefreshRequest{Refresh: "r"}), "user=alice"},
	}
	fsys := memfs.New(memfs.Options{})
	unsupported := `result="` + pfs.Unsupported.Error() + `"`
	for name, view := range map[string]pfs.FileSystem{
		"ok": fsys,
		pfs.Permission.Error(): pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, _ func(pfs.FileSystem, pfs.Path) error) error {
			return pfs.E("test", name, pfs.Permission, nil)
		}),
	} {
		s, log := newServer(t, fsys, func(c *Config) {
			c.View = func(auth.Identity, string) pfs.FileSystem { return view }
		})
		calls := s.calls()
		for _, step := range steps {
			url := step.url
			if !strings.HasPrefix(url, "/") {
				delete(calls, url)
				url = wire.PathCall + url
			}
			before := len(log.String())
			do(s, step.method, url, step.body)
			lines := log.String()[before:]
			result := "result=ok"
			if name != "ok" && !strings.HasPrefix(url, "/v1/log") {
				result = `result="` + name + `"`
			}
			switch n := strings.Count(lines, "msg=audit"); {
			case step.lines == "" && n != 0, step.lines != "" && n != 1:
				t.Errorf("%s: %s %s leaves %d audit lines:\n%s", name, step.method, url, n, lines)
			case !strings.Contains(lines, step.lines), n == 1 && !strings.Contains(lines, result) && !strings.Contains(lines, unsupported):
				t.Errorf("%s: %s %s is audited as\n%swant %s and %s", name, step.method, url, lines, result, step.lines)
			}
		}
		for method := range calls {
			t.Errorf("the call %s is not tried", method)
		}
	}
}
