package hdfsfs

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
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
	st, err := f.status(ctx, dir)
	switch {
	case err != nil:
		return pfs.Page{}, fail(op, dir, err)
	case st.IsLink():
		return pfs.Page{}, pfs.E(op, dir, pfs.Symlink, nil)
	case !st.IsDir():
		return pfs.Page{}, pfs.E(op, dir, pfs.NotDir, nil)
	}
	l := listing{fs: f, at: f.at(dir), after: after}
	if err := l.page(ctx, op, dir, opts.Max()); err != nil {
		return pfs.Page{}, fail(op, dir, err)
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
	source := l.fs.listWeb
	if !l.fs.hasWeb() {
		source = (&scan{fs: l.fs, limit: limit}).next
	}
	for l.more = true; l.more && len(l.result.Entries) < limit; {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return err
		}
		batch, more, err := source(ctx, l.at, l.after)
		if is(err, pfs.Unsupported) && !l.fs.hasWeb() { // WebHDFS was switched off meanwhile
			return l.page(ctx, op, dir, limit)
		}
		if err != nil {
			return err
		}
		l.more = more && len(batch) > 0
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
		case path.Join(l.at, st.Name) == l.fs.stage.top():
		case pfs.CheckName(st.Name) != "":
			l.result.Unnamed = append(l.result.Unnamed, strconv.Quote(st.Name))
		default:
			l.result.Entries = append(l.result.Entries, st.Info)
		}
	}
}

// listWeb returns the entries after a name. The NameNode decides how many.
func (f *FS) listWeb(ctx context.Context, at, after string) (batch []status, more bool, err error) {
	var reply struct {
		DirectoryListing struct {
			PartialListing struct {
				FileStatuses struct{ FileStatus []webStatus }
			}
			RemainingEntries int64
		}
	}
	call := webCall{method: http.MethodGet, op: "LISTSTATUS_BATCH", path: at, repeat: idempotent}
	if after != "" {
		call.query = url.Values{"startAfter": {after}}
	}
	if err := f.web(ctx, call, &reply); err != nil {
		return nil, false, err
	}
	d := reply.DirectoryListing
	for _, w := range d.PartialListing.FileStatuses.FileStatus {
		batch = append(batch, w.status())
	}
	return batch, d.RemainingEntries > 0, nil
}

// scan lists a directory without WebHDFS. The library cannot start after a name, so scan starts
// at the beginning and skips entries: late pages are slow, but memory stays bounded.
type scan struct {
	fs    *FS
	limit int
}

// next returns the entries after a name.
func (sc *scan) next(ctx context.Context, at, after string) (batch []status, more bool, err error) {
	s, err := sc.fs.pool.get(ctx)
	if err != nil {
		return nil, false, err
	}
	defer sc.fs.pool.put(s)
	var lib *hdfs.FileReader
	for {
		err = s.do(ctx, sc.fs.opts.Timeout, func() (err error) {
			if lib == nil {
				lib, err = s.client.Open(at)
			}
			if err == nil {
				batch, err = readDir(lib, after, sc.limit+1)
			}
			return err
		})
		if err == io.EOF {
			return nil, false, nil
		}
		if err != nil || len(batch) > 0 {
			return batch, true, err
		}
	}
}

// readDir reads n entries and returns those after a name.
func readDir(lib *hdfs.FileReader, after string, n int) (batch []status, err error) {
	infos, err := lib.Readdir(n)
	for _, info := range infos {
		if after == "" || comesAfter(info.Name(), after) {
			batch = append(batch, newStatus(info))
		}
	}
	return batch, err
}

// comesAfter reports whether HDFS lists a after b. HDFS compares names as signed bytes.
func comesAfter(a, b string) bool {
	return slices.CompareFunc([]byte(a), []byte(b), func(x, y byte) int { return cmp.Compare(int8(x), int8(y)) }) > 0
}
