package server

import (
	"context"
	"net/http"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// callFunc executes one call: it decodes b, acts on r.tree and returns the reply message.
type callFunc func(ctx context.Context, r *request, b []byte, progress func(int64)) (reply any, err error)

// call is one method of the protocol.
type call struct {
	do callFunc
	// changes is true if the call has a line in the audit log.
	changes bool
	// once is true if the call must not be executed twice with one request ID.
	once bool
	// long is true if the reply may be large, so that its encoding waits for a turn.
	long bool
	// limit bounds the request message; 0 means wire.MaxRequest.
	limit int64
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

// onPath makes a callFunc of a handler that acts on the path of its message.
func onPath[Q interface{ PathName() string }, A any](do func(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q Q) (A, error)) callFunc {
	return handle(func(ctx context.Context, r *request, q Q, _ func(int64)) (reply A, err error) {
		name, err := pfs.ParsePath(q.PathName())
		if err != nil {
			return reply, err
		}
		return do(ctx, r.tree, name, q)
	})
}

// silent makes a handler for onPath of one without a reply.
func silent[Q any](do func(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q Q) error) func(context.Context, pfs.FileSystem, pfs.Path, Q) (wire.Empty, error) {
	return func(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q Q) (wire.Empty, error) {
		return wire.Empty{}, do(ctx, tree, name, q)
	}
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
	long := func(do callFunc) call { return call{do: do, changes: true, once: true, limit: wire.MaxLongRequest} }
	return map[string]call{
		wire.CallStat:            {do: onPath(statCall)},
		wire.CallList:            {do: onPath(listCall), long: true},
		wire.CallMkdir:           change(onPath(silent(mkdirCall))),
		wire.CallRemove:          change(onPath(silent(removeCall))),
		wire.CallRemoveTree:      change(onPath(silent(removeTreeCall))),
		wire.CallRename:          change(onTwoPaths(rename)),
		wire.CallRenameExclusive: change(onTwoPaths(pfs.RenameExclusive)),
		wire.CallSymlink:         change(onPath(silent(symlinkCall))),
		wire.CallSetAttr:         change(onPath(silent(setAttrCall))),
		wire.CallXattr:           {do: onPath(xattrCall)},
		wire.CallSetXattr:        long(onPath(silent(setXattrCall))),
		wire.CallListXattr:       {do: onPath(listXattrCall)},
		wire.CallRemoveXattr:     change(onPath(silent(removeXattrCall))),
		wire.CallHardLink:        change(onTwoPaths(pfs.HardLink)),
		wire.CallMknod:           change(onPath(silent(mknodCall))),
		wire.CallConcat:          long(onPath(silent(concatCall))),
		wire.CallCapabilities:    {do: onPath(capabilitiesCall)},
		wire.CallLocate:          {do: onPath(locateCall)},
		wire.CallSpace:           {do: onPath(spaceCall)},
		wire.CallUsage:           {do: onPath(usageCall)},
		wire.CallSetQuota:        change(onPath(silent(setQuotaCall))),
		wire.CallAccess:          {do: onPath(silent(accessCall))},
		wire.CallSweep:           change(onPath(s.sweepCall)),
		wire.CallCopy:            change(handle(s.copyCall)),
		wire.CallDigest:          {do: handle(digestCall)},

		wire.CallCreate:  {do: handle(s.createCall), changes: true},
		wire.CallLeaves:  {do: handle(s.leavesCall)},
		wire.CallSync:    {do: handle(s.syncCall)},
		wire.CallCommit:  change(handle(s.commitCall)),
		wire.CallDiscard: {do: handle(s.discardCall), changes: true},

		wire.CallOpen:           change(handle(s.openCall)),
		wire.CallHandleStat:     {do: handle(s.handleStatCall)},
		wire.CallHandleTruncate: {do: s.onHandle(handleTruncateCall), once: true},
		wire.CallHandleAllocate: {do: s.onHandle(handleAllocateCall), once: true},
		wire.CallHandleSync:     {do: s.onHandle(handleSyncCall), once: true},
		wire.CallHandleSetAttr:  change(s.onHandle(handleSetAttrCall)),
		wire.CallHandleClose:    {do: handle(s.handleCloseCall), once: true},
		wire.CallRenew:          {do: handle(s.renewCall)},
	}
}

func rename(ctx context.Context, tree pfs.FileSystem, oldName, newName pfs.Path) error {
	return tree.Rename(ctx, oldName, newName)
}

// serveCall makes a handler of a call.
func (s *Server) serveCall(method string, c call) handler {
	serve := func(w http.ResponseWriter, r *request) error {
		b, err := body(w, r.Request, max(c.limit, wire.MaxRequest))
		if err != nil {
			return err
		}
		r.changes = c.changes || c.once
		end, err := s.begin(r, s.requests)
		if err != nil {
			return err
		}
		defer end()
		s.answer(w, r.Request, func(ctx context.Context, progress func(int64)) outcome {
			do := func() outcome {
				reply, err := c.do(ctx, r, b, progress)
				if c.changes && !r.quiet {
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
		return nil
	}
	if c.changes {
		return s.audited(method, serve)
	}
	return serve
}

// doOnce executes a change, but not twice under one request ID.
func (s *Server) doOnce(ctx context.Context, r *request, method string, do func() outcome) outcome {
	id := r.Header.Get(wire.HeaderRequest)
	if !pfs.ValidID(id) {
		return do()
	}
	return s.once.do(ctx, dedupKey{r.id.Name, method, id}, do)
}

func statCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) (wire.InfoReply, error) {
	info, err := tree.Stat(ctx, name)
	return wire.InfoReply{Info: wire.NewInfo(info)}, err
}

// maxListed bounds the entries of one reply, so that it is encoded in about a millisecond. A
// NameNode of HDFS returns as many at a time.
const maxListed = 1000

// listCall lists a page, in parts that fit into a message.
func listCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.ListRequest) (reply wire.ListReply, err error) {
	opts := pfs.ListOptions{Token: q.Token, Limit: q.Limit, Digests: q.Digests, Attrs: q.Attrs}
	opts.Limit = min(opts.Max(), maxListed)
	for {
		page, err := tree.List(ctx, name, opts)
		if err != nil {
			return reply, err
		}
		reply = wire.ListReply{Entries: make([]wire.Info, len(page.Entries)), Unnamed: page.Unnamed, Next: page.Next}
		for i, e := range page.Entries {
			reply.Entries[i] = wire.NewInfo(e)
			if !q.Attrs {
				reply.Entries[i] = reply.Entries[i].Brief()
			}
		}
		// Thousands of links with long targets can be more than one message.
		opts.Limit = min(opts.Max(), len(page.Entries)+len(page.Unnamed)) / 2
		if reply.EncodedBound() <= wire.MaxListed || opts.Limit == 0 {
			return reply, nil
		}
	}
}

func mkdirCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.ModeRequest) error {
	return tree.Mkdir(ctx, name, wire.FileMode(q.Mode).Perm())
}

func removeCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) error {
	return tree.Remove(ctx, name)
}

func removeTreeCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) error {
	return pfs.RemoveTree(ctx, tree, name)
}

func symlinkCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.SymlinkRequest) error {
	return pfs.MakeLink(ctx, tree, q.Target, name)
}

func spaceCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) (wire.SpaceReply, error) {
	space, err := pfs.SpaceOf(ctx, tree, name)
	return wire.NewSpaceReply(space), err
}

func usageCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) (wire.UsageReply, error) {
	u, err := pfs.UsageOf(ctx, tree, name)
	return wire.UsageReply(u), err
}

func setQuotaCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.QuotaRequest) error {
	return pfs.SetQuota(ctx, tree, name, q.MaxBytes, q.MaxFiles)
}

func accessCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.AccessRequest) error {
	a := pfs.Access(q.Access)
	if !a.Valid() {
		return pfs.Errorf("server.access", name, pfs.Invalid, "access %d", q.Access)
	}
	return pfs.CheckAccess(ctx, tree, a, name)
}

// sweepCall removes abandoned uploads, including those that are open in this process.
func (s *Server) sweepCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.SweepRequest) (reply wire.SweepReply, err error) {
	const century = 100 * 365 * 24 * 3600
	if q.Seconds < 0 || q.Seconds > century {
		return reply, pfs.Errorf("server.sweep", name, pfs.Invalid, "age of %d seconds", q.Seconds)
	}
	if err := pfs.CheckAccess(ctx, tree, pfs.Discard, name); err != nil {
		return reply, err
	}
	s.uploads.suspendBelow(name) // the store considers uploads that are open here as in use
	n, bytes, err := pfs.Sweep(ctx, tree, name, time.Duration(q.Seconds)*time.Second)
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
