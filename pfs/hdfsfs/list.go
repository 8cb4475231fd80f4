package hdfsfs

import (
	"context"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// tokenMark begins a page token; the name after which the next page begins follows.
const tokenMark = "after:"

// List returns one page of the entries of dir, in HDFS's own order.
func (f *FS) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "hdfsfs.List"
	if err := f.check(ctx, op, dir); err != nil {
		return pfs.Page{}, err
	}
	after, ok := strings.CutPrefix(opts.Token, tokenMark)
	if !ok && opts.Token != "" {
		return pfs.Page{}, pfs.Errorf(op, dir, pfs.Conflict, "the page token is not one of this store: list the directory from the start")
	}
	l := listing{fs: f, at: f.at(dir), after: after}
	if err := l.page(ctx, op, dir, opts.Max()); err != nil {
		return pfs.Page{}, f.placeError(ctx, op, dir, err)
	}
	if opts.Digests {
		if err := f.addDigests(ctx, op, dir, l.result.Entries); err != nil {
			return pfs.Page{}, err
		}
	}
	return l.result, nil
}

// digestWorkers is the number of files whose stored digests are read at a time.
const digestWorkers = 8

// addDigests adds the stored digests to the entries of dir. HDFS does not list extended attributes, so
// each file needs a call.
func (f *FS) addDigests(ctx context.Context, op string, dir pfs.Path, entries []pfs.Info) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, digestWorkers)
	for i := range entries {
		e := &entries[i]
		if !e.IsRegular() || ctx.Err() != nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			name := dir.Join(e.Name)
			err := pfs.Guard(op, name, func() error {
				m, ok, err := f.readMark(ctx, f.at(name), status{Info: *e})
				if ok {
					e.Digest = m.Digest
				}
				return err
			})
			if err != nil && !is(err, pfs.NotExist) {
				cancel(fail(op, name, err))
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return fail(op, dir, err)
	}
	return nil
}

// listing builds one page.
type listing struct {
	fs    *FS
	at    string
	after string // the last name taken
	more  bool   // whether entries follow it

	result pfs.Page
}

// page fills the page, with as many calls as needed.
func (l *listing) page(ctx context.Context, op string, dir pfs.Path, limit int) error {
	for l.more = true; l.more && len(l.result.Entries) < limit; {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return err
		}
		batch, more, err := l.fs.listAt(ctx, l.at, l.after)
		if err != nil {
			return err
		}
		l.more = more
		l.take(batch, limit)
	}
	if l.more {
		l.result.Next = tokenMark + l.after
	}
	return nil
}

// take adds entries until the page has limit entries.
func (l *listing) take(batch []status, limit int) {
	for _, st := range batch {
		if len(l.result.Entries) == limit {
			l.more = true
			return
		}
		l.after = st.Name
		switch {
		case path.Join(l.at, st.Name) == l.fs.stage.top(), st.Name == stageDir && st.zoned:
		case pfs.CheckName(st.Name) != "":
			l.result.Unnamed = append(l.result.Unnamed, strconv.Quote(st.Name))
		default:
			l.result.Entries = append(l.result.Entries, st.Info)
		}
	}
}

// listAt returns the entries after a name of a directory in HDFS. The NameNode decides how many.
func (f *FS) listAt(ctx context.Context, at, after string) (batch []status, more bool, err error) {
	var answer hdfsproto.GetListingResponse
	request := &hdfsproto.GetListingRequest{Path: &at, After: []byte(after), Locations: proto.Bool(false)}
	if err := f.ask(ctx, "getListing", request, &answer, rpc.Idempotent); err != nil {
		return nil, false, err
	}
	if answer.Listing == nil {
		return nil, false, pfs.NotExist
	}
	for _, e := range answer.Listing.Entries {
		st := newStatus(string(e.GetName()), e)
		switch { // what is no directory is its only entry
		case st.Name == "" && st.IsLink():
			return nil, false, pfs.Symlink
		case st.Name == "":
			return nil, false, pfs.NotDir
		}
		batch = append(batch, st)
	}
	return batch, answer.Listing.GetRemaining() > 0 && len(batch) > 0, nil
}

// entries lists a directory below stageDir.
func (f *FS) entries(ctx context.Context, at string) (all []status, err error) {
	for more, after := true, ""; more; {
		var batch []status
		if batch, more, err = f.listAt(ctx, at, after); err != nil {
			return nil, err
		}
		all = append(all, batch...)
		if more {
			after = batch[len(batch)-1].Name
		}
	}
	return all, nil
}
