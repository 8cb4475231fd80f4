package webhdfs

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/paddlecloud/pfs/internal/lru"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// batchSize is the number of entries in one answer of LISTSTATUS_BATCH, as of a NameNode.
const batchSize = 1000

// entriesInTurn is the number of entries that are written in one turn of the user: about a millisecond.
const entriesInTurn = 256

// listStatus carries out LISTSTATUS. It sends the entries of each turn, so its memory does not depend on their number.
// The entries of a directory that fits in the first page are sorted, as a NameNode does; further pages are small.
func listStatus(c *call) (answer, error) {
	ctx := c.r.Context()
	var one *pfs.Info
	var page pfs.Page
	err := c.session.Do(ctx, "liststatus", func(ctx context.Context) (err error) {
		if one, err = c.notDirectory(ctx); err == nil && one == nil {
			page, err = c.page(ctx, "", pfs.MaxPage)
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	if one != nil {
		return answer{body: named("FileStatuses", named("FileStatus", []fileStatus{newFileStatus(*one, "")}))}, nil
	}
	if page.Next == "" {
		sortByName(page.Entries)
	}
	c.w.Header().Set("Content-Type", "application/json")
	send := func(p []byte) error {
		pace := pace.OfAnswer(c.w, int64(len(p)))
		pace.Next()
		_, err := c.w.Write(p)
		return err
	}
	text := []byte(`{"FileStatuses":{"FileStatus":[` + "\n")
	for first := true; ; {
		for some := range slices.Chunk(page.Entries, entriesInTurn) {
			err := c.session.Do(ctx, "liststatus", func(ctx context.Context) error {
				return pfs.InTurn(ctx, func() error {
					for _, e := range some {
						if !first {
							text = append(text, ",\n"...)
						}
						first = false
						text = append(text, encode(newFileStatus(e, e.Name))...)
					}
					return nil
				})
			})
			if err != nil {
				return answer{sent: true}, err
			}
			if send(text) != nil { // the client has left
				return answer{sent: true}, nil
			}
			text = text[:0]
		}
		if page.Next == "" {
			_ = send(append(text, "\n]}}\n"...))
			return answer{sent: true}, nil
		}
		err := c.session.Do(ctx, "liststatus", func(ctx context.Context) (err error) {
			page, err = c.page(ctx, page.Next, batchSize)
			return err
		})
		if err != nil {
			return answer{sent: true}, err
		}
	}
}

// notDirectory returns what the path is if it is not a directory.
func (c *call) notDirectory(ctx context.Context) (*pfs.Info, error) {
	info, err := linkfs.Stat(ctx, c.fs(), c.path)
	switch {
	case isKind(err, pfs.NotExist):
		return nil, missing("File %s does not exist.", c.asked)
	case err != nil || info.IsDir():
		return nil, err
	}
	return &info, nil
}

// page returns a page of the directory. Links in it are described as what they lead to, because Hadoop's programs
// do not follow them.
func (c *call) page(ctx context.Context, token string, limit int) (pfs.Page, error) {
	page, err := c.fs().List(ctx, c.path, pfs.ListOptions{Token: token, Limit: limit, Attrs: true})
	for i, e := range page.Entries {
		if !e.IsLink() {
			continue
		}
		if to, err := linkfs.Stat(ctx, c.fs(), c.path.Join(e.Name)); err == nil {
			to.Name = e.Name
			page.Entries[i] = to
		}
	}
	return page, err
}

func sortByName(entries []pfs.Info) {
	slices.SortFunc(entries, func(a, b pfs.Info) int { return cmp.Compare(a.Name, b.Name) })
}

// listStatusBatch carries out LISTSTATUS_BATCH. The client names the last entry that it has. Where that entry is in the
// store's order is remembered; another replica, or one that has forgotten, looks for it from the start.
func listStatusBatch(ctx context.Context, c *call) (answer, error) {
	one, err := c.notDirectory(ctx)
	if err != nil {
		return answer{}, err
	}
	if one != nil {
		return partial([]fileStatus{newFileStatus(*one, "")}, false), nil
	}
	after := c.params.text("startafter")
	page, err := c.pageAfter(ctx, after)
	if err != nil {
		return answer{}, err
	}
	list := make([]fileStatus, len(page.Entries))
	for i, e := range page.Entries {
		list[i] = newFileStatus(e, e.Name)
	}
	if page.Next != "" && len(list) > 0 {
		c.cursors.put(c.cursor(list[len(list)-1].PathSuffix), page.Next)
	}
	return partial(list, page.Next != ""), nil
}

func partial(list []fileStatus, more bool) answer {
	remaining := 0
	if more {
		remaining = 1 // at least
	}
	return answer{body: named("DirectoryListing", map[string]any{
		"partialListing":   named("FileStatuses", named("FileStatus", list)),
		"remainingEntries": remaining,
	})}
}

// pageAfter returns the entries behind the one called after. The page is not empty if there are more.
func (c *call) pageAfter(ctx context.Context, after string) (pfs.Page, error) {
	token, known := "", false
	if after != "" {
		token, known = c.cursors.get(c.cursor(after))
	}
	page, err := c.page(ctx, token, batchSize)
	if known && isKind(err, pfs.Conflict) {
		token, known = "", false
		page, err = c.page(ctx, token, batchSize)
	}
	if err == nil && token == "" && page.Next == "" {
		sortByName(page.Entries)
		page.Entries = slices.DeleteFunc(page.Entries, func(e pfs.Info) bool { return e.Name <= after })
		return page, nil
	}
	for found := known || after == ""; err == nil; page, err = c.page(ctx, page.Next, batchSize) {
		if !found {
			i := slices.IndexFunc(page.Entries, func(e pfs.Info) bool { return e.Name == after })
			if found = i >= 0; found {
				page.Entries = page.Entries[i+1:]
			}
		}
		if found && len(page.Entries) > 0 || page.Next == "" {
			if !found {
				return pfs.Page{}, exception{changed, "entry " + after + " is no longer in " + c.asked + ": list it again", http.StatusForbidden}
			}
			return page, nil
		}
	}
	return pfs.Page{}, err
}

// cursors remember where listings continue.
type cursors struct {
	mu     sync.Mutex
	tokens *lru.Cache[cursor, *string]
}

// cursor is a place in a listing.
type cursor struct{ user, path, after string }

// maxCursors bounds the listings that are remembered.
const maxCursors = 4096

func newCursors() *cursors { return &cursors{tokens: lru.New[cursor](maxCursors, lru.One[*string])} }

func (c *call) cursor(after string) cursor { return cursor{c.user.Name, string(c.path), after} }

func (s *cursors) put(at cursor, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.tokens.Get(at); ok {
		*known = token
		return
	}
	s.tokens.Add(at, &token)
}

func (s *cursors) get(at cursor) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.tokens.Get(at)
	if !ok {
		return "", false
	}
	return *known, true
}
