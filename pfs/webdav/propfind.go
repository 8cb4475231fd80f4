package webdav

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// pageEntries is the number of entries of a directory that are listed, and written, at a time.
const pageEntries = 512

// turnEntries is the number of entries that are written in one turn, and sent.
const turnEntries = 64

// maxProps bounds the properties that a request names, and maxPropBytes their names. The answer has those that are missing again for
// each entry, with the whole namespace, which the request needs only once.
const maxProps, maxPropBytes = 64, 4 << 10

// propfindRequest is the body of a PROPFIND.
type propfindRequest struct {
	XMLName  xml.Name  `xml:"DAV: propfind"`
	Allprop  *struct{} `xml:"DAV: allprop"`
	Propname *struct{} `xml:"DAV: propname"`
	Prop     names     `xml:"DAV: prop"`
	Include  names     `xml:"DAV: include"`
}

// names are the names of the elements in an element, each once.
type names []xml.Name

// UnmarshalXML reads the names.
func (n *names) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := n.add(t.Name); err != nil {
				return err
			}
			if err := d.Skip(); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

func (n *names) add(name xml.Name) error {
	if slices.Contains(*n, name) {
		return nil
	}
	*n = append(*n, name)
	size := 0
	for _, name := range *n {
		size += len(name.Space) + len(name.Local)
	}
	if len(*n) > maxProps || size > maxPropBytes {
		return pfs.Errorf("webdav.propfind", "", pfs.Invalid,
			"the request names more than %d properties, or their names have more than %d bytes", maxProps, maxPropBytes)
	}
	return nil
}

// readPropfind reads the body. No body asks for all properties.
func (q *request) readPropfind(w http.ResponseWriter) (p propfindRequest, err error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, gateway.NewBody(w, q.Request), maxXML))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return p, &statusError{http.StatusRequestEntityTooLarge, pfs.Errorf("webdav.propfind", q.name, pfs.Invalid, "a body of more than %d bytes", maxXML)}
	}
	if err != nil {
		return p, pfs.Errorf("webdav.propfind", q.name, pfs.Unavailable, "the request broke off: %w", err)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		p.Allprop = new(struct{})
		return p, nil
	}
	if err = xml.Unmarshal(b, &p); err == nil && p.Allprop == nil && p.Propname == nil && len(p.Prop) == 0 {
		err = errors.New("it asks for no properties")
	}
	if err != nil {
		return p, pfs.Errorf("webdav.propfind", q.name, pfs.Invalid, "the body is not a propfind: %w", err)
	}
	return p, nil
}

// propfind serves a PROPFIND: of one file or directory, or of a directory and its entries.
func (q *request) propfind(w http.ResponseWriter) error {
	depth := q.Header.Get("Depth")
	if depth != "0" && depth != "1" {
		w.Header().Set("Content-Type", xmlType)
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, xml.Header+`<D:error xmlns:D="DAV:"><D:propfind-finite-depth/></D:error>`)
		return nil
	}
	asked, err := q.readPropfind(w)
	if err != nil {
		return err
	}
	info, err := q.stat(q.name)
	if err != nil {
		return err
	}
	p := &properties{asked: asked}
	if info.IsDir() && asked.wants(quotaAvailable, quotaUsed) {
		if p.quota, err = q.quota(); err != nil {
			return err
		}
	}
	var page pfs.Page
	if depth == "1" && info.IsDir() {
		if page, err = q.described(""); err != nil { // before the answer begins, so that it can be an error
			return err
		}
	}
	w.Header().Set("Content-Type", xmlType)
	w.WriteHeader(http.StatusMultiStatus)
	p.out.WriteString(xml.Header + `<D:multistatus xmlns:D="DAV:">`)
	p.response(q.h.url(q.name), info)
	for err == nil {
		err = q.render(w, p, page.Entries)
		if page.Next == "" || err != nil {
			break
		}
		page, err = q.described(page.Next)
	}
	p.out.WriteString("</D:multistatus>\n")
	if err == nil {
		err = p.flush(w)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a listing must not look whole
	}
	return nil
}

const xmlType = "application/xml; charset=utf-8"

// page lists a page of a directory.
func (q *request) page(dir pfs.Path, token string) (page pfs.Page, err error) {
	err = q.do("list", func(ctx context.Context, fsys pfs.FileSystem) error {
		page, err = fsys.List(ctx, dir, pfs.ListOptions{Token: token, Limit: pageEntries})
		return err
	})
	return page, err
}

// described lists a page of the request's directory. A link is described as its target; a dangling link is left out.
func (q *request) described(token string) (pfs.Page, error) {
	page, err := q.page(q.name, token)
	entries := page.Entries[:0]
	for _, e := range page.Entries {
		if e.IsLink() {
			to, err := q.stat(q.name.Join(e.Name))
			switch {
			case err == nil:
				e = to
			case linkfs.Nowhere(err):
				continue
			default:
				return pfs.Page{}, err
			}
		}
		entries = append(entries, e)
	}
	page.Entries = entries
	return page, err
}

// render sends the entries of a page.
func (q *request) render(w http.ResponseWriter, p *properties, entries []pfs.Info) error {
	for some := range slices.Chunk(entries, turnEntries) {
		err := q.do("render", func(ctx context.Context, _ pfs.FileSystem) error {
			return pfs.InTurn(ctx, func() error {
				for _, e := range some {
					p.response(q.h.url(q.name.Join(e.Name)), e)
				}
				return nil
			})
		})
		if err == nil {
			err = p.flush(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flush sends the written bytes.
func (p *properties) flush(w http.ResponseWriter) error {
	pace.OfAnswer(w, int64(p.out.Len())).Next()
	_, err := p.out.WriteTo(w)
	return err
}
