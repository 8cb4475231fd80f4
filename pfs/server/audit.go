package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// audit writes one line for a requested change: who, from where, what, and how it ended. An
// upload gets lines for its begin and its end, but not for its chunks.
func (s *Server) audit(r *http.Request, user, method string, err error, fields ...any) {
	args := append([]any{"user", user, "remote", r.RemoteAddr, "method", method, "result", result(err)}, fields...)
	s.cfg.Audit.Log(r.Context(), slog.LevelInfo, "audit", args...)
}

// auditFields are the parts of a request message in the audit line.
func auditFields(message any) []any {
	switch q := message.(type) {
	case wire.PathRequest:
		return []any{"path", q.Path}
	case wire.TwoPathRequest:
		return []any{"path", q.Old, "to", q.New}
	case wire.SymlinkRequest:
		return []any{"path", q.Path, "target", q.Target}
	case wire.ModeRequest:
		return []any{"path", q.Path, "mode", fmt.Sprintf("%04o", q.Mode&0o7777)}
	case wire.AttrRequest:
		return append([]any{"path", q.Path}, attrFields(q.Attrs)...)
	case wire.XattrRequest:
		return []any{"path", q.Path, "attribute", q.Name}
	case wire.MknodRequest:
		return []any{"path", q.Path, "mode", wire.FileMode(q.Mode)}
	case wire.ConcatRequest:
		return []any{"path", q.Path, "sources", q.Sources}
	case wire.QuotaRequest:
		return []any{"path", q.Path, "max_bytes", q.MaxBytes, "max_files", q.MaxFiles}
	case wire.SweepRequest:
		return []any{"path", q.Path, "seconds", q.Seconds}
	case wire.CopyRequest:
		return []any{"path", q.Source, "to", q.Target}
	case wire.CreateRequest:
		return []any{"path", q.Path, "id", q.ID, "bytes", q.Size}
	case wire.StagedRequest:
		return []any{"path", q.Path, "id", q.ID}
	case wire.CommitRequest:
		return []any{"path", q.Path, "bytes", q.Size, "digest", q.Digest}
	case wire.OpenRequest:
		return []any{"path", q.Handle.Path, "flags", openFlags(q.Handle.Flags)}
	case wire.HandleRequest:
		return append([]any{"path", q.Handle.Path}, attrFields(q.Attrs)...)
	}
	return nil
}

// attrFields are the attributes that a request sets.
func attrFields(w wire.Attrs) (fields []any) {
	mask, a := w.Attrs()
	for _, f := range []struct {
		bit   pfs.AttrMask
		name  string
		value any
	}{
		{pfs.AttrMode, "mode", fmt.Sprintf("%04o", w.Mode&0o7777)}, {pfs.AttrSize, "size", a.Size},
		{pfs.AttrModTime, "time", a.ModTime}, {pfs.AttrAccessTime, "access_time", a.AccessTime},
		{pfs.AttrUID, "uid", a.UID}, {pfs.AttrGID, "gid", a.GID}, {pfs.AttrOwner, "owner", a.Owner},
		{pfs.AttrGroup, "group", a.Group}, {pfs.AttrReplication, "replication", a.Replication},
	} {
		if mask&f.bit != 0 {
			fields = append(fields, f.name, f.value)
		}
	}
	return fields
}

// openFlags names the flags of an open, such as "write+create".
func openFlags(flags uint8) string {
	var names []string
	for i, name := range []string{"read", "write", "create", "exclusive", "truncate", "append"} {
		if flags&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}
