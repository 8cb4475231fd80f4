package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// rows is the number of entries on a page.
const rows = 500

// listing is the data of the template "list": a page of a folder. A folder of at most pfs.MaxPage entries is read
// whole and sorted. A larger one is shown in the order of the store, which needs memory for one page only.
type listing struct {
	frame
	Path     pfs.Path
	Trail    []crumb
	Heading  string
	Writable bool
	Entries  []row
	Unnamed  []string
	Notice   string
	by       string // what it is sorted by: "name", "size" or "time", with "-" before it from the end; "" for the order of the store

	Prev, Next, PrevText, Range string
}

// row is one entry of a listing.
type row struct {
	Name, Target string
	Path         pfs.Path
	Icon, Kind   string
	Size, Bytes  string
	Time         time.Time
}

// files shows a folder or a file.
func (x *Web) files(v *visit, name pfs.Path) error {
	var info pfs.Info
	err := v.session.Do(v.Context(), "stat", func(ctx context.Context) (err error) {
		info, err = linkfs.Stat(ctx, v.session.FS(), name)
		return err
	})
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return x.list(v, name)
	case info.IsRegular():
		return x.file(v, name, info)
	}
	return pfs.Errorf("web.files", name, pfs.Invalid, "neither a file nor a folder")
}

// list shows a page of the folder dir.
func (x *Web) list(v *visit, dir pfs.Path) error {
	q := v.URL.Query()
	l := listing{frame: v.frame(x, headingOf(dir)), Path: dir, Trail: trail(dir), Heading: headingOf(dir), by: q.Get("by")}
	if !slices.Contains([]string{"name", "-name", "size", "-size", "time", "-time"}, l.by) {
		l.by = "name"
	}
	token := q.Get("token")
	var page pfs.Page
	err := v.session.Do(v.Context(), "list", func(ctx context.Context) (err error) {
		fsys := v.session.FS()
		l.Writable = pfs.CheckAccess(ctx, fsys, pfs.Write, dir) == nil
		if token == "" {
			if page, err = fsys.List(ctx, dir, pfs.ListOptions{}); err != nil || page.Next == "" {
				return err
			}
		}
		page, err = fsys.List(ctx, dir, pfs.ListOptions{Token: token, Limit: rows})
		return err
	})
	if token != "" && errors.Is(err, pfs.Conflict) {
		return pfs.Errorf("web.list", dir, pfs.Conflict, "the folder has changed, and its next page cannot be found: begin again at its first page")
	}
	if err != nil {
		return err
	}
	l.Unnamed = page.Unnamed
	var made []byte
	status := http.StatusOK
	err = v.session.Do(v.Context(), "page", func(ctx context.Context) error {
		return pfs.InTurn(ctx, func() error {
			if token != "" || page.Next != "" {
				l.unsorted(v, page, token)
			} else {
				l.sorted(v, page.Entries)
			}
			made, status = x.make(status, "list", &l)
			return nil
		})
	})
	if err == nil {
		write(v.w, status, "text/html; charset=utf-8", made)
	}
	return err
}

// headingOf returns the name of a folder on its page.
func headingOf(dir pfs.Path) string {
	if dir == pfs.Root {
		return "/"
	}
	return dir.Base()
}

// unsorted shows a page of a large folder.
func (l *listing) unsorted(v *visit, page pfs.Page, token string) {
	l.by = ""
	l.Notice = fmt.Sprintf("This folder has more than %s entries. They are shown in the order of the store.", grouped(pfs.MaxPage))
	l.show(page.Entries)
	before, _ := strconv.ParseInt(v.URL.Query().Get("before"), 10, 64)
	before = max(0, before)
	after := before + int64(len(page.Entries))
	l.Range = fmt.Sprintf("%s to %s", grouped(before+1), grouped(after))
	if page.Next != "" {
		l.Next = l.link(url.Values{"token": {page.Next}, "before": {strconv.FormatInt(after, 10)}})
	}
	if token != "" {
		l.Prev, l.PrevText = l.link(nil), "First page"
	}
}

// sorted shows a page of a folder of which all entries are known.
func (l *listing) sorted(v *visit, entries []pfs.Info) {
	key := strings.TrimPrefix(l.by, "-")
	slices.SortFunc(entries, func(a, b pfs.Info) int {
		order := 0
		switch key {
		case "size":
			order = cmp.Compare(a.Size, b.Size)
		case "time":
			order = a.ModTime.Compare(b.ModTime)
		default:
			if a.IsDir() != b.IsDir() { // folders first, whatever the direction
				if a.IsDir() {
					return -1
				}
				return 1
			}
		}
		order = cmp.Or(order, cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Name, b.Name))
		if key != l.by {
			return -order
		}
		return order
	})
	from, _ := strconv.Atoi(v.URL.Query().Get("from"))
	from = max(0, min(from, len(entries)-1)) / rows * rows
	to := min(from+rows, len(entries))
	l.show(entries[from:to])
	at := func(from int) string { return l.link(url.Values{"by": {l.by}, "from": {strconv.Itoa(from)}}) }
	if len(entries) > rows {
		l.Range = fmt.Sprintf("%d to %d of %d", from+1, to, len(entries))
	}
	if from > 0 {
		l.Prev, l.PrevText = at(from-rows), "Previous page"
	}
	if to < len(entries) {
		l.Next = at(to)
	}
}

// show sets the entries of the page.
func (l *listing) show(entries []pfs.Info) {
	l.Entries = make([]row, 0, len(entries))
	for _, e := range entries {
		r := row{Name: e.Name, Path: l.Path.Join(e.Name), Time: e.ModTime, Target: e.Target}
		switch {
		case e.IsDir():
			r.Icon, r.Kind = "folder", "Folder"
		case e.IsLink():
			r.Icon, r.Kind = "link", "Link"
		default:
			r.Icon, r.Kind, r.Size, r.Bytes = "plain", "File", size(e.Size), grouped(e.Size)+" bytes"
		}
		l.Entries = append(l.Entries, r)
	}
}

// link returns the address of another page of the folder.
func (l *listing) link(q url.Values) string {
	if len(q) == 0 {
		return address("files", l.Path)
	}
	return address("files", l.Path) + "?" + q.Encode()
}

// column is the head of a column: a link that sorts by it.
type column struct{ Text, URL string }

// By returns the head of the column for key.
func (l *listing) By(key, text string) column {
	switch l.by {
	case "":
		return column{Text: text}
	case key:
		key = "-" + key
	}
	return column{text, l.link(url.Values{"by": {key}})}
}

// Sorted returns the attribute of the column that the page is sorted by.
func (l *listing) Sorted(key string) template.HTMLAttr {
	switch l.by {
	case key:
		return ` aria-sort="ascending"`
	case "-" + key:
		return ` aria-sort="descending"`
	}
	return ""
}
