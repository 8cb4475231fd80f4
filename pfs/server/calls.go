package server

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// callFunc does one call: it decodes b, acts on r.tree and returns the reply message.
type callFunc func(ctx context.Context, r *request, b []byte, progress func(int64)) (reply any, err error)

// call is one method of the protocol.
type call struct {
	do callFunc
	// changes says that the call leaves a line in the audit log.
	changes bool
	// once says that the call must not be done twice under one request ID.
	once bool
	// long says that the reply may be large, so that its encoding waits for a turn.
	long bool
}

// encode encodes the reply of c.
func (c call) encode(ctx context.Context, reply any) (b []byte, err error) {
	if !c.long {
		return wire.Encode(reply), nil
	}
	err = pfs.InTurn(ctx, func() error {
		b = wire.Encode(reply)
		return nil
	})
	return b, err
}

// handle makes a callFunc of a typed handler.
func handle[Q, A any](do func(ctx context.Context, r *request, q Q, progress func(int64)) (A, error)) callFunc {
	return func(ctx context.Context, r *request, b []byte, progress func(int64)) (any, error) {
		var q Q
		if err := wire.Decode(b, &q); err != nil {
			return nil, err
		}
		r.audit = auditFields(q)
		return do(ctx, r, q, progress)
	}
}

// onPath makes a callFunc of a handler that acts on one path and replies nothing.
func onPath(do func(ctx context.Context, tree pfs.FileSystem, name pfs.Path) error) callFunc {
	return handle(func(ctx context.Context, r *request, q wire.PathRequest, _ func(int64)) (wire.Empty, error) {
		name, err := pfs.ParsePath(q.Path)
		if err != nil {
			return wire.Empty{}, err
		}
		return wire.Empty{}, do(ctx, r.tree, name)
	})
}

// onMode makes a callFunc of a handler that gives one path a mode.
func onMode(do func(ctx context.Context, tree pfs.FileSystem, name pfs.Path, mode fs.FileMode) error) callFunc {
	return handle(func(ctx context.Context, r *request, q wire.ModeRequest, _ func(int64)) (wire.Empty, error) {
		name, err := pfs.ParsePath(q.Path)
		if err != nil {
			return wire.Empty{}, err
		}
		return wire.Empty{}, do(ctx, r.tree, name, wire.FileMode(q.Mode))
	})
}

// onTwoPaths makes a callFunc of a rename.
func onTwoPaths(do func(ctx context.Context, tree pfs.FileSystem, oldName, newName pfs.Path) error) callFunc {
	return handle(func(ctx context.Context, r *request, q wire.TwoPathRequest, _ func(int64)) (wire.Empty, error) {
		oldName, newName, err := parseTwo(q.Old, q.New)
		if err != nil {
			return wire.Empty{}, err
		}
		return wire.Empty{}, do(ctx, r.tree, oldName, newName)
	})
}

func parseTwo(a, b string) (p, q pfs.Path, err error) {
	if p, err = pfs.ParsePath(a); err == nil {
		q, err = pfs.ParsePath(b)
	}
	return p, q, err
}

// calls is the table of all methods.
func (s *Server) calls() map[string]call {
	change := func(do callFunc) call { return call{do: do, changes: true, once: true} }
	return map[string]call{
		wire.CallStat:            {do: handle(statCall)},
		wire.CallList:            {do: handle(listCall), long: true},
		wire.CallMkdir:           change(onMode(mkdir)),
		wire.CallRemove:          change(onPath(remove)),
		wire.CallRemoveTree:      change(onPath(pfs.RemoveTree)),
		wire.CallRename:          change(onTwoPaths(rename)),
		wire.CallRenameExclusive: change(onTwoPaths(pfs.RenameExclusive)),
		wire.CallSymlink:         change(handle(symlinkCall)),
		wire.CallChmod:           change(onMode(pfs.Chmod)),
		wire.CallChtime:          change(handle(chtimeCall)),
		wire.CallSpace:           {do: handle(spaceCall)},
		wire.CallUsage:           {do: handle(usageCall)},
		wire.CallSetQuota:        change(handle(setQuotaCall)),
		wire.CallAccess:          {do: handle(accessCall)},
		wire.CallSweep:           change(handle(s.sweepCall)),
		wire.CallCopy:            change(handle(s.copyCall)),
		wire.CallDigest:          {do: handle(digestCall)},

		wire.CallCreate:  {do: handle(s.createCall), changes: true},
		wire.CallLeaves:  {do: handle(s.leavesCall)},
		wire.CallSync:    {do: handle(s.syncCall)},
		wire.CallCommit:  change(handle(s.commitCall)),
		wire.CallDiscard: {do: handle(s.discardCall), changes: true},

		wire.CallEdit:     {do: handle(editCall)},
		wire.CallTruncate: change(handle(truncateCall)),
		wire.CallEditSync: {do: handle(editSyncCall)},
	}
}

func mkdir(ctx context.Context, tree pfs.FileSystem, name pfs.Path, mode fs.FileMode) error {
	return tree.Mkdir(ctx, name, mode.Perm())
}

func remove(ctx context.Context, tree pfs.FileSystem, name pfs.Path) error {
	return tree.Remove(ctx, name)
}

func rename(ctx context.Context, tree pfs.FileSystem, oldName, newName pfs.Path) error {
	return tree.Rename(ctx, oldName, newName)
}

// serveCall makes a handler of a call.
func (s *Server) serveCall(method string, c call) func(http.ResponseWriter, *request) {
	return func(w http.ResponseWriter, r *request) {
		refuse := func(err error) {
			if c.changes {
				s.audit(r.Request, r.id.Name, method, err)
			}
			s.fail(w, r.Request, err)
		}
		b, err := body(w, r.Request)
		if err != nil {
			refuse(err)
			return
		}
		end, err := s.begin(r, s.requests)
		if err != nil {
			refuse(err)
			return
		}
		defer end()
		s.answer(w, r.Request, func(ctx context.Context, progress func(int64)) outcome {
			do := func() outcome {
				reply, err := c.do(ctx, r, b, progress)
				if c.changes {
					s.audit(r.Request, r.id.Name, method, err, r.audit...)
				}
				if err != nil {
					return outcome{err: err}
				}
				b, err := c.encode(ctx, reply)
				return outcome{reply: b, err: err}
			}
			if !c.once {
				return do()
			}
			return s.doOnce(ctx, r, method, do)
		})
	}
}

// doOnce does a change, but not twice under one request ID.
func (s *Server) doOnce(ctx context.Context, r *request, method string, do func() outcome) outcome {
	id := r.Header.Get(wire.HeaderRequest)
	if !pfs.ValidID(id) {
		return do()
	}
	return s.once.do(ctx, onceKey{r.id.Name, method, id}, do)
}

func statCall(ctx context.Context, r *request, q wire.PathRequest, _ func(int64)) (reply wire.InfoReply, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	info, err := r.tree.Stat(ctx, name)
	return wire.InfoReply{Info: wire.NewInfo(info)}, err
}

// maxListed bounds the entries of one reply, so that it is encoded in about a millisecond. A
// NameNode of HDFS returns as many at a time.
const maxListed = 1000

// listCall lists a page, in parts that fit into a message.
func listCall(ctx context.Context, r *request, q wire.ListRequest, _ func(int64)) (reply wire.ListReply, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	opts := pfs.ListOptions{Token: q.Token, Limit: q.Limit, Digests: q.Digests}
	opts.Limit = min(opts.Max(), maxListed)
	for {
		page, err := r.tree.List(ctx, name, opts)
		if err != nil {
			return reply, err
		}
		reply = wire.ListReply{Entries: make([]wire.Info, len(page.Entries)), Unnamed: page.Unnamed, Next: page.Next}
		for i, e := range page.Entries {
			reply.Entries[i] = wire.NewInfo(e)
		}
		// Thousands of links with long targets can be more than one message.
		opts.Limit = min(opts.Max(), len(page.Entries)+len(page.Unnamed)) / 2
		if reply.EncodedBound() <= wire.MaxListed || opts.Limit == 0 {
			return reply, nil
		}
	}
}

func symlinkCall(ctx context.Context, r *request, q wire.SymlinkRequest, _ func(int64)) (reply wire.Empty, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	return reply, pfs.MakeLink(ctx, r.tree, q.Target, name)
}

func chtimeCall(ctx context.Context, r *request, q wire.TimeRequest, _ func(int64)) (reply wire.Empty, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	return reply, pfs.Chtime(ctx, r.tree, name, q.Time.Time())
}

func spaceCall(ctx context.Context, r *request, q wire.PathRequest, _ func(int64)) (reply wire.SpaceReply, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	sp, err := pfs.SpaceOf(ctx, r.tree, name)
	return wire.NewSpaceReply(sp), err
}

func usageCall(ctx context.Context, r *request, q wire.PathRequest, _ func(int64)) (reply wire.UsageReply, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	u, err := pfs.UsageOf(ctx, r.tree, name)
	return wire.UsageReply(u), err
}

func setQuotaCall(ctx context.Context, r *request, q wire.QuotaRequest, _ func(int64)) (reply wire.Empty, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	return reply, pfs.SetQuota(ctx, r.tree, name, q.MaxBytes, q.MaxFiles)
}

func accessCall(ctx context.Context, r *request, q wire.AccessRequest, _ func(int64)) (reply wire.Empty, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	a := pfs.Access(q.Access)
	if a > pfs.Administer {
		return reply, pfs.Errorf("server.access", name, pfs.Invalid, "access %d", q.Access)
	}
	return reply, pfs.CheckAccess(ctx, r.tree, a, name)
}

// sweepCall removes stale staged writes, those that are open here among them.
func (s *Server) sweepCall(ctx context.Context, r *request, q wire.SweepRequest, _ func(int64)) (reply wire.SweepReply, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	const century = 100 * 365 * 24 * 3600
	if q.Seconds < 0 || q.Seconds > century {
		return reply, pfs.Errorf("server.sweep", name, pfs.Invalid, "age of %d seconds", q.Seconds)
	}
	if err := pfs.CheckAccess(ctx, r.tree, pfs.Discard, name); err != nil {
		return reply, err
	}
	s.uploads.suspendBelow(name) // what is open here counts as in use where it is stored
	n, bytes, err := pfs.Sweep(ctx, r.tree, name, time.Duration(q.Seconds)*time.Second)
	return wire.SweepReply{Count: int64(n), Bytes: bytes}, err
}

func digestCall(ctx context.Context, r *request, q wire.DigestRequest, progress func(int64)) (reply wire.DigestReply, err error) {
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return reply, err
	}
	reply.Digest, err = digest.Stored(ctx, r.tree, name, q.Algorithm, progress)
	return reply, err
}

func editCall(ctx context.Context, r *request, q wire.PathRequest, _ func(int64)) (reply wire.InfoReply, err error) {
	err = edited(ctx, r, q.Path, func(h pfs.Edited) error {
		reply.Info = wire.NewInfo(h.Info())
		return nil
	})
	return reply, err
}

func truncateCall(ctx context.Context, r *request, q wire.TruncateRequest, _ func(int64)) (reply wire.Empty, err error) {
	return reply, edited(ctx, r, q.Path, func(h pfs.Edited) error { return h.Truncate(ctx, q.Size) })
}

func editSyncCall(ctx context.Context, r *request, q wire.PathRequest, _ func(int64)) (reply wire.Empty, err error) {
	return reply, edited(ctx, r, q.Path, func(h pfs.Edited) error { return h.Sync(ctx) })
}

// edited does one step on a file open for changes in place.
func edited(ctx context.Context, r *request, path string, step func(pfs.Edited) error) error {
	name, err := pfs.ParsePath(path)
	if err != nil {
		return err
	}
	h, err := pfs.Edit(ctx, r.tree, name)
	if err != nil {
		return err
	}
	defer h.Close()
	return step(h)
}
